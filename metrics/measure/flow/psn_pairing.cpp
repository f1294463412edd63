#include "metrics/measure/flow/psn_pairing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <vector>

#include "base/hash.h"
#include "base/zeroed_array.h"
#include "metrics/measure/flow/slab.h"

namespace metrics::inline measure::inline flow {

namespace {

constexpr std::uint32_t psn_mask = 0xffffff;
constexpr double psn_space = 1 << 24;
constexpr std::uint32_t least_reach = 1024;
constexpr std::uint32_t most_reach = 1 << 20;
constexpr std::uint32_t reads_outstanding = 16;
constexpr std::uint32_t max_age_ms = 4000;
constexpr unsigned ways = 4;
constexpr std::uint32_t no_record = 0xffffffff;

/// The flows of one service that lead from one host to another.
std::uint64_t direction_of(const Address& source, const Address& destination, const FlowKey& key) {
    const std::uint64_t kind = std::uint64_t{static_cast<std::uint8_t>(key.transport)} << 8 |
                               static_cast<std::uint64_t>(static_cast<std::uint8_t>(key.service));
    return base::mix(mix(mix(kind, source), destination), kind) | 1;
}

std::uint32_t distance(std::uint32_t from, std::uint32_t to) { return (to - from) & psn_mask; }

/// A request packet. `generation` 0 is an empty place.
struct Entry {
    FlowIndex flow;
    std::uint32_t generation;
    std::uint32_t psn : 24;
    std::uint32_t replaced : 8;  ///< a packet of this PSN from another flow was replaced
    std::uint32_t time_ms;
};
static_assert(sizeof(Entry) == 16);
using Set = std::array<Entry, ways>;

struct Candidate {
    FlowIndex flow = no_flow;
    std::uint32_t generation = 0;
    std::uint16_t hits = 0;    ///< answers that name a PSN that it has sent
    std::uint16_t misses = 0;  ///< answers that name one that it cannot have sent

    bool lost() const { return misses >= 2 && misses * 4u >= hits + std::uint32_t{misses}; }
};

struct Record {
    std::uint32_t generation = 1;  ///< grows whenever the index is given back
    std::uint32_t selector = 0;    ///< of the key, to notice that the index was used again
    std::uint32_t direction = no_record;
    std::uint32_t opposite = no_record;
    // As a requester
    std::uint32_t newest = 0;  ///< highest PSN asked for
    std::uint32_t span = 0;    ///< PSNs up to it that answers may name; 0 = no request yet
    std::uint32_t reach = least_reach;
    FlowIndex claimed_by = no_flow;  ///< the flow with the best claim to be the other half
    std::uint32_t claim_generation = 0;
    // As an answerer
    std::uint32_t last_psn = no_record;
    std::uint16_t answers = 0;  ///< distinct ones that some candidate could have asked for
    std::uint8_t candidate_count = 0;
    std::uint32_t candidate_block = no_record;  ///< in State::candidates, once there is one
};

struct RecordedDirection {
    std::uint64_t hash = 0;
    std::uint32_t users = 0;        ///< records that refer to it
    std::uint64_t covered = 0;      ///< PSNs in the windows of its requesters
    std::uint32_t answers = 0;      ///< towards its requesters, lately
    std::uint32_t overlapping = 0;  ///< of them, those with more than one candidate
};

}  // namespace

struct PsnPairing::State {
    explicit State(std::size_t max_requests)
        : sets(std::bit_ceil(std::max<std::size_t>(max_requests / ways, 16))), slots(64, no_record) {}

    base::ZeroedArray<Set> sets;  ///< zero: empty places
    std::deque<Record> records;   ///< by flow index
    Slab<std::array<Candidate, 4>> candidates{no_record - 1};
    std::vector<RecordedDirection> directions;
    std::vector<std::uint32_t> free_directions;
    std::vector<std::uint32_t> slots;  ///< of directions, open addressing
    std::size_t used_directions = 0;

    Set& set_of(std::uint32_t direction, std::uint32_t psn) {
        return sets[base::mix(std::uint64_t{direction} << 24 | psn, 0) >> 20 & (sets.size() - 1)];
    }

    Record& record_of(FlowIndex flow, const FlowKey& key) {
        if (flow >= records.size()) [[unlikely]]
            records.resize(flow + std::size_t{1});
        Record& record = records[flow];
        if (record.selector != key.selector) [[unlikely]] {
            clear(record);
            record.selector = key.selector;
        }
        return record;
    }
    Record* live(FlowIndex flow, std::uint32_t generation) {
        return flow < records.size() && records[flow].generation == generation ? &records[flow] : nullptr;
    }

    std::uint32_t enter(std::uint64_t hash);
    void leave(std::uint32_t& direction);
    void rehash();
    void clear(Record& record);

    void advance(Record& record, std::uint32_t psn, std::uint32_t psns);
    void insert(std::uint32_t direction, FlowIndex flow, std::uint32_t generation, std::uint32_t psn,
                std::uint32_t time_ms);
    bool within(const Record& requester, std::uint32_t psn) const {
        return distance(psn, requester.newest) < requester.span;
    }
    struct Found {
        std::array<FlowIndex, ways> flows;
        unsigned count = 0;
        bool incomplete = false;  ///< there may be more flows
    };
    Found find(FlowIndex flow, const Record& answerer, std::uint32_t psn, std::uint32_t time_ms);
    void note_overlap(std::uint32_t direction, bool overlapping) {
        RecordedDirection& d = directions[direction];
        if (++d.answers >= 4096) {
            d.answers /= 2;
            d.overlapping /= 2;
        }
        d.overlapping += overlapping;
    }
    void weigh(Record& answerer, std::uint32_t psn, const FlowIndex* found, unsigned count);
    void join(Record& answerer, FlowIndex flow);
    Finding decide(FlowIndex flow, Record& answerer);
    double confidence(const Record& answerer, const Candidate& best) const;
};

std::uint32_t PsnPairing::State::enter(std::uint64_t hash) {
    const std::size_t mask = slots.size() - 1;
    std::size_t i = hash >> 8 & mask;
    for (; slots[i] != no_record; i = (i + 1) & mask)
        if (directions[slots[i]].hash == hash) {
            ++directions[slots[i]].users;
            return slots[i];
        }
    std::uint32_t index = 0;
    if (free_directions.empty()) {
        index = static_cast<std::uint32_t>(directions.size());
        directions.emplace_back();
    } else {
        index = free_directions.back();
        free_directions.pop_back();
    }
    directions[index] = {hash, 1, 0, 0, 0};
    slots[i] = index;
    if (++used_directions * 2 > slots.size()) rehash();
    return index;
}

void PsnPairing::State::rehash() {
    std::vector<std::uint32_t> old(slots.size() * 2, no_record);
    old.swap(slots);
    const std::size_t mask = slots.size() - 1;
    for (const std::uint32_t index : old) {
        if (index == no_record) continue;
        std::size_t i = directions[index].hash >> 8 & mask;
        while (slots[i] != no_record) i = (i + 1) & mask;
        slots[i] = index;
    }
}

void PsnPairing::State::leave(std::uint32_t& direction) {
    if (direction == no_record) return;
    const std::uint32_t index = direction;
    direction = no_record;
    if (--directions[index].users != 0) return;
    const std::size_t mask = slots.size() - 1;
    std::size_t hole = directions[index].hash >> 8 & mask;
    while (slots[hole] != index) hole = (hole + 1) & mask;
    // Closes the gap in the probe sequence instead of leaving a tombstone.
    for (std::size_t i = (hole + 1) & mask; slots[i] != no_record; i = (i + 1) & mask) {
        const std::size_t home = directions[slots[i]].hash >> 8 & mask;
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        slots[hole] = slots[i];
        hole = i;
    }
    slots[hole] = no_record;
    free_directions.push_back(index);
    --used_directions;
}

void PsnPairing::State::clear(Record& record) {
    if (record.direction != no_record) directions[record.direction].covered -= record.span;
    leave(record.direction);
    leave(record.opposite);
    if (record.candidate_block != no_record) candidates.give_back(record.candidate_block);
    const std::uint32_t generation = record.generation + 1;
    record = {};
    record.generation = generation == 0 ? 1 : generation;
}

/// Moves the window of what answers may name. A PSN far from it is a queue pair that started over.
void PsnPairing::State::advance(Record& record, std::uint32_t psn, std::uint32_t psns) {
    const std::uint32_t last = (psn + psns - 1) & psn_mask;
    record.reach = std::max(record.reach, std::min(psns * reads_outstanding, most_reach));
    const std::uint32_t before = record.span;
    const std::uint32_t ahead = distance(record.newest, last);
    if (record.span == 0 || (ahead > most_reach && distance(last, record.newest) > record.reach)) {
        record.span = std::min(psns, record.reach);
        record.newest = last;
    } else if (ahead <= most_reach) {
        record.span = std::min(record.span + ahead, record.reach);
        record.newest = last;
    }
    RecordedDirection& direction = directions[record.direction];
    direction.covered = direction.covered + record.span - before;
}

void PsnPairing::State::insert(std::uint32_t direction, FlowIndex flow, std::uint32_t generation, std::uint32_t psn,
                               std::uint32_t time_ms) {
    Set& set = set_of(direction, psn);
    Entry* place = set.data();
    std::uint32_t oldest = 0;
    for (Entry& entry : set) {
        if (entry.generation == 0 || (entry.flow == flow && entry.psn == psn)) {
            place = &entry;
            break;
        }
        // The difference is modular: a time that lies ahead is as useless as an old one.
        const std::uint32_t age = time_ms - entry.time_ms;
        if (age >= oldest) {
            oldest = age;
            place = &entry;
        }
    }
    const bool same_psn = place->generation != 0 && place->psn == psn;
    const bool replaced = same_psn && (place->replaced != 0 || place->flow != flow);
    *place = {flow, generation, psn & psn_mask, replaced, time_ms};
}

/// The flows of the opposite direction that have sent this PSN lately.
PsnPairing::State::Found PsnPairing::State::find(FlowIndex flow, const Record& answerer, std::uint32_t psn,
                                                 std::uint32_t time_ms) {
    Found found;
    for (const Entry& entry : set_of(answerer.opposite, psn)) {
        if (entry.psn != psn || entry.generation == 0) continue;
        const std::uint32_t age = time_ms - entry.time_ms;
        if (age > max_age_ms && 0u - age > max_age_ms) continue;
        found.incomplete = found.incomplete || entry.replaced != 0;
        const Record* requester = live(entry.flow, entry.generation);
        if (requester == nullptr || requester->direction != answerer.opposite || entry.flow == flow) continue;
        if (within(*requester, psn)) found.flows[found.count++] = entry.flow;
    }
    return found;
}

void PsnPairing::State::join(Record& answerer, FlowIndex flow) {
    Candidate* place = nullptr;
    if (answerer.candidate_block == no_record) answerer.candidate_block = candidates.take();
    std::array<Candidate, 4>& known = candidates[answerer.candidate_block];
    if (answerer.candidate_count < known.size()) {
        place = &known[answerer.candidate_count++];
    } else {
        place = &*std::max_element(known.begin(), known.end(), [](const Candidate& a, const Candidate& b) {
            return a.misses * (b.hits + 1) < b.misses * (a.hits + 1);
        });
        if (!place->lost()) return;
    }
    // It could have been named before and was not; whether it had been captured by then is not known.
    const std::uint16_t missed = std::min<std::uint16_t>(answerer.answers, 2);
    *place = {flow, records[flow].generation, 1, missed};
}

void PsnPairing::State::weigh(Record& answerer, std::uint32_t psn, const FlowIndex* found, unsigned count) {
    std::array<bool, ways> known{};
    unsigned kept = 0;
    for (unsigned i = 0; i < answerer.candidate_count; ++i) {
        Candidate candidate = candidates[answerer.candidate_block][i];
        const Record* requester = live(candidate.flow, candidate.generation);
        if (requester == nullptr) continue;
        const FlowIndex* const hit = std::find(found, found + count, candidate.flow);
        if (hit != found + count) {
            known[static_cast<std::size_t>(hit - found)] = true;
            ++candidate.hits;
        } else if (!within(*requester, psn)) {
            ++candidate.misses;
        }
        if (candidate.hits + candidate.misses > 60000) {
            candidate.hits /= 2;
            candidate.misses /= 2;
        }
        candidates[answerer.candidate_block][kept++] = candidate;
    }
    answerer.candidate_count = static_cast<std::uint8_t>(kept);
    for (unsigned i = 0; i < count; ++i)
        if (!known[i]) join(answerer, found[i]);
    if (count != 0 && answerer.answers != 0xffff) ++answerer.answers;
}

/// One answer may be a coincidence, or the frame that it answers was not captured. Further ones confirm it, but not
/// independently: two windows that overlap once go on to overlap.
double PsnPairing::State::confidence(const Record& answerer, const Candidate& best) const {
    const RecordedDirection& direction = directions[answerer.opposite];
    const double overlap = 2 * static_cast<double>(direction.covered) / psn_space;
    const double seen = direction.answers < 16 ? 0 : double(direction.overlapping) / double(direction.answers);
    const double doubt = std::min(1.0, std::max(overlap, seen));
    if (best.hits == 1) return 0.9 * (1 - doubt);
    double error = doubt;
    for (unsigned i = 2; i < best.hits && error > 1e-4; ++i) error *= 0.1;
    return 1 - std::max(error, 1e-4);
}

PsnPairing::Finding PsnPairing::State::decide(FlowIndex flow, Record& answerer) {
    const Candidate* best = nullptr;
    for (unsigned i = 0; i < answerer.candidate_count; ++i) {
        const Candidate& candidate = candidates[answerer.candidate_block][i];
        if (candidate.lost()) continue;
        if (best != nullptr) return {};
        best = &candidate;
    }
    if (best == nullptr || best->misses * 2u >= best->hits) return {};
    // A queue pair has one other half.
    Record& requester = records[best->flow];
    if (requester.claimed_by != flow) {
        const Record* rival = live(requester.claimed_by, requester.claim_generation);
        if (rival != nullptr)
            for (unsigned i = 0; i < rival->candidate_count; ++i) {
                const Candidate& claim = candidates[rival->candidate_block][i];
                if (claim.flow == best->flow && !claim.lost() && claim.hits * 4u > best->hits) return {};
            }
        requester.claimed_by = flow;
        requester.claim_generation = answerer.generation;
    }
    return {best->flow, confidence(answerer, *best)};
}

PsnPairing::PsnPairing(std::size_t max_requests) : state_(std::make_unique<State>(max_requests)) {}
PsnPairing::~PsnPairing() = default;

namespace {
std::uint32_t to_ms(std::int64_t now_ns) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(now_ns) / 1'000'000);
}
}  // namespace

void PsnPairing::request(const FlowKey& key, FlowIndex flow, std::uint32_t psn, std::uint32_t psns,
                         std::int64_t now_ns) {
    if (flow == no_flow) return;
    Record& record = state_->record_of(flow, key);
    if (record.direction == no_record) [[unlikely]]
        record.direction = state_->enter(direction_of(key.source, key.destination, key));
    psns = std::clamp<std::uint32_t>(psns, 1, psn_mask / 2);
    psn &= psn_mask;
    state_->advance(record, psn, psns);
    const std::uint32_t time_ms = to_ms(now_ns);
    // The first responses, and the last ones, name a READ well enough.
    constexpr std::uint32_t ends = 4;
    for (std::uint32_t i = 0; i < psns; ++i) {
        if (i == ends && psns > 2 * ends) i = psns - ends;
        state_->insert(record.direction, flow, record.generation, (psn + i) & psn_mask, time_ms);
    }
}

PsnPairing::Finding PsnPairing::answer(const FlowKey& key, FlowIndex flow, std::uint32_t psn, std::int64_t now_ns) {
    if (flow == no_flow) return {};
    Record& record = state_->record_of(flow, key);
    if (record.opposite == no_record) [[unlikely]]
        record.opposite = state_->enter(direction_of(key.destination, key.source, key));
    psn &= psn_mask;
    if (record.last_psn != psn) {
        const State::Found found = state_->find(flow, record, psn, to_ms(now_ns));
        if (found.count == 0 && record.candidate_count == 0) return {};
        if (found.count != 0) state_->note_overlap(record.opposite, found.count > 1 || found.incomplete);
        record.last_psn = psn;
        // Where more flows have sent this PSN than are remembered, it speaks against those that have not only.
        state_->weigh(record, psn, found.flows.data(), found.incomplete ? 0 : found.count);
    }
    return state_->decide(flow, record);
}

void PsnPairing::forget(const FlowKey&, FlowIndex flow) {
    if (flow < state_->records.size()) state_->clear(state_->records[flow]);
}

std::size_t PsnPairing::octets() const {
    return sizeof(State) + state_->sets.size() * sizeof(Set) + state_->records.size() * sizeof(Record) +
           state_->candidates.octets() + state_->directions.capacity() * sizeof(RecordedDirection) +
           (state_->slots.capacity() + state_->free_directions.capacity()) * sizeof(std::uint32_t);
}

}  // namespace metrics::measure::flow
