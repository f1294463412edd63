#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/hash.h"
#include "metrics/figures/flow_merge.h"
#include "metrics/figures/merging.h"
#include "metrics/figures/path_sums.h"
#include "metrics/figures/snapshot_fields.h"

/// Merging is commutative, and associative as far as time allows: parts of a flow that lie apart in time, or a flow
/// that ended and one that began later with the same key, must be neighbours in the order of time.
namespace metrics::inline figures {
namespace {
using fields::add;

/// Each holds everything that was known of the same attempt so far.
void merge_attempt_icmp(base::CompactOptional<IcmpFigures>& into, const base::CompactOptional<IcmpFigures>& other) {
    if (!into || !other) {
        if (other) into = other;
        return;
    }
    for (std::size_t kind = 0; kind < into->kinds.size(); ++kind) {
        IcmpFigures::Errors& mine = into->kinds[kind];
        mine.sender = one_sender(mine, other->kinds[kind]);
        mine.count = std::max(mine.count, other->kinds[kind].count);
    }
    keep_least(into->mtu, other->mtu);
}

/// The part of a life that shows whether a younger flow continues it.
struct Life {
    std::int64_t last_ns;
    bool finished;

    bool goes_on_in(const FlowSnapshot& younger) const { return younger.first_ns < last_ns || !finished; }
    void take_in(const FlowSnapshot& flow) {
        finished = flow.last_ns == last_ns  ? finished || flow.finished
                   : flow.last_ns > last_ns ? flow.finished
                                            : finished;
        last_ns = std::max(last_ns, flow.last_ns);
    }
};

struct Joined {
    std::uint64_t flows = 0;                   ///< that became part of another
    std::map<Address, std::uint64_t> senders;  ///< of these, those with data, by destination
};

std::uint64_t hash_of(const FlowSnapshot& flow) {
    std::uint64_t hash = static_cast<std::uint64_t>(flow.transport) << 8 | static_cast<std::uint64_t>(flow.service);
    for (const Address* address : {&flow.source.address, &flow.destination.address}) {
        std::array<std::uint64_t, 2> words;
        std::memcpy(words.data(), address->octets.data(), sizeof words);
        for (const std::uint64_t word : words) hash = base::mix(hash, word);
    }
    const bool tcp = flow.transport == wire::Transport::iwarp;
    return base::mix(hash, tcp ? std::uint64_t{flow.source.port.value_or(0)} << 16 | flow.destination.port.value_or(0)
                               : flow.destination.qpn.value_or(0));
}

/// The flows of two snapshots by key, and the parts of each key in the order of time. All matches are found before
/// anything is moved or mixed: flows are large, and in consecutive intervals mostly stay where they are.
class FlowMerge {
public:
    FlowMerge(std::vector<FlowSnapshot>& into, std::vector<FlowSnapshot>& other) : into_(into), other_(other) {}
    Joined run() {
        sort();
        find_heads();
        rename_reverses(into_, 0);
        rename_reverses(other_, into_.size());
        const Joined joined = join();
        gather();
        return joined;
    }

private:
    struct Part {
        std::uint64_t hash;
        std::size_t at;    ///< among both
        std::size_t head;  ///< place in parts_ of the first of its life
        std::uint64_t id;  ///< of heads: the least of all
    };
    FlowSnapshot& flow(std::size_t at) { return at < into_.size() ? into_[at] : other_[at - into_.size()]; }
    bool same_key(const Part& a, const Part& b) {
        return a.hash == b.hash && fields::key_of(flow(a.at)) == fields::key_of(flow(b.at));
    }

    void sort() {
        const std::size_t count = into_.size() + other_.size();
        parts_.reserve(count);
        for (std::size_t at = 0; at < count; ++at) parts_.push_back({hash_of(flow(at)), at, at, 0});
        std::sort(parts_.begin(), parts_.end(), [this](const Part& a, const Part& b) {
            if (a.hash != b.hash) return a.hash < b.hash;
            const auto rank = [](const FlowSnapshot& f) {
                return std::tuple(fields::key_of(f), f.first_ns, f.last_ns, f.id);
            };
            return rank(flow(a.at)) < rank(flow(b.at));
        });
    }
    void find_heads() {
        Life life{};
        std::size_t head = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const FlowSnapshot& one = flow(parts_[i].at);
            // What goes by after the end of a connection has the id of the flow that ended.
            if (i != 0 && same_key(parts_[i - 1], parts_[i]) && (life.goes_on_in(one) || one.id == parts_[head].id)) {
                life.take_in(one);
                parts_[head].id = std::min(parts_[head].id, one.id);
            } else {
                head = i;
                life = {one.last_ns, one.finished};
                parts_[i].id = one.id;
            }
            parts_[i].head = head;
        }
    }
    /// Ids that go into another, on the side that begins at `first`, ascending.
    void rename_reverses(std::vector<FlowSnapshot>& side, std::size_t first) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> renamed;
        for (const Part& part : parts_) {
            const std::uint64_t id = parts_[part.head].id;
            if (part.at < first || part.at - first >= side.size() || flow(part.at).id == id) continue;
            renamed.emplace_back(flow(part.at).id, id);
        }
        if (renamed.empty()) return;
        std::sort(renamed.begin(), renamed.end());
        for (FlowSnapshot& one : side) {
            if (!one.reverse) continue;
            const auto found = std::lower_bound(renamed.begin(), renamed.end(), *one.reverse,
                                                [](const auto& pair, std::uint64_t id) { return pair.first < id; });
            if (found != renamed.end() && found->first == *one.reverse) one.reverse = found->second;
        }
    }
    Joined join() {
        Joined joined;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (parts_[i].head == i) continue;
            FlowSnapshot& whole = flow(parts_[parts_[i].head].at);
            const FlowSnapshot& part = flow(parts_[i].at);
            ++joined.flows;
            if (whole.payload_bytes != 0 && part.payload_bytes != 0) ++joined.senders[whole.destination.address];
            merge_flow(whole, part);
        }
        return joined;
    }
    void gather() {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (parts_[i].head == i) order.push_back(i);
        // As the engine has them; the place among the parts, by key, does not depend on which side is which.
        std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
            const FlowSnapshot& one = flow(parts_[a].at);
            const FlowSnapshot& other = flow(parts_[b].at);
            return std::tie(one.id, one.source.address, a) < std::tie(other.id, other.source.address, b);
        });
        std::vector<std::size_t> heads;
        heads.reserve(order.size());
        for (const std::size_t i : order) heads.push_back(parts_[i].at);
        std::size_t in_place = 0;
        while (in_place < heads.size() && heads[in_place] == in_place && in_place < into_.size()) ++in_place;
        std::vector<FlowSnapshot> rest;
        rest.reserve(heads.size() - in_place);
        for (std::size_t i = in_place; i < heads.size(); ++i) rest.push_back(std::move(flow(heads[i])));
        into_.resize(in_place);
        into_.insert(into_.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    }

    std::vector<FlowSnapshot>& into_;
    std::vector<FlowSnapshot>& other_;
    std::vector<Part> parts_;
};

/// Workers see different pairs of hosts, hence different keys, at the same time; a later part of a capture sees the
/// same ones again.
void merge_reuse(ReuseFigures& into, const ReuseFigures& other, bool concurrent) {
    const double all = static_cast<double>(into.accesses) + static_cast<double>(other.accesses);
    if (concurrent) {
        into.distinct = add(into.distinct, other.distinct);
        into.working_set_max = add(into.working_set_max, other.working_set_max);
        into.working_set_mean += other.working_set_mean;
    } else {
        into.distinct = std::max(into.distinct, other.distinct);
        into.working_set_max = std::max(into.working_set_max, other.working_set_max);
        if (all > 0)
            into.working_set_mean = (into.working_set_mean * static_cast<double>(into.accesses) +
                                     other.working_set_mean * static_cast<double>(other.accesses)) /
                                    all;
    }
    into.accesses = add(into.accesses, other.accesses);
    for (const ReuseBin& theirs : other.bins) {
        const auto place =
            std::lower_bound(into.bins.begin(), into.bins.end(), fields::octave_of(theirs),
                             [](const ReuseBin& bin, unsigned octave) { return fields::octave_of(bin) < octave; });
        if (place == into.bins.end() || fields::octave_of(*place) != fields::octave_of(theirs)) {
            into.bins.insert(place, theirs);
            continue;
        }
        const auto weight = [](const ReuseBin& bin) { return static_cast<double>(bin.count); };
        const double both = weight(*place) + weight(theirs);
        if (both > 0) place->distance = (place->distance * weight(*place) + theirs.distance * weight(theirs)) / both;
        place->count = add(place->count, theirs.count);
        place->turnaround_ns.merge(theirs.turnaround_ns);
    }
}

void merge_host(HostSnapshot& into, const HostSnapshot& other, bool concurrent) {
    for (const auto member : fields::host_counters) into.*member = add(into.*member, other.*member);
    for (const auto member : fields::host_reuse) merge_reuse(into.*member, other.*member, concurrent);
    // The greatest rate counts, and with it whether that rate was given.
    if (other.link_bits_per_sec > into.link_bits_per_sec)
        into.link_is_learnt = other.link_is_learnt;
    else if (other.link_bits_per_sec == into.link_bits_per_sec)
        into.link_is_learnt = into.link_is_learnt && other.link_is_learnt;
    keep_greatest(into.link_bits_per_sec, other.link_bits_per_sec);
    into.senders = add(into.senders, other.senders);
    if (other.incast_senders_max == into.incast_senders_max)
        keep_first_frame(into.incast_frame, other.incast_frame);
    else if (other.incast_senders_max > into.incast_senders_max)
        into.incast_frame = other.incast_frame;
    into.incast_senders_max = std::max(into.incast_senders_max, other.incast_senders_max);
}

void merge_pause_senders(std::vector<PauseSender>& into, const std::vector<PauseSender>& other) {
    constexpr std::size_t most = 64;
    for (const PauseSender& theirs : other) {
        const auto place = std::ranges::lower_bound(into, theirs.mac, {}, &PauseSender::mac);
        if (place == into.end() || place->mac != theirs.mac) {
            if (into.size() < most) into.insert(place, theirs);
            continue;
        }
        if (theirs.host.family != wire::AddressFamily::none) {
            const bool known = place->host.family != wire::AddressFamily::none;
            place->forwards = place->forwards || (known && place->host != theirs.host);
            place->host = theirs.host;
        }
        place->forwards = place->forwards || theirs.forwards;
        if (place->forwards) place->host = {};
        if (place->frames == 0) place->first_ns = theirs.first_ns;
        if (place->frames == 0) place->last_ns = theirs.last_ns;
        if (theirs.frames > 0) {
            place->first_ns = std::min(place->first_ns, theirs.first_ns);
            place->last_ns = std::max(place->last_ns, theirs.last_ns);
        }
        place->frames = add(place->frames, theirs.frames);
        place->resume_frames = add(place->resume_frames, theirs.resume_frames);
        for (std::size_t i = 0; i < place->priority_frames.size(); ++i)
            place->priority_frames[i] = add(place->priority_frames[i], theirs.priority_frames[i]);
    }
}

void merge_pause(PauseSnapshot& into, const PauseSnapshot& other) {
    for (const auto member : fields::pause_counters) into.*member = add(into.*member, other.*member);
    for (const auto member : fields::pause_priorities)
        for (std::size_t i = 0; i < (into.*member).size(); ++i)
            (into.*member)[i] = add((into.*member)[i], (other.*member)[i]);
    if (!into.stopped_ns || !other.stopped_ns) {
        into.stopped_ns.reset();
    } else {
        into.stopped_ns->all_ns = add(into.stopped_ns->all_ns, other.stopped_ns->all_ns);
        for (std::size_t i = 0; i < 8; ++i)
            into.stopped_ns->priority_ns[i] = add(into.stopped_ns->priority_ns[i], other.stopped_ns->priority_ns[i]);
    }
    merge_frames(into.frames, other.frames, frames_per_event_summary);
    merge_pause_senders(into.senders, other.senders);
}

auto key_of(const ConnectionAttempt& attempt) {
    const auto end = [](const Endpoint& endpoint) { return std::tuple(endpoint.address, endpoint.qpn, endpoint.port); };
    return std::tuple(attempt.request_frame, attempt.request_ns, attempt.transport, end(attempt.client),
                      end(attempt.server));
}

void merge_attempt(ConnectionAttempt& into, const ConnectionAttempt& other) {
    const auto rank = [](const ConnectionAttempt& attempt) {
        // An answer is more than none, whenever it came.
        const bool answered =
            attempt.outcome != AttemptOutcome::unanswered && attempt.outcome != AttemptOutcome::unknown;
        return std::tuple(answered, attempt.end_frame, attempt.outcome, attempt.reason, attempt.by_client);
    };
    const std::uint64_t requests = add(into.requests, other.requests);
    base::CompactOptional<IcmpFigures> icmp = into.icmp;
    merge_attempt_icmp(icmp, other.icmp);
    if (rank(into) < rank(other)) into = other;
    into.requests = requests;
    into.icmp = icmp;
}

/// Both ascending in `key`; what has the same key is joined.
template <class T, class Key, class Join>
void merge_sorted(std::vector<T>& into, std::vector<T>& other, Key key, Join join) {
    std::vector<T> merged;
    merged.reserve(into.size() + other.size());
    const auto keep = [&](T&& value) {
        if (!merged.empty() && key(merged.back()) == key(value))
            join(merged.back(), value);
        else
            merged.push_back(std::move(value));
    };
    auto mine = into.begin();
    auto theirs = other.begin();
    while (mine != into.end() || theirs != other.end()) {
        if (theirs == other.end() || (mine != into.end() && !(key(*theirs) < key(*mine))))
            keep(std::move(*mine++));
        else
            keep(std::move(*theirs++));
    }
    into = std::move(merged);
}

void merge_capture(CaptureFigures& into, const CaptureFigures& other) {
    if (other.packets != 0) {
        into.first_ns = into.packets == 0 ? other.first_ns : std::min(into.first_ns, other.first_ns);
        into.last_ns = into.packets == 0 ? other.last_ns : std::max(into.last_ns, other.last_ns);
    }
    for (const auto member : fields::capture_counters) into.*member = add(into.*member, other.*member);
    for (std::size_t kind = 0; kind < into.management.size(); ++kind)
        into.management[kind] = add(into.management[kind], other.management[kind]);
    add_optional(into.kernel_dropped, other.kernel_dropped);
    into.unread.add(other.unread);
    into.copy_distance_ns.merge(other.copy_distance_ns);
}

bool at_the_same_time(const CaptureFigures& a, const CaptureFigures& b) {
    if (a.packets == 0 || b.packets == 0) return true;
    return a.first_ns < b.last_ns && b.first_ns < a.last_ns;
}
}  // namespace

void merge(Snapshot& into, const Snapshot& other) { merge(into, Snapshot(other)); }

void merge(Snapshot& into, Snapshot&& other) {
    const bool concurrent = at_the_same_time(into.capture, other.capture);
    const PartOrder order = concurrent                                        ? PartOrder::same_time
                            : into.capture.first_ns <= other.capture.first_ns ? PartOrder::other_follows
                                                                              : PartOrder::other_precedes;
    merge_capture(into.capture, other.capture);
    const Joined joined = FlowMerge(into.flows, other.flows).run();
    into.capture.flows_seen = fields::subtract(into.capture.flows_seen, joined.flows);
    merge_sorted(
        into.hosts, other.hosts, [](const HostSnapshot& host) { return host.address; },
        [concurrent](HostSnapshot& mine, const HostSnapshot& theirs) { merge_host(mine, theirs, concurrent); });
    for (HostSnapshot& host : into.hosts)
        if (const auto twice = joined.senders.find(host.address); twice != joined.senders.end())
            host.senders = fields::subtract(host.senders, twice->second);
    merge_sorted(
        into.pauses, other.pauses, [](const PauseSnapshot& pause) { return pause.interface; }, merge_pause);
    merge_sorted(
        into.attempts, other.attempts, [](const ConnectionAttempt& attempt) { return key_of(attempt); }, merge_attempt);
    merge_sorted(
        into.path_windows, other.path_windows, [](const PathWindowFigures& pair) { return pair_of(pair); },
        [order](PathWindowFigures& mine, const PathWindowFigures& theirs) { merge_windows(mine, theirs, order); });
    merge_sorted(
        into.names, other.names, [](const AddressName& name) { return name.address; },
        [order](AddressName& mine, AddressName& theirs) {
            // An address may pass from node to node: what was learnt last counts.
            if (order == PartOrder::other_precedes || (theirs.guid == mine.guid && theirs.name.empty())) return;
            mine = std::move(theirs);
        });
    into.memory_octets = add(into.memory_octets, other.memory_octets);
}

}  // namespace metrics::figures
