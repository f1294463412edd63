#include "metrics/flow/flow_store.h"

#include <algorithm>
#include <limits>

namespace metrics {

namespace {

std::uint32_t bounded(std::size_t value) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(value, std::numeric_limits<std::uint32_t>::max() - 1));
}

}  // namespace

// Of a million flows some are busy, few are in trouble: the pools are sized for one in four and grow only when asked.
FlowStore::FlowStore(const EngineOptions& given)
    : options(given),
      table(given.max_flows),
      pages(std::max<std::size_t>(given.max_flows * 8, 4096)),
      rings(std::max<std::size_t>(given.max_flows * 16, 16384)),
      blocks(bounded(std::max<std::size_t>(given.max_flows * 3, 1024))),
      troubles(bounded(std::max<std::size_t>(given.max_flows / 4, 1024))),
      rows(bounded(std::max<std::size_t>(given.max_flows, 4096))),
      pairing(1u << 18) {}

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
    return table.add(key, hash, frame, now_ns);
}

void FlowStore::pair(FlowIndex one, FlowIndex other, PairingMethod method, double confidence) {
    if (one == other) return;
    const auto percent = static_cast<std::uint8_t>(std::clamp(confidence, 0.0, 1.0) * 100 + 0.5);
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
}

void FlowStore::retire(FlowIndex index) {
    Flow& flow = table[index];
    if (flow.finished) return;
    flow.ledger.clear(rings, flow.counts.last_ns);
    pairing.forget(flow.key, index);
    table.retire(index);
}

void FlowStore::evict(FlowIndex index) {
    Flow& flow = table[index];
    if (on_leave) on_leave(index);
    flow.ledger.clear(rings, flow.counts.last_ns);
    pairing.forget(flow.key, index);
    if (flow.reverse != no_flow && table[flow.reverse].reverse == index) table[flow.reverse].reverse = no_flow;
    for (std::uint8_t slot = 0; slot < flow.histograms; ++slot)
        blocks[flow.histogram_block[slot / 4]][slot % 4].release(pages, flow.histogram_pages);
    for (const std::uint32_t block : flow.histogram_block)
        if (block != Flow::no_block) blocks.give_back(block);
    if (flow.trouble != Flow::no_block) troubles.give_back(flow.trouble);
    for (std::uint32_t row = flow.exhibits; row != Flow::no_block;) {
        const std::uint32_t next = rows[row].next;
        rows.give_back(row);
        row = next;
    }
    table.remove(index);
}

void FlowStore::record(Flow& flow, FlowHistogram which, std::uint64_t value) {
    std::uint8_t& slot = flow.histogram_slot[static_cast<std::size_t>(which)];
    if (slot == Flow::no_slot) [[unlikely]] {
        std::uint32_t& block = flow.histogram_block[flow.histograms / 4u];
        if (block == Flow::no_block) {
            block = blocks.take();
            if (block == Flow::no_block) return;  // counted by the pool
        }
        slot = flow.histograms++;
    }
    blocks[flow.histogram_block[slot / 4u]][slot % 4u].record(pages, flow.histogram_pages, value);
}

Histogram FlowStore::unpack(const Flow& flow, FlowHistogram which) const {
    const std::uint8_t slot = flow.histogram_slot[static_cast<std::size_t>(which)];
    if (slot == Flow::no_slot) return {};
    return blocks[flow.histogram_block[slot / 4u]][slot % 4u].unpack(pages);
}

void FlowStore::show(Flow& flow, EventKind kind, std::uint64_t frame, std::uint64_t value) {
    std::uint32_t* link = &flow.exhibits;
    while (*link != Flow::no_block && rows[*link].kind != kind) link = &rows[*link].next;
    if (*link == Flow::no_block) {
        const std::uint32_t fresh = rows.take();
        if (fresh == Flow::no_block) return;
        rows[fresh].kind = kind;
        *link = fresh;
    }
    ExhibitRow& row = rows[*link];
    ++row.count;
    if (row.kept < row.frames.size() && (row.kept == 0 || row.frames[row.kept - 1u] != frame))
        row.frames[row.kept++] = frame;
    row.value_max = std::max(row.value_max, value);
    row.value_sum += value;
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
    situation.messages = flow.ledger.messages();
    situation.bytes = flow.ledger.bytes();
    situation.responses = flow.ledger.responses();
    situation.messages_max = flow.ledger.messages_max();
    situation.bytes_max = flow.ledger.bytes_max();
    situation.responses_max = flow.ledger.responses_max();
    situation.freed_ns = request.freed_ns;
    situation.response_ns = request.response_ns;
    const std::uint64_t host_bytes = context.source_wire_bytes - request.sibling_bytes_then;
    situation.sibling_bytes = host_bytes > request.own_bytes_since ? host_bytes - request.own_bytes_since : 0;
    situation.paused = context.source_pauses != request.pauses_then;
    situation.link_bits_per_sec = context.source_bits_per_sec;
    situation.round_trip_min_ns = request.round_trip_min_ns == 0xffffffff ? 0 : request.round_trip_min_ns;
    const bool started = flow.attribution.started();
    const std::uint64_t longest = request.longest_gap_ns;
    flow.attribution.packet(situation, options.attribution);
    request.sibling_bytes_then = context.source_wire_bytes;
    request.own_bytes_since = situation.wire_bytes;
    request.pauses_then = context.source_pauses;
    if (started && flow.attribution.last_gap_ns() > longest && flow.attribution.last_state() >= State::rnr_wait) {
        request.longest_gap_ns = flow.attribution.last_gap_ns();
        // The frame behind the longest silence; only those that would be worth a look.
        if (request.longest_gap_ns >= 1'000'000) show(flow, EventKind::long_gap, frame, request.longest_gap_ns);
    }
}

std::size_t FlowStore::octets() const {
    return table.octets() + pages.octets() + rings.octets() + blocks.octets() + troubles.octets() + rows.octets() +
           pairing.octets();
}

}  // namespace metrics
