#include "cli/report/mark_collector.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>

#include "base/hash.h"
#include "wire/aeth.h"
#include "wire/bth_opcode.h"
#include "wire/rdmap.h"

namespace cli::report {

namespace {

using exporters::report::MarkKind;
using metrics::SequencePoint;

constexpr std::uint32_t no_label_key = 0xffffffff;

/// What finds the flows of a packet: RoCE's destination, or both ends of a TCP connection in any order.
std::uint64_t key_of(const metrics::Address& address, std::uint32_t number) {
    return base::mix(metrics::mix(0x7265706f7274, address), number);
}

MarkKind mark_kind_of(const SequencePoint& point, bool counts_bytes) {
    switch (point.kind) {
        case SequencePoint::Kind::data: return MarkKind::data;
        case SequencePoint::Kind::repeated: return MarkKind::repeated;
        case SequencePoint::Kind::response: return MarkKind::response;
        case SequencePoint::Kind::ack: return MarkKind::ack;
        case SequencePoint::Kind::cnp: return MarkKind::cnp;
        case SequencePoint::Kind::nak: break;
    }
    if (counts_bytes) return MarkKind::duplicate_ack;
    return wire::kind_of_syndrome(point.syndrome) == wire::AethKind::rnr_nak ? MarkKind::rnr_nak : MarkKind::nak;
}

/// "SEND Only", "NAK: PSN Sequence Error", "RNR NAK: 0.64 ms".
std::string label_text(const SequencePoint& point) {
    std::string text(wire::bth_message_name(point.opcode));
    if (point.kind != SequencePoint::Kind::nak) return text;
    const std::uint8_t value = wire::value_of_syndrome(point.syndrome);
    if (wire::kind_of_syndrome(point.syndrome) == wire::AethKind::rnr_nak)
        return fmt::format("RNR NAK, timer {} ms", static_cast<double>(wire::rnr_timer_us[value]) / 1000);
    const std::string_view name = wire::name_of(wire::nak_code_names, value);
    return name.empty() ? fmt::format("NAK, code {}", value) : fmt::format("NAK, {}", name);
}

/// Marks that each plot may have: small flows need less than their part, and leave the rest to the others.
std::vector<std::size_t> rooms_of(std::span<const metrics::FlowSnapshot* const> flows, std::size_t marks) {
    std::vector<std::size_t> order(flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // A flow has a mark for each packet, and those of its answers, which are about as many at most.
    const auto need = [&flows](std::size_t i) { return static_cast<std::size_t>(2 * flows[i]->packets + 64); };
    std::ranges::sort(order, {}, need);
    std::vector<std::size_t> rooms(flows.size());
    for (std::size_t done = 0; done < order.size(); ++done) {
        rooms[order[done]] = std::min(need(order[done]), marks / (order.size() - done));
        marks -= rooms[order[done]];
    }
    return rooms;
}

}  // namespace

MarkCollector::MarkCollector(std::span<const metrics::FlowSnapshot* const> flows, std::span<const std::uint64_t> frames,
                             const Bounds& bounds) {
    if (flows.empty()) return;
    const std::vector<std::size_t> rooms = rooms_of(flows, bounds.marks);
    // About as many columns as a wide screen has.
    constexpr std::uint64_t columns = 1024;
    plots_.reserve(flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
        exporters::report::SequencePlot plot;
        plot.flow = flows[i]->id;
        plot.counts_bytes = flows[i]->transport == wire::Transport::iwarp;
        plots_.push_back({std::move(plot), exporters::report::MarkThinner(rooms[i], bounds.capture_ns / columns)});
        for (const std::uint64_t frame : frames) plots_.back().thinner.keep(frame);
    }
    for (const metrics::FlowSnapshot* flow : flows) add_pair(*flow);
}

void MarkCollector::add_pair(const metrics::FlowSnapshot& flow) {
    const auto plot_of = [this](std::uint64_t id) {
        const auto found = std::ranges::find_if(plots_, [id](const Plot& plot) { return plot.plot.flow == id; });
        return found == plots_.end() ? no_plot : static_cast<std::size_t>(found - plots_.begin());
    };
    Pair pair;
    pair.forward = plot_of(flow.id);
    for (const Pair& other : pairs_)
        if (other.backward == pair.forward) return;
    if (flow.reverse) pair.backward = plot_of(*flow.reverse);
    pair.points.follow(flow);
    const std::size_t index = pairs_.size();
    if (flow.transport == wire::Transport::iwarp) {
        const std::uint64_t key = key_of(flow.source.address, flow.source.port.value_or(0)) ^
                                  key_of(flow.destination.address, flow.destination.port.value_or(0));
        by_key_.emplace(key, index);
    } else {
        by_key_.emplace(key_of(flow.destination.address, flow.destination.qpn.value_or(0)), index);
        if (flow.source.qpn) by_key_.emplace(key_of(flow.source.address, *flow.source.qpn), index);
    }
    pairs_.push_back(std::move(pair));
}

std::uint32_t MarkCollector::add_label(Plot& plot, std::uint32_t key, std::string text) {
    const auto found = std::ranges::find(plot.plot.labels, text);
    const auto index = static_cast<std::uint32_t>(found - plot.plot.labels.begin());
    if (found == plot.plot.labels.end()) plot.plot.labels.push_back(std::move(text));
    plot.labels.emplace(key, index);
    return index;
}

std::uint32_t MarkCollector::label_of(Plot& plot, const SequencePoint& point) {
    const bool negative = point.kind == SequencePoint::Kind::nak;
    const std::uint32_t key =
        plot.plot.counts_bytes ? no_label_key : point.opcode | (negative ? point.syndrome : 0U) << 8;
    if (const auto found = plot.labels.find(key); found != plot.labels.end()) return found->second;
    return add_label(plot, key, plot.plot.counts_bytes ? std::string() : label_text(point));
}

void MarkCollector::on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) {
    settle();
    waiting_frame_ = frame.number;
    const bool tcp = dissection.has(dissect::LayerId::tcp);
    if (by_key_.empty() || (!tcp && !dissection.has(dissect::LayerId::bth))) return;
    const dissect::Network& network = dissection.network;
    const metrics::Address to = metrics::address_at(network.family, network.destination_offset, frame.bytes);
    std::uint64_t key = key_of(to, tcp ? dissection.destination_port : dissection.bth.destination_qp);
    if (tcp)
        key ^= key_of(metrics::address_at(network.family, network.source_offset, frame.bytes), dissection.source_port);
    const auto [begin, end] = by_key_.equal_range(key);
    for (auto at = begin; at != end; ++at) {
        Pair& pair = pairs_[at->second];
        taken_.clear();
        pair.points.take(frame, dissection, taken_);
        for (const SequencePoint& point : taken_) {
            const std::size_t index = point.reverse ? pair.backward : pair.forward;
            if (index == no_plot) continue;
            Plot& plot = plots_[index];
            waiting_.push_back({index,
                                {mark_kind_of(point, plot.plot.counts_bytes), point.time_ns, point.sequence,
                                 point.length, point.frame, label_of(plot, point)}});
        }
    }
}

void MarkCollector::on_unit(const dissect::Unit& unit) {
    if (unit.transport != dissect::Transport::iwarp || unit.frame.number != waiting_frame_) return;
    const bool ddp =
        unit.dissection.has(dissect::LayerId::ddp_tagged) || unit.dissection.has(dissect::LayerId::ddp_untagged);
    if (!ddp) return;
    for (Waiting& each : waiting_) {
        const bool data = each.mark.kind == MarkKind::data || each.mark.kind == MarkKind::repeated;
        if (!data) continue;
        Plot& plot = plots_[each.plot];
        const std::uint32_t key = unit.dissection.ddp.opcode;
        const auto found = plot.labels.find(key);
        each.mark.label = found != plot.labels.end()
                              ? found->second
                              : add_label(plot, key, std::string(wire::name_of(wire::rdmap_opcodes, key)));
    }
}

void MarkCollector::settle() {
    for (const Waiting& each : waiting_) plots_[each.plot].thinner.add(each.mark);
    waiting_.clear();
}

std::vector<exporters::report::SequencePlot> MarkCollector::take() {
    settle();
    std::vector<exporters::report::SequencePlot> plots;
    plots.reserve(plots_.size());
    for (Plot& each : plots_) {
        each.plot.seen = each.thinner.seen();
        each.plot.seen_by_kind.assign(each.thinner.seen_by_kind().begin(), each.thinner.seen_by_kind().end());
        each.plot.marks = each.thinner.take();
        plots.push_back(std::move(each.plot));
    }
    return plots;
}

}  // namespace cli::report
