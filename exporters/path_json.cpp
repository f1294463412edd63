#include "exporters/path_json.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "exporters/json.h"

namespace exporters {

namespace {

using Json = nlohmann::ordered_json;
using metrics::Entropy;
using metrics::PathPair;
using metrics::PathProblem;
using metrics::PathRow;

template <class T>
Json optional_json(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json host_json(const metrics::Address& address, const metrics::HostNames* names) {
    const std::string name = names == nullptr ? std::string{} : names->name(address);
    return {{"address", metrics::to_text(address)}, {"name", name.empty() ? Json(nullptr) : Json(name)}};
}

/// The parts of the entropy; those that its transport does not have are not there.
Json parts_json(Entropy entropy) {
    switch (entropy.kind()) {
        case Entropy::Kind::udp: {
            Json parts{{"udp_port", entropy.udp_port()}};
            if (entropy.flow_label() != 0) parts["flow_label"] = entropy.flow_label();
            if (entropy.outer_port() != 0) parts["outer_udp_port"] = entropy.outer_port();
            return parts;
        }
        case Entropy::Kind::tcp:
            return {{"source_port", entropy.tcp_source_port()}, {"destination_port", entropy.tcp_destination_port()}};
        case Entropy::Kind::infiniband:
            return {{"source_lid", entropy.source_lid()},
                    {"destination_lid", entropy.destination_lid()},
                    {"service_level", entropy.service_level()}};
        case Entropy::Kind::unknown: break;
    }
    return Json::object();
}

/// Nanoseconds since 1970; null if it is 0.
Json known_time_json(std::int64_t time_ns) { return time_ns == 0 ? Json(nullptr) : Json(time_ns); }

Json row_json(const PathRow& row) {
    const std::string_view problem = name_of(row.problem);
    return {{"entropy", metrics::to_text(row.figures.entropy)},
            {"parts", parts_json(row.figures.entropy)},
            {"flows", row.flows},
            {"packets", row.figures.packets},
            {"bytes", row.figures.wire_bytes},
            {"loss_episodes", row.figures.loss_episodes},
            {"ce", row.figures.ecn_ce_packets},
            {"late", row.figures.late_packets},
            {"repeated", row.figures.repeated_packets},
            {"rtt_min_ns", optional_json(row.round_trip_min_ns)},
            {"rtt_median_ns", optional_json(row.round_trip_ns.quantile(0.5))},
            {"p_loss", optional_json(row.p_loss)},
            {"rerouted_ns", known_time_json(row.windows.rerouted_ns)},
            {"last_loss_ns", known_time_json(std::max(row.windows.losses.last_ns, row.windows.losses_before.last_ns))},
            {"verdict", problem.empty() ? Json(nullptr) : Json(problem)}};
}

Json expectations_json(const PathPair& pair, std::span<const std::uint64_t> paths) {
    const std::vector<std::uint64_t> bytes = pair.bytes();
    Json all = Json::object();
    for (const std::uint64_t count : paths) {
        const metrics::Expectation expected = metrics::expectation_of(bytes, count);
        all[std::to_string(count)] = {{"fairness", expected.fairness},
                                      {"max_over_mean", expected.max_over_mean},
                                      {"used", expected.used},
                                      {"collision", expected.collision}};
    }
    return all;
}

bool has_problem(const PathPair& pair) {
    return std::ranges::any_of(pair.rows, [](const PathRow& row) { return row.problem != PathProblem::none; });
}

/// All rows by entropy, or those that matter most.
std::vector<const PathRow*> shown_rows(const PathPair& pair, std::size_t most) {
    std::vector<const PathRow*> rows;
    rows.reserve(pair.rows.size());
    for (const PathRow& row : pair.rows) rows.push_back(&row);
    if (rows.size() <= most) return rows;
    std::ranges::stable_sort(rows, std::ranges::greater(), [](const PathRow* row) {
        return std::pair(row->problem != PathProblem::none, row->figures.wire_bytes);
    });
    rows.resize(most);
    return rows;
}

}  // namespace

std::string_view name_of(PathProblem problem) {
    constexpr std::array<std::string_view, 5> names{"", "path_sick", "path_slow", "path_marked", "path_recovered"};
    return names[static_cast<std::size_t>(problem)];
}

Json path_pair_json(const PathPair& pair, std::span<const std::uint64_t> paths, const metrics::HostNames* names,
                    std::size_t most_rows) {
    const metrics::Evenness evenness = metrics::evenness_of(pair.bytes());
    Json rows = Json::array();
    for (const PathRow* row : shown_rows(pair, most_rows)) rows.push_back(row_json(*row));
    return {{"source", host_json(pair.source, names)},
            {"destination", host_json(pair.destination, names)},
            {"transport", metrics::name_of(pair.transport)},
            {"traffic_class", pair.dscp},
            {"packets", pair.packets()},
            {"bytes", pair.wire_bytes()},
            {"entropies", pair.entropies},
            {"effective", evenness.effective},
            {"fairness", evenness.fairness},
            {"max_over_mean", evenness.max_over_mean},
            {"median_max_over_mean", optional_json(pair.median_max_over_mean)},
            {"expected", expectations_json(pair, paths)},
            {"entropy_changes", pair.entropy_changes},
            {"late_packets", pair.late_packets},
            {"hop_limits", pair.hop_limits},
            {"receiver_class", name_of(pair.receiver)},
            {"packets_needed", pair.packets_needed == 0 ? Json(nullptr) : Json(pair.packets_needed)},
            {"rows_left_out", pair.rows.size() - rows.size()},
            {"rows", std::move(rows)}};
}

namespace {

Json pairs_json(std::span<const PathPair> pairs, std::span<const std::uint64_t> paths,
                const metrics::HostNames* names) {
    Json list = Json::array();
    for (const PathPair& pair : pairs) list.push_back(path_pair_json(pair, paths, names));
    return list;
}

}  // namespace

std::string path_interval_json(std::int64_t start_ns, std::uint64_t length_ns, std::span<const PathPair> pairs,
                               std::span<const std::uint64_t> paths, const metrics::HostNames* names) {
    const Json all{{"interval", {{"start_ns", start_ns}, {"length_ns", length_ns}}},
                   {"pairs", pairs_json(pairs, paths, names)}};
    return all.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string path_pairs_json(const metrics::Snapshot& snapshot, std::span<const PathPair> pairs,
                            std::span<const std::uint64_t> paths, const metrics::HostNames* names, bool crc_verified) {
    Context context;
    context.crc_verified = crc_verified;
    std::string capture;
    append_json(capture, snapshot.capture, context);
    const Json all{{"capture", Json::parse(capture)}, {"pairs", pairs_json(pairs, paths, names)}};
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

PathList path_list_json(const metrics::Snapshot& snapshot, std::span<const std::uint64_t> paths,
                        const metrics::HostNames* names, PathListBounds bounds, bool single) {
    std::vector<PathPair> pairs = metrics::path_pairs(snapshot);
    if (!single) std::erase_if(pairs, [](const PathPair& pair) { return pair.entropies < 2 && !has_problem(pair); });
    std::stable_partition(pairs.begin(), pairs.end(), has_problem);
    PathList list;
    list.all = pairs.size();
    list.count = std::min(list.all, bounds.pairs);
    list.text = "[";
    for (std::size_t i = 0; i < list.count; ++i) {
        const Json pair = path_pair_json(pairs[i], paths, names, bounds.rows);
        list.text += (i == 0 ? "\n" : ",\n") + pair.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    list.text += ']';
    return list;
}

}  // namespace exporters
