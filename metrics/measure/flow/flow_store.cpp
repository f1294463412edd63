#include "metrics/measure/flow/flow_store.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace metrics::inline measure::inline flow {

namespace {

/// A gap that is worth showing.
constexpr std::uint64_t long_gap_ns = 1'000'000;

std::uint32_t bounded(std::size_t value) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(value, std::numeric_limits<std::uint32_t>::max() - 1));
}

/// Pages of 72 bytes: a flow's share leaves room within 4 KiB for all else that it has.
constexpr unsigned histogram_share = 28;
constexpr std::size_t histogram_reserve = 4096;

}  // namespace

// Of a million flows some are busy, few are in trouble: the pools are sized for one in four and grow only when asked.
FlowStore::FlowStore(const EngineOptions& given)
    : options(given),
      table(given.max_flows),
      pages(std::max<std::size_t>(given.max_flows * 8, histogram_reserve), histogram_share, histogram_reserve),
      rings(std::max<std::size_t>(given.max_flows * 16, 16384)),
      blocks(bounded(std::max<std::size_t>(given.max_flows * 3, 1024))),
      responders(bounded(std::max<std::size_t>(given.max_flows, 1024))),
      counts(bounded(std::max<std::size_t>(given.max_flows / 4, 1024))),
      troubles(bounded(std::max<std::size_t>(given.max_flows / 4, 1024))),
      rows(bounded(std::max<std::size_t>(given.max_flows, 4096))),
      marks(bounded(std::max<std::size_t>(given.max_flows, 1024))),
      paths(bounded(given.max_flows)),
      entropies(bounded(std::max<std::size_t>(given.max_flows / 4, 1024))),
      many_entropies(bounded(std::max<std::size_t>(given.max_flows / 64, 1024))),
      path_windows(paths, given.max_flows),
      pairing(1u << 18),
      observed(given.observer == nullptr ? nullptr : std::make_unique<ObservedFlows>(*given.observer)) {}

FlowIndex FlowStore::obtain(const FlowKey& key, std::uint32_t hash, std::uint64_t frame, std::int64_t now_ns) {
    const FlowIndex found = table.find(key, hash);
    if (found != no_flow) return found;
    while (table.full()) {
        const FlowIndex idlest = table.idlest();
        if (idlest == no_flow) break;
        evict(idlest);
        ++evicted;
    }
    ++seen;
    const std::uint64_t id = next_id(key, frame);
    const FlowIndex fresh = table.add(key, hash, id, now_ns);
    if (fresh != no_flow) observe([&](ObservedFlows& flows) { flows.by_id[id] = fresh; });
    if (fresh != no_flow && options.commands && key.service == Service::rc) {
        table[fresh].upper = UpperLayer::unknown;
        table[fresh].request.watched = true;
    }
    return fresh;
}

/// One frame can show several flows: an acknowledgement that releases what the other direction was waiting for, or what
/// several streams still held when the capture ended.
std::uint64_t FlowStore::next_id(const FlowKey& key, std::uint64_t frame) {
    if (frame > newest_) {
        newest_ = frame;
        newest_count_ = 0;
    }
    if (frame == newest_) return flow_id(frame, newest_count_++);
    // A packet that has waited for others to be worked off with: it is the only one of its frame.
    if (key.transport != wire::Transport::iwarp) return flow_id(frame, 0);
    if (frame != last_ || last_count_ == 0) {
        last_ = frame;
        last_count_ = ids_made_of(frame);
    }
    return flow_id(frame, last_count_++);
}

std::uint64_t FlowStore::ids_made_of(std::uint64_t frame) const {
    std::uint64_t count = 0;
    for (FlowIndex index = 0; index < table.extent(); ++index) {
        const Flow& flow = table[index];
        if (flow.live && first_frame_of(flow.id) == frame) count = std::max(count, flow.id / flow_ids_apart + 1);
    }
    return count;
}

void FlowStore::pair(FlowIndex one, FlowIndex other, PairingMethod method, double confidence) {
    if (one == other) return;
    const auto percent = static_cast<std::uint8_t>(std::lround(std::clamp(confidence, 0.0, 1.0) * 100));
    for (const auto& [flow, its_reverse] : {std::pair{one, other}, std::pair{other, one}}) {
        Flow& here = table[flow];
        if (here.reverse != its_reverse) {
            if (here.reverse != no_flow && table[here.reverse].reverse == flow) table[here.reverse].reverse = no_flow;
            here.reverse = its_reverse;
        }
        here.pairing = method;
        here.pairing_percent = percent;
        pairing.forget(here.key, flow);
    }
    if (table[one].upper == UpperLayer::read || table[other].upper == UpperLayer::read) read_upper(one);
}

void FlowStore::read_upper(FlowIndex index) {
    for (const FlowIndex each : {index, table[index].reverse}) {
        if (each == no_flow) continue;
        table[each].upper = UpperLayer::read;
        table[each].request.watched = true;
        if (on_read) on_read(each);
    }
}

void FlowStore::leave_upper(FlowIndex index) {
    for (const FlowIndex each : {index, table[index].reverse}) {
        if (each == no_flow) continue;
        table[each].upper = UpperLayer::none;
        table[each].request.watched = false;
    }
}

bool FlowStore::decides_upper(Flow& flow, bool begins_send) {
    constexpr unsigned enough = 15;
    const unsigned counted = flow.looked_at + (begins_send ? 2u : 1u);
    flow.looked_at = std::min(counted, enough) & 15u;
    return counted >= enough;
}

void FlowStore::retire(FlowIndex index) {
    Flow& flow = table[index];
    if (flow.finished) return;
    flow.ledger.clear(rings, flow.counts.last_ns);
    observe([&](ObservedFlows& flows) { flows.give_up(flow); });
    pairing.forget(flow.key, index);
    table.retire(index);
}

void FlowStore::evict(FlowIndex index) {
    Flow& flow = table[index];
    if (on_leave) on_leave(index);
    path_windows.leave(flow);
    flow.ledger.clear(rings, flow.counts.last_ns);
    observe([&](ObservedFlows& flows) { flows.leave(flow, index); });
    pairing.forget(flow.key, index);
    if (flow.reverse != no_flow && table[flow.reverse].reverse == index) table[flow.reverse].reverse = no_flow;
    const std::uint8_t histograms = flow.histograms();
    for (std::uint8_t slot = 0; slot < histograms; ++slot)
        blocks[flow.histogram_block[slot / 2]][slot % 2].release(pages, flow.histogram_pages);
    for (const std::uint32_t block : flow.histogram_block)
        if (block != Flow::no_block) blocks.give_back(block);
    if (flow.trouble != Flow::no_block) {
        for (const std::uint32_t own : troubles[flow.trouble].histograms) {
            if (own == Flow::no_block) continue;
            for (CompactHistogram& histogram : blocks[own]) histogram.release(pages, flow.histogram_pages);
            blocks.give_back(own);
        }
        troubles.give_back(flow.trouble);
    }
    if (!flow.is_iwarp() && flow.transport_block != Flow::no_block) marks.give_back(flow.transport_block);
    if (flow.responder != Flow::no_block) responders.give_back(flow.responder);
    if (flow.has_entropies) {
        if (const std::uint32_t many = entropies_of(flow).many; many != Flow::no_block) many_entropies.give_back(many);
        entropies.give_back(paths[flow.path].entropies);
    }
    paths.give_back(flow);
    if (flow.operations.others != Flow::no_block) counts.give_back(flow.operations.others);
    for (std::uint32_t row = flow.event_summaries; row != Flow::no_block;) {
        const std::uint32_t next = rows[row].next;
        rows.give_back(row);
        row = next;
    }
    table.remove(index);
}

std::size_t FlowStore::forget_idle(std::int64_t before_ns) {
    const auto idle = [&](FlowIndex index) { return table[index].counts.last_ns < before_ns; };
    std::size_t forgotten = 0;
    for (FlowIndex index = 0; index < table.extent(); ++index) {
        const Flow& flow = table[index];
        if (!flow.live || !idle(index) || (flow.reverse != no_flow && !idle(flow.reverse))) continue;
        if (flow.reverse != no_flow && table[flow.reverse].reverse == index) {
            evict(flow.reverse);
            ++forgotten;
        }
        evict(index);
        ++forgotten;
    }
    return forgotten;
}

void FlowStore::forget_frames() {
    for (FlowIndex index = 0; index < table.extent(); ++index) {
        if (!table[index].live) continue;
        for (std::uint32_t row = table[index].event_summaries; row != Flow::no_block; row = rows[row].next)
            rows[row].kept = 0;
    }
}

bool FlowStore::take_histogram(Flow& flow, FlowHistogram which) {
    const std::uint8_t next = flow.histograms();
    std::uint32_t& block = flow.histogram_block[next / 2u];
    if (block == Flow::no_block) {
        block = blocks.take();
        if (block == Flow::no_block) return false;  // counted by the pool
    }
    flow.histogram_slot[static_cast<std::size_t>(which)] = next;
    return true;
}

void FlowStore::record_unusual_message(Flow& flow, std::uint64_t bytes) {
    if (flow.usual_message_bytes == Flow::no_message)
        flow.usual_message_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, Flow::no_message - 1));
    if (bytes == flow.usual_message_bytes && flow.usual_messages != 0xffffffff)
        ++flow.usual_messages;
    else
        record(flow, FlowHistogram::message_bytes, bytes);
}

Histogram FlowStore::unpack(const Flow& flow, FlowHistogram which) const {
    const std::uint8_t slot = flow.histogram_slot[static_cast<std::size_t>(which)];
    if (slot == Flow::no_slot) return {};
    return blocks[flow.histogram_block[slot / 2u]][slot % 2u].unpack(pages);
}

void FlowStore::record(Flow& flow, RareHistogram which, std::uint64_t value) {
    if (flow.trouble == Flow::no_block) return;
    const auto place = static_cast<std::size_t>(which);
    std::uint32_t& block = troubles[flow.trouble].histograms[place / 2];
    if (block == Flow::no_block) block = blocks.take();
    if (block == Flow::no_block) return;  // counted by the pool
    blocks[block][place % 2].record(pages, flow.histogram_pages, value);
}

Histogram FlowStore::unpack(const FlowTrouble& trouble, RareHistogram which) const {
    const auto place = static_cast<std::size_t>(which);
    const std::uint32_t block = trouble.histograms[place / 2];
    return block == Flow::no_block ? Histogram{} : blocks[block][place % 2].unpack(pages);
}

void FlowStore::show(Flow& flow, EventKind kind, std::uint64_t frame, std::uint64_t value) {
    std::uint32_t* link = &flow.event_summaries;
    while (*link != Flow::no_block && rows[*link].kind != kind) link = &rows[*link].next;
    if (*link == Flow::no_block) {
        const std::uint32_t fresh = rows.take();
        if (fresh == Flow::no_block) return;
        rows[fresh].kind = kind;
        *link = fresh;
    }
    EventSummaryRow& row = rows[*link];
    ++row.count;
    if (row.kept < row.frames.size() && (row.kept == 0 || row.frames[row.kept - 1u] != frame))
        row.frames[row.kept++] = frame;
    row.value_max = std::max(row.value_max, value);
    row.value_sum += value;
    observe([&](ObservedFlows& flows) { flows.observer.event(flow.id, kind, frame, value); });
}

OperationCounts::Count& FlowStore::count_other(Flow& flow, Operation operation) {
    const auto wanted = static_cast<std::uint8_t>(operation);
    for (OperationCounts::Count& place : flow.operations.first) {
        if (place.operation == wanted) return place;
        if (place.operation != OperationCounts::none) continue;
        place.operation = wanted;
        return place;
    }
    if (flow.operations.others == Flow::no_block) {
        flow.operations.others = counts.take();
        if (flow.operations.others == Flow::no_block) {
            spare_count_ = {};
            return spare_count_;
        }
    }
    return counts[flow.operations.others][index_of(operation)];
}

OperationCounts::Count FlowStore::count_of(const Flow& flow, Operation operation) const {
    for (const OperationCounts::Count& place : flow.operations.first)
        if (place.operation == static_cast<std::uint8_t>(operation)) return place;
    if (flow.operations.others == Flow::no_block) return {};
    return counts[flow.operations.others][index_of(operation)];
}

ResponseState& FlowStore::responder(Flow& flow) {
    if (flow.responder == Flow::no_block) {
        flow.responder = responders.take();
        if (flow.responder == Flow::no_block) {
            spare_responder_ = {};
            return spare_responder_;
        }
    }
    return responders[flow.responder];
}

const ResponseState* FlowStore::responder_of(const Flow& flow) const {
    return flow.responder == Flow::no_block ? nullptr : &responders[flow.responder];
}

void FlowStore::show_longest(Flow& flow, EventKind kind, std::uint64_t frame, std::uint64_t value) {
    for (std::uint32_t row = flow.event_summaries; row != Flow::no_block; row = rows[row].next)
        if (rows[row].kind == kind && rows[row].value_max >= value) return;
    show(flow, kind, frame, value);
}

FlowTrouble& FlowStore::trouble(Flow& flow) {
    if (flow.trouble == Flow::no_block) {
        flow.trouble = troubles.take();
        if (flow.trouble == Flow::no_block) {
            spare_ = {};
            return spare_;
        }
    }
    return troubles[flow.trouble];
}

const FlowTrouble* FlowStore::trouble_of(const Flow& flow) const {
    return flow.trouble == Flow::no_block ? nullptr : &troubles[flow.trouble];
}

void FlowStore::close_gap(Flow& flow, Situation& situation, const FrameContext& context, std::uint64_t frame) {
    RequestState& request = flow.request;
    if (flow.drop_epoch != drop_epoch) {
        situation.unobserved = situation.unobserved || flow.attribution.started();
        flow.drop_epoch = drop_epoch;
    }
    situation.responses_limit = request.responses_limit;
    // A tracker may have put in what it keeps outside the flow's ledger.
    situation.messages += flow.ledger.messages();
    situation.bytes += flow.ledger.bytes();
    situation.responses += flow.ledger.responses();
    situation.messages_max = std::max(situation.messages_max, flow.ledger.messages_max());
    situation.bytes_max = std::max(situation.bytes_max, flow.ledger.bytes_max());
    situation.responses_max = std::max(situation.responses_max, flow.ledger.responses_max());
    situation.freed_ns = request.freed_ns;
    situation.freed_messages = request.freed_messages;
    situation.response_ns = request.response_ns;
    const std::uint64_t host_bytes = context.source_wire_bytes - request.sibling_bytes_then;
    situation.sibling_bytes = host_bytes > request.own_bytes_since ? host_bytes - request.own_bytes_since : 0;
    situation.paused = context.source_pauses != request.pauses_then;
    situation.link_bits_per_sec = context.source_bits_per_sec;
    situation.round_trip_min_ns = request.round_trip_min_ns == 0xffffffff ? 0 : request.round_trip_min_ns;
    situation.one_machine = is_one_machine(flow.key.source, flow.key.destination);
    const bool started = flow.attribution.started();
    if (is_observed()) [[unlikely]]
        close_observed_gap(flow, situation, frame);
    else
        flow.attribution.packet(situation, options.attribution);
    request.sibling_bytes_then = context.source_wire_bytes;
    request.own_bytes_since = situation.wire_bytes;
    request.pauses_then = context.source_pauses;
    // The frame after the longest silence; only silences that are worth a look.
    if (started && flow.attribution.last_gap_ns() >= long_gap_ns && flow.attribution.last_state() >= State::rnr_wait)
        show_longest(flow, EventKind::long_gap, frame, flow.attribution.last_gap_ns());
}

void FlowStore::close_observed_gap(Flow& flow, const Situation& situation, std::uint64_t frame) {
    Attribution& attribution = flow.attribution;
    const State transmit = situation.again ? State::transmit_again : State::transmit_new;
    const bool started = attribution.started();
    const std::uint64_t before_ns = attribution.time_in(transmit);
    attribution.packet(situation, options.attribution);
    if (!started) return;
    FrameObserver::Gap gap{attribution.last_state(), attribution.last_gap_ns(), situation.again,
                           attribution.time_in(transmit) - before_ns};
    if (gap.state == transmit) gap.wire_ns -= gap.ns;
    observed->observer.gap(flow.id, gap, frame);
}

/// The id names the frame of a flow's first message. From the second message on, marks are kept.
void FlowStore::note_first_begins(Flow& flow, std::uint64_t position, std::uint64_t frame) {
    if (!flow.begins_at_id && first_frame_of(flow.id) == frame && position == flow.request.lowest_position()) {
        flow.begins_at_id = true;
        return;
    }
    if (take_marks(flow)) marks[flow.transport_block].note_begin(position, frame);
}

bool FlowStore::take_marks(Flow& flow) {
    flow.transport_block = marks.take();
    if (flow.transport_block == Flow::no_block) return false;  // counted by the pool
    if (flow.begins_at_id)
        marks[flow.transport_block].note_begin(flow.request.lowest_position(), first_frame_of(flow.id));
    return true;
}

std::uint64_t FlowStore::frame_of_begin(const Flow& flow, std::uint64_t position) const {
    if (flow.transport_block == Flow::no_block)
        return flow.begins_at_id && position == flow.request.lowest_position() ? first_frame_of(flow.id) : 0;
    for (const MessageBegin& begin : marks[flow.transport_block].begun)
        if (begin.position == position) return begin.frame;
    return 0;
}

std::uint64_t FlowStore::last_answer_frame(const Flow& flow) const {
    const bool known = !flow.is_iwarp() && flow.transport_block != Flow::no_block;
    return known ? marks[flow.transport_block].last_answer_frame : 0;
}

/// At most four ports are told apart.
void FlowStore::note_other_udp_port(Flow& flow, std::uint16_t port) {
    constexpr std::uint8_t most = 3;
    if (flow.other_udp_ports == most) return;
    FlowTrouble& block = trouble(flow);
    const auto known = block.udp_ports.begin() + flow.other_udp_ports;
    if (std::find(block.udp_ports.begin(), known, port) != known) return;
    block.udp_ports[flow.other_udp_ports++] = port;
}

namespace {

/// What passed since the present class began counts for it.
void count_present(FlowClasses& classes, const PacketCounts& counts, std::uint32_t wire_length) {
    if (classes.present == 0) return;
    ClassFigures& present = classes.others[classes.present - 1u];
    present.packets += counts.packets - (wire_length == 0 ? 0u : 1u) - classes.packets_before;
    present.wire_bytes += counts.wire_bytes - wire_length - classes.bytes_before;
}

}  // namespace

void FlowStore::note_class(Flow& flow, const ClassChange& change) {
    const PacketClass before = class_of(flow);
    const std::uint8_t number = classes.number_of(change.packet_class);
    if (number == 0) return;
    flow.class_number = number;
    if (!before.known()) {
        flow.traffic_class = change.traffic_class;
        return;
    }
    FlowClasses& own = trouble(flow).classes;
    if (own.changes++ == 0) own.first = before;
    count_present(own, flow.counts, change.wire_length);
    own.packets_before = flow.counts.packets - 1;
    own.bytes_before = flow.counts.wire_bytes - change.wire_length;
    own.present = 0;
    if (change.packet_class == own.first) return;
    const auto known = own.others.begin() + own.known;
    const auto same = std::ranges::find(own.others.begin(), known, change.packet_class, &ClassFigures::packet_class);
    if (same == known && own.known < own.others.size())
        own.others[own.known++] = {change.packet_class, 0, 0, change.frame, change.time_ns};
    const auto place = same == known ? own.known - 1 : same - own.others.begin();
    own.present = static_cast<std::uint8_t>(place + 1);
}

void FlowStore::describe_classes(const Flow& flow, FlowSnapshot& out) const {
    out.packet_class = class_of(flow);
    const FlowTrouble* const block = trouble_of(flow);
    if (block == nullptr || block->classes.changes == 0) return;
    FlowClasses own = block->classes;
    count_present(own, flow.counts, 0);
    out.packet_class = own.first;
    out.other_classes.assign(own.others.begin(), own.others.begin() + own.known);
    // The packet that began a class may turn out to be that of another flow.
    std::erase_if(out.other_classes, [](const ClassFigures& one) { return one.packets == 0; });
    if (!out.other_classes.empty()) out.class_changes = own.changes;
}

void FlowStore::describe_path(const Flow& flow, FlowSnapshot& out) const {
    if (flow.is_iwarp()) {
        out.entropy = Entropy::of_tcp(static_cast<std::uint16_t>(flow.key.selector >> 16),
                                      static_cast<std::uint16_t>(flow.key.selector));
        return;
    }
    out.entropy = paths.key(flow).entropy();
    PathFigures path;
    if (flow.has_entropies) {
        describe_entropies(flow, path);
        if (path.rows.empty()) out.entropy = entropies_of(flow).exact[0].entropy;
    }
    if (const FlowTrouble* const own = trouble_of(flow)) {
        for (const std::uint8_t limit : own->hop_limits)
            if (limit != 0) path.hop_limits.push_back(limit);
        std::ranges::sort(path.hop_limits);
        path.loss_episodes = own->losses.count;
        path.late_refused = own->late_refused;
        path.outcomes = own->holes.outcomes();
        path.late_depth = unpack(*own, RareHistogram::late_depth);
        path.late_ns = unpack(*own, RareHistogram::late_ns);
    }
    if (!(path == PathFigures{})) out.path = std::move(path);
}

void FlowStore::identify(FlowIndex index, FlowSnapshot& out) const {
    const Flow& flow = table[index];
    out.id = flow.id;
    out.transport = flow.key.transport;
    out.service = flow.key.service;
    out.source.address = flow.key.source;
    out.destination.address = flow.key.destination;
    if (flow.key.transport == wire::Transport::iwarp) {
        out.source.port = static_cast<std::uint16_t>(flow.key.selector >> 16);
        out.destination.port = static_cast<std::uint16_t>(flow.key.selector);
    } else {
        out.destination.qpn = flow.key.selector;
        if (flow.source_qp != 0xffffffff) out.source.qpn = flow.source_qp;
    }
    out.traffic_class = flow.traffic_class;
    out.interface = flow.interface;
    out.finished = flow.finished;
}

OperationFigures FlowStore::figures_of(const Flow& flow, Operation operation) const {
    const OperationCounts::Count counted = count_of(flow, operation);
    OperationFigures figures;
    figures.count = counted.messages;
    figures.bytes = counted.bytes;
    figures.latency_ns = unpack(flow, latency_of(operation));
    if (operation == Operation::read) figures.first_response_ns = unpack(flow, FlowHistogram::first_response);
    return figures;
}

void FlowStore::describe(FlowIndex index, FlowSnapshot& out) const {
    const Flow& flow = table[index];
    const RequestState& request = flow.request;
    const ResponseState* const responses = responder_of(flow);
    const bool ordered = flow.key.service == Service::rc || flow.key.service == Service::xrc;
    identify(index, out);
    out.first_ns = flow.counts.first_ns;
    out.last_ns = flow.counts.last_ns;
    out.packets = flow.counts.packets;
    out.wire_bytes = flow.counts.wire_bytes;
    out.payload_bytes = flow.counts.payload_bytes;
    out.acknowledgement_packets = Flow::sum(flow.counts.acknowledgements, flow.counts_above.acknowledgements);
    describe_classes(flow, out);
    describe_path(flow, out);
    if (ordered) out.retransmitted_packets = request.repeated + (responses != nullptr ? responses->repeated : 0);
    if (ordered || flow.key.service == Service::uc) {
        out.duplicate_packets = request.duplicates;
        out.reordered_packets = request.reordered;
        out.missing_packets = request.missing + (responses != nullptr ? responses->missing : 0);
    }
    for (std::size_t i = 0; i < operation_count; ++i) {
        OperationFigures figures = figures_of(flow, static_cast<Operation>(i));
        if (!figures.empty()) out.operations[i] = std::move(figures);
    }
    out.message_bytes = unpack(flow, FlowHistogram::message_bytes);
    if (flow.usual_messages != 0) out.message_bytes.record(flow.usual_message_bytes, flow.usual_messages);
    out.message_duration_ns = unpack(flow, FlowHistogram::message_duration);
    out.rnr_timer_ns = unpack(flow, FlowHistogram::rnr_timer);
    out.cnp_interval_ns = unpack(flow, FlowHistogram::cnp_interval);
    out.messages_max = flow.ledger.messages_max();
    out.bytes_max = flow.ledger.bytes_max();
    out.responses_max = flow.ledger.responses_max();
    out.merged_messages = flow.ledger.merged();
    out.ecn_ce_packets = Flow::sum(flow.counts.ce, flow.counts_above.ce);
    out.ecn_capable_packets = Flow::sum(flow.counts.ecn_capable, flow.counts_above.ecn_capable);
    (flow.key.transport == wire::Transport::iwarp ? out.crc_bad : out.icrc_bad) = flow.counts.crc_bad;
    if (flow.only_zero_crcs) out.icrc_zero = flow.counts.crc_bad;
    if (const FlowTrouble* const own = trouble_of(flow)) {
        if (!flow.only_zero_crcs) out.icrc_zero = own->crc_zero;
        out.icrc_taken = own->crc_taken;
        out.crc_bad_checksum_right = own->crc_checksum_right;
    }
    out.state_unsure_ns = flow.attribution.unsure_ns();
    out.queueing_ns = flow.attribution.queueing_ns();
    out.reaction_tolerance_ns = flow.attribution.reaction_tolerance_ns();
    if (request.round_trip_min_ns != 0xffffffff) out.round_trip_min_ns = request.round_trip_min_ns;
    if (request.reaction_min_ns != 0xffffffff) out.reaction_min_ns = request.reaction_min_ns;
    out.recovery.nak_generation_ns = unpack(flow, FlowHistogram::nak_generation);
    out.recovery.nak_reaction_ns = unpack(flow, FlowHistogram::nak_reaction);
    out.recovery.total_ns = unpack(flow, FlowHistogram::recovery_total);
    out.recovery.count = out.recovery.total_ns.count();
    if (const FlowTrouble* trouble = trouble_of(flow)) {
        out.timeouts = trouble->timeouts;
        out.unseen_acknowledged_packets = trouble->unseen_acknowledged;
        out.terminates = trouble->terminates;
        if (trouble->is_refused) out.refused = trouble->refused;
        if (trouble->icmp != IcmpFigures{}) out.icmp = trouble->icmp;
    }
    for (std::uint32_t row = flow.event_summaries; row != Flow::no_block; row = rows[row].next) {
        const EventSummaryRow& shown = rows[row];
        out.event_summaries.push_back({shown.kind,
                                       shown.count,
                                       {shown.frames.begin(), shown.frames.begin() + shown.kept},
                                       shown.value_max,
                                       shown.value_sum});
    }
    std::sort(out.event_summaries.begin(), out.event_summaries.end(),
              [](const EventSummary& one, const EventSummary& other) { return one.kind < other.kind; });
}

std::size_t FlowStore::octets() const {
    return table.octets() + pages.octets() + rings.octets() + blocks.octets() + responders.octets() + counts.octets() +
           troubles.octets() + rows.octets() + marks.octets() + paths.octets() + entropies.octets() +
           many_entropies.octets() + path_windows.octets() + pairing.octets();
}

}  // namespace metrics::measure::flow
