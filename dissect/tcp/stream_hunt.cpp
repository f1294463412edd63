#include <algorithm>

#include "dissect/tcp/stream_table.h"

/// The search for an FPDU boundary, from its beginning to the bytes in which none was found.
namespace dissect::tcp {

namespace {
constexpr std::uint64_t hunt_limit = 1 << 18;          // bytes looked at before a connection is left alone
constexpr std::uint64_t known_hunt_limit = 16u << 20;  // the same for one that was in step
}  // namespace

void StreamTable::begin_hunt(Work& work, std::uint32_t sequence) {
    if (work.side().flow == nullptr) begin_flow(work, sequence, Expect::fpdu);
    if (work.side().flow == nullptr) return;
    Flow& flow = work.flow();
    work.side().state = SideState::hunting;
    flow.expect = Expect::fpdu;
    flow.hunt_start = sequence;
    flow.hunt_lost = 0;
    flow.begin_hunt().begin(sequence);
}

/// Whether the stream continues with a piece that is far from everything that has come of it.
bool StreamTable::moves(Work& work, const Piece& piece) const {
    Side& side = work.side();
    const std::uint32_t expected =
        side.state == SideState::hunting ? side.flow->hunter.scanned() : side.flow->next_sequence;
    std::optional<std::uint32_t> acknowledged;
    if (work.other().ack_seen) acknowledged = work.other().acknowledged;
    return side.elsewhere.takes(piece.sequence, piece.end(), expected, acknowledged) &&
           !dropped_by_receiver(side, work.arrival);
}

void StreamTable::move(Work& work, const Piece& piece) {
    flush(work);
    if (work.side().flow == nullptr) return;
    Flow& flow = work.flow();
    flow.store.clear(pool_);
    flow.crc = CrcMode::unknown;
    flow.markers = flow.markers_known = flow.markers_likely = flow.first_fpdu = flow.was_in_step = false;
    flow.suspicious = flow.crc_misses = 0;
    work.other().ack_seen = false;
    begin_hunt(work, piece.sequence);
    notice(work, Notice::Kind::stream_gap, 0);
    hunt_in(work, piece);
}

void StreamTable::hunt_in(Work& work, const Piece& piece) {
    if (dropped_by_receiver(work.side(), work.arrival))
        return notice(work, Notice::Kind::tcp_checksum_wrong, piece.wire_length);
    Piece fresh = piece;
    Flow& flow = work.flow();
    const std::uint32_t from = flow.hunter.floor();
    const std::int32_t before = distance(from, fresh.sequence);
    if (before > 0) fresh.drop(std::min(fresh.wire_length, static_cast<std::uint32_t>(before)));
    if (fresh.wire_length == 0) return;
    keep(work, fresh);
    settle(work, false);
}

/// Passes over bytes that were never captured while a boundary is looked for.
void StreamTable::hunt_behind_gap(Work& work, std::uint32_t from, const SegmentStore::Segment* to) {
    Flow& flow = work.flow();
    const std::uint32_t octets = to->sequence - from;
    counters_.stream_octets_lost += octets;
    flow.hunt_lost += octets;
    notice(work, Notice::Kind::stream_gap, octets);
    while (flow.store.head() != to) flow.store.drop_head(pool_);
    flow.hunter.skip_to(to->sequence);
}

bool StreamTable::settle_hunt(Work& work, bool forced) {
    Flow& flow = work.flow();
    const SegmentStore::Segment* head = flow.store.head();
    if (distance(head->sequence, flow.hunter.scanned()) > 0) {
        if (!forced && !gap_is_lost(work, head->sequence)) return false;
        hunt_behind_gap(work, flow.hunter.scanned(), head);
        return true;
    }
    const SegmentStore::Segment* beyond = flow.store.behind_run();
    const bool cut = beyond != nullptr && (forced || gap_is_lost(work, beyond->sequence));
    const bool known = flow.was_in_step || work.connection.mpa;
    const HuntRules rules{known,
                          flow.markers_known,
                          flow.markers_likely,
                          flow.markers,
                          flow.marker_origin,
                          flow.crc == CrcMode::on,
                          flow.crc == CrcMode::off,
                          cut || forced,
                          flow.was_in_step ? flow.last_head.read() : FpduHead{}};
    const Hunter::Found found = flow.hunter.advance(flow.store, rules);
    if (found.any) {
        lock(work, found);
        return true;
    }
    if (cut) {
        hunt_behind_gap(work, flow.store.run_end(), beyond);
        return true;
    }
    while (!flow.store.empty() && distance(flow.store.head()->end(), flow.hunter.floor()) <= 0)
        flow.store.drop_head(pool_);
    if (flow.hunter.examined_octets() > (known ? known_hunt_limit : hunt_limit) && !flow.hunter.warm()) {
        if (known) notice(work, Notice::Kind::stream_not_rdma, flow.hunter.examined_octets());
        give_up(work);
        return false;
    }
    return flow.store.held_bytes() > short_wait_bytes() && flow.hunter.drop_oldest();
}

/// An FPDU boundary has been found.
void StreamTable::lock(Work& work, const Hunter::Found& found) {
    Flow& flow = work.flow();
    const std::uint32_t skipped = found.start - flow.hunt_start - flow.hunt_lost;
    if (skipped != 0) {
        counters_.stream_octets_skipped += skipped;
        notice(work, Notice::Kind::stream_skipped, skipped);
    }
    while (!flow.store.empty() && distance(flow.store.head()->end(), found.start) <= 0) flow.store.drop_head(pool_);
    flow.next_sequence = found.start;
    flow.markers = found.markers;
    // A second search decides: it must not find what was left for it, over and over.
    flow.markers_known = flow.markers_known || found.markers_certain || flow.markers_likely;
    flow.marker_origin = flow.markers_known ? found.marker_origin : found.start;
    flow.heads_without_markers = 0;
    flow.first_fpdu = false;
    flow.suspicious = 0;
    flow.was_in_step = true;
    flow.end_hunt();
    if (found.crc_good && flow.crc == CrcMode::unknown) flow.crc = CrcMode::on;
    work.side().state = SideState::in_step;
    work.connection.mpa = true;
    if (work.other().state == SideState::ignored) work.other().state = SideState::unseen;
}

/// Nothing more is looked for in what was searched without success.
void StreamTable::leave_unread(Work& work) {
    Flow& flow = work.flow();
    const std::uint32_t end = flow.store.empty() ? flow.hunter.scanned() : flow.store.tail()->end();
    const std::uint32_t octets = end - flow.hunt_start - flow.hunt_lost;
    flow.store.clear(pool_);
    begin_hunt(work, end);
    if (octets == 0 || !work.connection.mpa) return;
    counters_.stream_octets_skipped += octets;
    notice(work, Notice::Kind::stream_unread, octets);
}

}  // namespace dissect::tcp
