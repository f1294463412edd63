#include "replay/plan/survey.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "base/hash.h"
#include "capture/files/file_source.h"
#include "metrics/measure/engine/analyzer.h"

namespace replay::inline plan {

namespace {

using metrics::FlowSnapshot;
using metrics::Operation;

constexpr std::size_t frames_per_batch = 1024;

std::uint64_t count_of(const FlowSnapshot& flow, Operation operation) {
    return flow.operations[metrics::index_of(operation)].count;
}

base::Result<metrics::Snapshot> read(const std::string& path, std::string& broken, const SurveyWatch& watch) {
    auto source = capture::open_file(path);
    if (!source) return base::Failure{source.error()};
    metrics::AnalyzerOptions options;
    options.engine.reuse = false;
    metrics::Analyzer analyzer(options);
    std::vector<wire::Frame> frames(frames_per_batch);
    std::uint64_t count = 0;
    for (;;) {
        const capture::Batch batch = (*source)->next_batch(frames);
        if (batch.status == capture::ReadStatus::end) break;
        if (batch.status == capture::ReadStatus::error) {
            broken = (*source)->error().text();
            break;
        }
        analyzer.expect_interfaces((*source)->interfaces().size());
        analyzer.feed({frames.data(), batch.count}, (*source)->frames_last());
        count += batch.count;
        if (watch) watch((*source)->progress(), count);
    }
    analyzer.finish();
    return analyzer.snapshot();
}

bool is_wanted(const FlowSnapshot& flow, const std::vector<std::uint64_t>& wanted) {
    const auto named = [&](std::uint64_t id) { return std::ranges::find(wanted, id) != wanted.end(); };
    return wanted.empty() || named(flow.id) || (flow.reverse && named(*flow.reverse));
}

/// After an acknowledgement passes the tap, the flow's sender takes this time to react, and certainly half of it.
std::uint64_t reaction_of(const FlowSnapshot* flow) {
    return flow == nullptr ? 0 : flow->reaction_min_ns.value_or(0) / 2;
}

PlannedConnection connect(const FlowSnapshot* first, const FlowSnapshot* second) {
    PlannedConnection out;
    out.flows[0] = first;
    out.flows[1] = second;
    for (std::size_t side = 0; side < 2; ++side) {
        const FlowSnapshot* flow = out.flows[side];
        if (flow == nullptr) continue;
        out.reaction_ns[side] = reaction_of(flow);
        out.depth[side] = static_cast<std::uint32_t>(std::min<std::uint64_t>(flow->messages_max, 1U << 20));
        out.invalidates[side] = count_of(*flow, Operation::send_invalidate) != 0;
        if (flow->connection->mpa_crc) out.crc = *flow->connection->mpa_crc;
    }
    return out;
}

/// What is lacking of one flow's messages, or becomes something else over iWARP.
void note_flow(const FlowSnapshot& flow, std::vector<std::string>& notes) {
    const auto note = [&](std::string text) { notes.push_back(fmt::format("flow {}: {}", flow.id, text)); };
    if (flow.messages_total() == 0) return;
    if (flow.service == metrics::Service::ud)
        note("datagrams become Sends on a connection, which may not be lost or overtaken");
    else if (!flow.reverse)
        note("its reverse was not captured: what its operations waited for is not known");
    if (const std::uint64_t count = count_of(flow, Operation::send_immediate);
        count != 0 && flow.transport != wire::Transport::iwarp)
        note(fmt::format("{} Sends with Immediate become Sends, each followed by Immediate Data (RFC 7306)", count));
    if (flow.missing_packets.value_or(0) != 0)
        note(fmt::format("{} packets were not captured: messages that end in one are missing", *flow.missing_packets));
    if (flow.tcp && flow.unseen_acknowledged_packets != 0)
        note(fmt::format("{} packets were acknowledged that the capture does not hold",
                         flow.unseen_acknowledged_packets));
}

void note_capture(const metrics::CaptureFigures& figures, std::vector<std::string>& notes) {
    if (figures.truncated != 0)
        notes.push_back(fmt::format("{} packets were cut by the snap length so that their headers are not whole",
                                    figures.truncated));
    if (figures.malformed != 0) notes.push_back(fmt::format("{} packets are malformed", figures.malformed));
    if (figures.stream_octets_lost != 0)
        notes.push_back(fmt::format("{} bytes of TCP streams were not captured", figures.stream_octets_lost));
    if (figures.flows_evicted != 0)
        notes.push_back(fmt::format("{} flows were forgotten: there are too many", figures.flows_evicted));
}

/// Which flows talk to each other, in the order of their ids.
void pair(Survey& out, const std::vector<std::uint64_t>& wanted) {
    std::set<std::uint64_t> placed;
    for (const FlowSnapshot& flow : out.snapshot.flows) {
        if (placed.contains(flow.id) || !is_wanted(flow, wanted)) continue;
        const FlowSnapshot* reverse = flow.reverse ? out.snapshot.flow(*flow.reverse) : nullptr;
        if (reverse != nullptr && placed.contains(reverse->id)) reverse = nullptr;
        placed.insert(flow.id);
        if (reverse != nullptr) placed.insert(reverse->id);
        const std::uint64_t messages =
            flow.messages_total() + (reverse != nullptr ? reverse->messages_total() : std::uint64_t{0});
        if (messages == 0) continue;
        const auto index = static_cast<std::uint32_t>(out.connections.size());
        out.connections.push_back(connect(&flow, reverse));
        out.places[flow.id] = {index, 0};
        if (reverse != nullptr) out.places[reverse->id] = {index, 1};
        out.messages += messages;
    }
}

base::Error file_failure(const std::string& path, std::string message) { return {std::move(message), path, {}, 0}; }

}  // namespace

std::uint64_t Survey::fingerprint() const {
    std::uint64_t hash = base::fnv_begin;
    const auto add = [&](std::uint64_t value) {
        std::array<std::byte, 8> octets;  // the lowest first, whatever the machine: two machines compare the result
        for (unsigned i = 0; i < 8; ++i) octets[i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
        hash = base::fnv(hash, octets);
    };
    add(snapshot.capture.packets);
    add(snapshot.capture.bytes);
    add(static_cast<std::uint64_t>(snapshot.capture.first_ns));
    for (const PlannedConnection& connection : connections)
        for (const FlowSnapshot* flow : connection.flows) {
            if (flow == nullptr) continue;
            add(flow->id);
            add(flow->messages_total());
            add(flow->message_bytes_total());
        }
    return hash;
}

base::Result<Survey> survey(const std::string& path, const std::vector<std::uint64_t>& flows,
                            const SurveyWatch& watch) {
    if (path == "-")
        return base::Failure{
            file_failure(path, "a capture is read twice to be replayed; save standard input to a file")};
    Survey out;
    out.path = path;
    auto snapshot = read(path, out.broken, watch);
    if (!snapshot) return base::Failure{snapshot.error()};
    out.snapshot = std::move(snapshot).value();
    for (const std::uint64_t id : flows)
        if (out.snapshot.flow(id) == nullptr)
            return base::Failure{file_failure(
                path, fmt::format("there is no flow {}; `rdmascope flows -r {}` lists those there are", id, path))};
    pair(out, flows);
    if (out.connections.empty()) {
        std::string why = out.broken.empty() ? "no RDMA operations in it" : "no RDMA operations before " + out.broken;
        return base::Failure{file_failure(path, why + ": nothing can be re-enacted")};
    }
    out.begin_ns = out.snapshot.capture.last_ns;
    for (const PlannedConnection& connection : out.connections)
        for (const FlowSnapshot* flow : connection.flows) {
            if (flow == nullptr || flow->messages_total() == 0) continue;
            out.begin_ns = std::min(out.begin_ns, flow->first_ns);
            out.longest = std::max(out.longest, flow->message_bytes.max().value_or(0));
            note_flow(*flow, out.notes);
        }
    note_capture(out.snapshot.capture, out.notes);
    if (!out.broken.empty()) out.notes.push_back("the file breaks off: " + out.broken);
    return out;
}

}  // namespace replay::plan
