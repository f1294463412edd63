#include "dissect/tcp/hunter.h"

#include <algorithm>

#include "wire/crc32c.h"
#include "wire/mpa.h"

namespace dissect::tcp {

namespace {

constexpr unsigned enough_at_first = 60;
constexpr unsigned enough_when_known = 28;
constexpr unsigned disproved_for_free = 8;
constexpr unsigned evidence_of_crc = 32;
constexpr unsigned evidence_of_zero_crc = 12;  // siw writes 0 where CRCs are off
constexpr unsigned evidence_of_marker = 18;
constexpr unsigned evidence_of_segment_edge = 8;

/// CRC-32C over a stretch of the store; false where a part of it was not captured.
bool crc_over(const SegmentStore& store, std::uint32_t from, std::uint32_t to, bool missing_marker,
              std::uint32_t& crc) {
    wire::Crc32c sum;
    // A marker between FPDUs is all zero and belongs to the one after it.
    if (missing_marker) sum.update(std::array<std::byte, 4>{});
    while (from != to) {
        const auto* segment = store.find(from);
        if (segment == nullptr) return false;
        const std::uint32_t within = from - segment->sequence;
        const std::uint32_t count = std::min(to - from, segment->wire_length - within);
        if (within + count > segment->captured) return false;
        sum.update({segment->data() + within, count});
        from += count;
    }
    crc = sum.value();
    return true;
}

std::uint32_t marker_phase(std::uint32_t sequence, std::uint32_t origin) {
    return (sequence - origin) % wire::mpa_marker_interval;
}

}  // namespace

void Hunter::begin(std::uint32_t sequence) {
    skip_to(sequence);
    examined_ = 0;
    disproved_ = 0;
}

std::uint32_t Hunter::floor() const {
    std::uint32_t lowest = scan_;
    for (unsigned i = 0; i < count_; ++i)
        if (distance(candidates_[i].start, lowest) < 0) lowest = candidates_[i].start;
    return lowest;
}

bool Hunter::drop_oldest() {
    if (count_ == 0) return false;
    unsigned oldest = 0;
    for (unsigned i = 1; i < count_; ++i)
        if (distance(candidates_[i].start, candidates_[oldest].start) < 0) oldest = i;
    candidates_[oldest] = candidates_[--count_];
    return true;
}

bool Hunter::warm() const {
    return std::any_of(candidates_.begin(), candidates_.begin() + count_,
                       [](const Candidate& c) { return c.count >= 2; });
}

bool Hunter::enough(const Candidate& candidate, const HuntRules& rules) const {
    // Where markers are is a guess of 128, and small numbers that an FPDU holds look like one: the 12th message's, say.
    const bool guessed = candidate.markers && !rules.markers_known;
    if (guessed && candidate.markers_seen < (rules.hurry ? 1 : 2)) return false;
    // Without markers an FPDU chain holds beyond 512 bytes; with them it would have broken by then.
    const bool far = candidate.markers || rules.markers_known || rules.hurry ||
                     candidate.proven - candidate.start >= wire::mpa_marker_interval;
    if (rules.known_rdma && !guessed) return candidate.evidence >= enough_when_known && (far || !rules.markers_likely);
    // Bytes in which heads lie about everywhere prove less with each of them.
    const unsigned doubt = disproved_ > disproved_for_free ? 8 * (disproved_ - disproved_for_free) : 0;
    return far && candidate.evidence >= enough_at_first + doubt && (candidate.count >= 2 || candidate.crc_good);
}

Hunter::Found Hunter::found(const Candidate& candidate, const SegmentStore& store) {
    const bool certain = candidate.markers || candidate.proven - candidate.start >= wire::mpa_marker_interval;
    Found out{true, candidate.start, candidate.markers, candidate.marker_origin, certain, candidate.crc_good};
    // The marker in front belongs to the FPDU.
    std::byte marker[4];
    const bool behind_marker = candidate.markers && marker_phase(candidate.start, candidate.marker_origin) == 4;
    if (behind_marker && store.peek(candidate.start - 4, marker, 4) == 4) out.start -= 4;
    return out;
}

/// CRC of the FPDU that ends at `body_end`, once all of it has come. False where it disproves the candidate.
bool Hunter::check_body(Candidate& c, const SegmentStore& store, const HuntRules& rules) const {
    const auto* last = store.find(c.body_end - 1);
    if (last != nullptr && last->end() == c.body_end) c.evidence += evidence_of_segment_edge;
    std::byte trailer[4];
    if (store.peek(c.body_end - 4, trailer, 4) != 4) return true;
    const std::uint32_t on_wire = wire::load_crc32c(trailer);
    std::uint32_t computed = 0;
    const bool missing_marker = c.markers && marker_phase(c.next, c.marker_origin) == 4 && c.next == c.start;
    if (!rules.crc_off && crc_over(store, c.next, c.body_end - 4, missing_marker, computed)) {
        if (computed == on_wire) {
            c.evidence += evidence_of_crc;
            c.crc_good = true;
            c.proven = c.body_end;
            return true;
        }
        // Zero is what a CRC is before an adapter fills it in: no proof, and no disproof either.
        if ((rules.crc_on && on_wire != 0) || c.crc_good) return false;
    }
    if (on_wire == 0) c.evidence += evidence_of_zero_crc;
    return true;
}

/// The markers within the open FPDU, as far as they have come. False on a wrong one.
bool Hunter::check_markers(Candidate& c, const SegmentStore& store, std::uint32_t run_end) const {
    const std::uint32_t head_at = c.next + (marker_phase(c.next, c.marker_origin) == 0 ? 4u : 0u);
    for (; distance(c.marker_next, c.body_end) < 0 && distance(c.marker_next + 4, run_end) <= 0;
         c.marker_next += wire::mpa_marker_interval) {
        std::byte marker[4];
        if (store.peek(c.marker_next, marker, 4) != 4) continue;
        if (base::load_be32(marker) != c.marker_next - head_at) return false;
        ++c.markers_seen;
        c.evidence += evidence_of_marker;
    }
    return true;
}

/// No more bytes for now: if none will come at all, the decision uses what there is.
Hunter::Step Hunter::waiting(const Candidate& candidate, const HuntRules& rules) const {
    return rules.hurry && enough(candidate, rules) ? Step::found : Step::wait;
}

/// Reads heads from `next` on for as long as there are bytes.
Hunter::Step Hunter::follow(Candidate& c, const SegmentStore& store, const HuntRules& rules,
                            std::uint32_t run_end) const {
    for (;;) {
        if (c.open) {
            if (c.markers && !check_markers(c, store, run_end)) return Step::dead;
            if (distance(c.body_end, run_end) > 0) return waiting(c, rules);
            if (!check_body(c, store, rules)) return Step::dead;
            c.open = false;
            c.next = c.body_end;
            if (enough(c, rules)) return Step::found;
        }
        const std::uint32_t phase = c.markers ? marker_phase(c.next, c.marker_origin) : wire::mpa_marker_interval;
        const std::uint32_t lead = phase == 0 ? wire::mpa_marker_size : 0;
        std::byte octets[FpduHead::longest + 4];
        std::uint32_t there = store.peek(c.next, octets, sizeof octets);
        const bool more_to_come = c.next + there == run_end;
        if (lead != 0 && there >= 4 && (base::load_be32(octets) & 0xffff) != 0) return Step::dead;
        if (there < lead + FpduHead::shortest) return more_to_come ? waiting(c, rules) : Step::dead;
        // A marker may stand within the head.
        const std::uint32_t ahead = lead != 0 ? sizeof octets : wire::mpa_marker_interval - phase;
        if (c.markers && ahead + 4 <= there && ahead < FpduHead::longest) {
            std::copy(octets + ahead + 4, octets + there, octets + ahead);
            there -= 4;
        } else if (c.markers && ahead < there) {
            there = ahead;
        }
        FpduHead head;
        const std::uint32_t size = std::min(there - lead, FpduHead::longest);
        if (size < FpduHead::longest && more_to_come) return waiting(c, rules);
        const unsigned evidence = read_head(octets + lead, size, head);
        if (evidence == 0) return Step::dead;
        c.evidence += evidence + continuity(c.count == 0 ? rules.before : c.last, head);
        c.last = head;
        c.proven = c.next;
        ++c.count;
        const std::uint32_t fpdu = wire::mpa_fpdu_size(head.ulpdu_length);
        c.body_end = c.next + fpdu + (c.markers ? wire::mpa_marker_size * wire::mpa_markers(fpdu, phase) : 0);
        c.open = true;
        c.marker_next = c.next + (phase == 0 ? wire::mpa_marker_interval : wire::mpa_marker_interval - phase);
        if (enough(c, rules) && !rules.crc_on) return Step::found;
    }
}

/// An FPDU chain that breaks may have broken on a marker: tries all the places a marker can have, in steps of four.
Hunter::Step Hunter::try_markers(Candidate& c, const SegmentStore& store, const HuntRules& rules,
                                 std::uint32_t run_end) const {
    Step best_step = Step::dead;
    Candidate best;
    for (std::uint32_t offset = 4; offset < wire::mpa_marker_interval + 4; offset += 4) {
        Candidate trial;
        trial.start = trial.next = trial.proven = c.start;
        trial.markers = true;
        trial.marker_origin = c.start + offset;
        trial.evidence = 0;
        const Step result = follow(trial, store, rules, run_end);
        if (result == Step::dead || trial.markers_seen == 0) continue;
        if (best_step == Step::dead || trial.evidence > best.evidence) {
            best = trial;
            best_step = result;
        }
    }
    if (best_step != Step::dead) c = best;
    return best_step;
}

Hunter::Step Hunter::step(Candidate& c, const SegmentStore& store, const HuntRules& rules,
                          std::uint32_t run_end) const {
    if (!c.broken) {
        const Step result = follow(c, store, rules, run_end);
        if (result != Step::dead || rules.markers_known || c.markers || c.count == 0) return result;
        c.broken = true;
    }
    const Step result = try_markers(c, store, rules, run_end);
    // Two marker intervals and a head: by then one has been seen if there are any.
    constexpr std::uint32_t enough_to_see = 2 * wire::mpa_marker_interval + FpduHead::longest;
    return result == Step::dead && !rules.hurry && run_end - c.start < enough_to_see ? Step::wait : result;
}

Hunter::Step Hunter::consider(std::uint32_t at, const SegmentStore& store, const HuntRules& rules,
                              std::uint32_t run_end) {
    Candidate fresh;
    fresh.start = fresh.next = fresh.proven = at;
    fresh.markers = rules.markers_known && rules.markers;
    fresh.marker_origin = rules.marker_origin;
    const auto* segment = store.find(at);
    const std::uint32_t lead = fresh.markers && marker_phase(at, rules.marker_origin) == 4 ? 4 : 0;
    if (segment != nullptr && segment->sequence + lead == at) fresh.evidence += evidence_of_segment_edge;
    const Step result = step(fresh, store, rules, run_end);
    if (result != Step::dead)
        candidates_[count_++] = fresh;
    else if (fresh.count != 0)
        ++disproved_;
    return result;
}

/// Looks for heads byte by byte.
Hunter::Found Hunter::scan(const SegmentStore& store, const HuntRules& rules, std::uint32_t run_end) {
    while (distance(scan_, run_end) < 0 && count_ < candidates_.size()) {
        const auto* segment = store.find(scan_);
        if (segment == nullptr) break;
        const std::uint32_t within = scan_ - segment->sequence;
        if (within >= segment->captured) {
            examined_ += segment->end() - scan_;
            scan_ = segment->end();
            continue;
        }
        const std::byte* p = segment->data() + within;
        const std::uint32_t there = segment->captured - within;
        bool likely = true;
        if (there >= FpduHead::shortest)
            likely = (p[2] & std::byte{0x3f}) == std::byte{1} && (p[3] & std::byte{0xf0}) == std::byte{0x40};
        // The last bytes of the run may begin a head that has not come yet.
        const bool cut =
            there < FpduHead::longest && !segment->holed() && distance(scan_ + FpduHead::longest, run_end) > 0;
        if (cut && likely) break;
        if (likely && consider(scan_, store, rules, run_end) == Step::found)
            return found(candidates_[count_ - 1], store);
        ++scan_;
        ++examined_;
    }
    return {};
}

Hunter::Found Hunter::advance(const SegmentStore& store, const HuntRules& rules) {
    const std::uint32_t run_end = store.run_end();
    if (store.empty()) return {};
    for (unsigned i = 0; i < count_;) {
        const Step result = step(candidates_[i], store, rules, run_end);
        if (result == Step::found) return found(candidates_[i], store);
        if (result == Step::dead) {
            candidates_[i] = candidates_[--count_];
            ++disproved_;
        } else {
            ++i;
        }
    }
    return scan(store, rules, run_end);
}

}  // namespace dissect::tcp
