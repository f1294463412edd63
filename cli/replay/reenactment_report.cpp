#include "cli/replay/reenactment_report.h"

#include <fmt/core.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "cli/endpoint/connect.h"

namespace cli::replay {

namespace {

using ::replay::EndpointResult;
using ::replay::Kind;
using ::replay::kind_count;
using ::replay::SideResult;
using ::replay::Survey;
using Json = nlohmann::ordered_json;

/// A flow of the capture, with the sums of its copies.
struct FlowResult {
    const metrics::FlowSnapshot* flow = nullptr;
    std::uint64_t copies = 0;
    SideResult done = {};
};

void add(SideResult& sum, const SideResult& more) {
    for (std::size_t i = 0; i < kind_count; ++i) {
        sum.kinds[i].count += more.kinds[i].count;
        sum.kinds[i].bytes += more.kinds[i].bytes;
    }
    sum.with_payload += more.with_payload;
    sum.could_have += more.could_have;
    sum.late_ns.merge(more.late_ns);
}

/// The flows that this machine's ends posted, by id.
std::map<std::uint64_t, FlowResult> by_flow(const Survey& survey, const ::replay::Reenactment& run) {
    std::map<std::uint64_t, FlowResult> out;
    for (const EndpointResult& endpoint : run.endpoints)
        for (const EndpointResult::Side& side : endpoint.sides) {
            const auto* flow = survey.connections[side.connection].flows[side.side];
            if (flow == nullptr || flow->messages_total() == 0) continue;
            FlowResult& result = out[flow->id];
            result.flow = flow;
            ++result.copies;
            add(result.done, side.done);
        }
    return out;
}

std::string kinds_of(const SideResult& done) {
    std::string out;
    for (std::size_t i = 0; i < kind_count; ++i)
        if (done.kinds[i].count != 0)
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ", done.kinds[i].count,
                               ::replay::name_of(static_cast<Kind>(i)));
    return out;
}

std::uint64_t bytes_of(const SideResult& done) {
    std::uint64_t sum = 0;
    for (const SideResult::Sum& kind : done.kinds) sum += kind.bytes;
    return sum;
}

std::string late(const metrics::Histogram& late_ns, double share, base::Spacing spacing) {
    return base::format_duration(late_ns.quantile(share), {spacing});
}

/// Messages with the captured bytes, of the messages that could have them; null if this was not requested.
Json payload_json(const SideResult& done, bool asked) {
    return asked ? Json{{"captured", done.with_payload}, {"of", done.could_have}} : Json(nullptr);
}

}  // namespace

std::string text_of(const Survey& survey, const ::replay::Reenactment& run, bool payload) {
    const auto flows = by_flow(survey, run);
    std::string out = fmt::format("{:>6} {:>6} {:>9} {:>12} {:>9} {:>9}  {}\n", "flow", "copies", "posted", "bytes",
                                  "late p50", "late p95", "operations");
    metrics::Histogram all;
    std::uint64_t posted = 0;
    std::uint64_t bytes = 0;
    std::uint64_t with_payload = 0;
    std::uint64_t could_have = 0;
    for (const auto& [id, result] : flows) {
        out += fmt::format("{:>6} {:>6} {:>9} {:>12} {:>9} {:>9}  {}\n", id, result.copies, result.done.posted(),
                           bytes_of(result.done), late(result.done.late_ns, 0.5, base::Spacing::column),
                           late(result.done.late_ns, 0.95, base::Spacing::column), kinds_of(result.done));
        all.merge(result.done.late_ns);
        posted += result.done.posted();
        bytes += bytes_of(result.done);
        with_payload += result.done.with_payload;
        could_have += result.done.could_have;
    }
    out += fmt::format("\n{} operations, {} bytes in {} on {} flows", posted, bytes,
                       base::format_duration(run.duration_ns()), flows.size());
    if (!all.empty())
        out += fmt::format("; posted late by {} (p50), {} (p95)", late(all, 0.5, base::Spacing::sentence),
                           late(all, 0.95, base::Spacing::sentence));
    out += ".\n";
    if (payload)
        out += fmt::format("{} of {} Sends and Writes with bytes had those of the capture, the others a pattern.\n",
                           with_payload, could_have);
    for (const std::string& note : survey.notes) out += fmt::format("note: {}\n", note);
    return out;
}

Json json_of(const Survey& survey, const ::replay::Reenactment& run, bool payload) {
    Json flows = Json::array();
    for (const auto& [id, result] : by_flow(survey, run)) {
        Json operations = Json::object();
        for (std::size_t i = 0; i < kind_count; ++i)
            if (result.done.kinds[i].count != 0)
                operations[std::string(::replay::name_of(static_cast<Kind>(i)))] = {
                    {"count", result.done.kinds[i].count}, {"bytes", result.done.kinds[i].bytes}};
        flows.push_back({{"id", id},
                         {"copies", result.copies},
                         {"operations", operations},
                         {"payload", payload_json(result.done, payload)},
                         {"late_ns", endpoint::json_of(result.done.late_ns)}});
    }
    Json out = {{"capture", survey.path},
                {"seconds", static_cast<double>(run.duration_ns()) / 1e9},
                {"flows", flows},
                {"notes", survey.notes}};
    const std::string error = run.error();
    out["error"] = error.empty() ? Json(nullptr) : Json(error);
    return out;
}

}  // namespace cli::replay
