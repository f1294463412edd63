#include "cli/replay/read_connection.h"

#include <algorithm>
#include <fmt/core.h>

#include "capture/files/file_source.h"
#include "cli/analysis/session.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "dissect/dissector.h"
#include "wire/mpa.h"

namespace cli::replay {

namespace {

using ::replay::ConversationEnd;
using ::replay::WantedEnds;

bool same(const WantedEnds& a, const WantedEnds& b) {
    return (a.one == b.one && a.other == b.other) || (a.one == b.other && a.other == b.one);
}

constexpr std::uint64_t frames_between_looks = 1024;

/// Calls `visit` with every frame. Returns the reason if the file cannot be read to its end.
template <class Visit>
std::string for_each_frame(const std::string& path, Visit visit) {
    auto source = capture::open_file(path, {.stop = Signals::stop});
    if (!source) return source.error().text();
    Progress progress(true);
    std::uint64_t frames = 0;
    wire::Frame frame;
    for (;;) {
        if (frames++ % frames_between_looks == 0 && progress.due()) progress.draw((*source)->progress(), frames);
        const capture::ReadStatus status = (*source)->next(frame);
        if (status == capture::ReadStatus::error) return (*source)->error().text();
        if (status != capture::ReadStatus::frame) return {};
        visit(frame);
    }
}

ConversationEnd end_of(base::Bytes frame, std::uint32_t offset, std::uint32_t octets, std::uint16_t port) {
    ConversationEnd end;
    end.address_octets = static_cast<std::uint8_t>(octets);
    std::copy_n(frame.begin() + offset, octets, end.address.begin());
    end.port = port;
    return end;
}

/// All connections that begin with a Request, in their order.
std::string find_connections(const std::string& path, std::vector<WantedEnds>& found) {
    dissect::Dissection dissection;
    return for_each_frame(path, [&](const wire::Frame& frame) {
        dissect::dissect_frame(frame, {.verify_crc = false}, dissection);
        if (!dissection.has(dissect::LayerId::tcp)) return;
        const base::Bytes payload = frame.bytes.subspan(dissection.tcp.payload_offset, dissection.tcp.payload_captured);
        if (wire::mpa_start_kind(payload) != wire::MpaStartKind::request) return;
        const std::uint32_t octets = dissection.network.address_length();
        const WantedEnds ends{
            end_of(frame.bytes, dissection.network.source_offset, octets, dissection.source_port),
            end_of(frame.bytes, dissection.network.destination_offset, octets, dissection.destination_port)};
        if (std::none_of(found.begin(), found.end(), [&](const WantedEnds& each) { return same(each, ends); }))
            found.push_back(ends);
    });
}

ConversationEnd end_of(const metrics::Endpoint& endpoint) {
    ConversationEnd end;
    end.address_octets = endpoint.address.family == wire::AddressFamily::ipv4 ? 4 : 16;
    for (std::size_t i = 0; i < end.address_octets; ++i)
        end.address[i] = static_cast<std::byte>(endpoint.address.octets[i]);
    end.port = endpoint.port.value_or(0);
    return end;
}

struct NumberedFlow {
    std::uint64_t id = 0;
    WantedEnds ends = {};
};
std::vector<NumberedFlow> iwarp_flows(const ReplayOptions& options) {
    analysis::AnalysisOptions measured;
    measured.read_paths = {options.path};
    measured.names = false;
    analysis::Session session(measured, "replay");
    std::vector<NumberedFlow> flows;
    if (!session.run()) return flows;
    for (const metrics::FlowSnapshot& flow : session.snapshot().flows)
        if (flow.transport == wire::Transport::iwarp)
            flows.push_back({flow.id, {end_of(flow.source), end_of(flow.destination)}});
    return flows;
}

base::Result<WantedEnds, std::string> choose(const ReplayOptions& options) {
    std::vector<WantedEnds> connections;
    std::string error = find_connections(options.path, connections);
    // Connections before a damaged place of the file are valid.
    if (connections.empty())
        return base::Failure{
            error.empty() ? options.path + ": no iWARP connection begins in this capture (no MPA Request)" : error};
    if (options.flows.empty() && connections.size() == 1) return connections.front();
    const std::vector<NumberedFlow> flows = iwarp_flows(options);
    if (!options.flows.empty()) {
        for (const NumberedFlow& flow : flows)
            if (flow.id == options.flows.front()) return flow.ends;
        return base::Failure{fmt::format("--flow {}: no such iWARP flow; `rdmascope flows -r {}` lists them",
                                         options.flows.front(), options.path)};
    }
    std::string list;
    for (const WantedEnds& each : connections) {
        const auto flow =
            std::find_if(flows.begin(), flows.end(), [&](const NumberedFlow& f) { return same(f.ends, each); });
        if (flow != flows.end())
            list += fmt::format("\n  --flow {:<6} {} > {}", flow->id, text_of(each.one), text_of(each.other));
    }
    return base::Failure{
        fmt::format("{} connections begin in this capture: which one is to be played?{}", connections.size(), list)};
}

}  // namespace

base::Result<::replay::Conversation, std::string> read_connection(const ReplayOptions& options) {
    const auto ends = choose(options);
    if (!ends) return base::Failure{ends.error()};
    ::replay::ConversationReader reader(*ends);
    for_each_frame(options.path, [&](const wire::Frame& frame) { reader.take(frame); });
    return reader.finish();
}

}  // namespace cli::replay
