#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/hash.h"
#include "metrics/figures/path_sums.h"
#include "metrics/figures/snapshot_fields.h"

/// Merging is commutative, and associative as far as time allows: parts of a flow that lie apart in time, or a flow
/// that ended and one that began later with the same key, must be neighbours in the order of time. Optional values that
/// are not counters are therefore joined by least or greatest, never by order.
namespace metrics::inline figures {
namespace {
using fields::add;

constexpr std::size_t frames_per_event_summary = 4;

template <class T>
void keep_least(std::optional<T>& into, const std::optional<T>& other) {
    if (other) into = into ? std::min(*into, *other) : *other;
}
template <class T>
void keep_greatest(std::optional<T>& into, const std::optional<T>& other) {
    if (other) into = into ? std::max(*into, *other) : *other;
}
void add_optional(std::optional<std::uint64_t>& into, const std::optional<std::uint64_t>& other) {
    if (other) into = add(into.value_or(0), *other);
}
/// Numbers of frames, 0 = none.
void keep_first_frame(std::uint64_t& into, std::uint64_t other) {
    if (into == 0 || (other != 0 && other < into)) into = other;
}
void merge_frames(std::vector<std::uint64_t>& into, const std::vector<std::uint64_t>& other, std::size_t most) {
    into.insert(into.end(), other.begin(), other.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
    if (into.size() > most) into.resize(most);
}

void merge_endpoint(Endpoint& into, const Endpoint& other) {
    keep_least(into.qpn, other.qpn);
    keep_least(into.port, other.port);
}

void merge_pairing(FlowSnapshot& into, const FlowSnapshot& other) {
    const auto rank = [](const FlowSnapshot& flow) {
        return std::tuple(flow.reverse.has_value(), flow.pairing.confidence, flow.pairing.method,
                          ~flow.reverse.value_or(0));
    };
    if (rank(into) >= rank(other)) return;
    into.reverse = other.reverse;
    into.pairing = other.pairing;
}

void merge_recovery(RecoveryFigures& into, const RecoveryFigures& other) {
    into.count = add(into.count, other.count);
    for (const auto member : fields::recovery_histograms) (into.*member).merge(other.*member);
}

void merge_connection(ConnectionFigures& into, const ConnectionFigures& other) {
    keep_first_frame(into.setup_frame, other.setup_frame);
    keep_least(into.setup_ns, other.setup_ns);
    keep_least(into.initiator_depth, other.initiator_depth);
    keep_least(into.responder_resources, other.responder_resources);
    keep_least(into.path_mtu, other.path_mtu);
    keep_least(into.ack_timeout_ns, other.ack_timeout_ns);
    keep_least(into.retry_count, other.retry_count);
    keep_least(into.rnr_retry_count, other.rnr_retry_count);
    keep_least(into.starting_psn, other.starting_psn);
    keep_least(into.mpa_revision, other.mpa_revision);
    keep_least(into.mpa_crc, other.mpa_crc);
    keep_least(into.mpa_markers, other.mpa_markers);
    keep_first_frame(into.refused_peer_to_peer_frame, other.refused_peer_to_peer_frame);
    keep_least(into.service_id, other.service_id);
    if (std::tie(into.end_frame, into.end) < std::tie(other.end_frame, other.end)) {
        into.end_frame = other.end_frame;
        into.end = other.end;
        into.end_kind = other.end_kind;
        into.end_ns = other.end_ns;
    }
}

void merge_tcp(base::CompactOptional<TcpFigures>& into, const base::CompactOptional<TcpFigures>& other) {
    if (!other) return;
    if (!into) {
        into = other;
        return;
    }
    for (const auto member : fields::tcp_counters) (*into).*member = add((*into).*member, (*other).*member);
    into->round_trip_ns.merge(other->round_trip_ns);
    keep_least(into->handshake_ns, other->handshake_ns);
    keep_least(into->mss, other->mss);
    keep_least(into->receive_window_min, other->receive_window_min);
    keep_greatest(into->receive_window_max, other->receive_window_max);
    into->fpdu_bytes_max = std::max(into->fpdu_bytes_max, other->fpdu_bytes_max);
}

/// The same one whichever is merged into the other.
Address one_sender(const IcmpFigures::Errors& one, const IcmpFigures::Errors& other) {
    if (one.count == 0) return other.sender;
    return other.count == 0 ? one.sender : std::min(one.sender, other.sender);
}

void merge_icmp(base::CompactOptional<IcmpFigures>& into, const base::CompactOptional<IcmpFigures>& other) {
    if (!other) return;
    if (!into) {
        into = other;
        return;
    }
    for (std::size_t kind = 0; kind < into->kinds.size(); ++kind) {
        IcmpFigures::Errors& mine = into->kinds[kind];
        const IcmpFigures::Errors& theirs = other->kinds[kind];
        mine.sender = one_sender(mine, theirs);
        mine.count = add(mine.count, theirs.count);
    }
    keep_least(into->mtu, other->mtu);
}

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

void merge_event_summaries(std::vector<EventSummary>& into, const std::vector<EventSummary>& other) {
    for (const EventSummary& theirs : other) {
        const auto place = std::lower_bound(into.begin(), into.end(), theirs.kind,
                                            [](const EventSummary& mine, EventKind kind) { return mine.kind < kind; });
        if (place == into.end() || place->kind != theirs.kind) {
            into.insert(place, theirs);
            continue;
        }
        place->count = add(place->count, theirs.count);
        merge_frames(place->frames, theirs.frames, frames_per_event_summary);
        place->value_max = std::max(place->value_max, theirs.value_max);
        place->value_sum = add(place->value_sum, theirs.value_sum);
    }
}

/// The later part of a flow says what became of its last request.
void merge_ends(FlowSnapshot& into, const FlowSnapshot& other) {
    into.last_answer_frame = std::max(into.last_answer_frame, other.last_answer_frame);
    const auto last_of = [](const base::CompactOptional<RetryFigures>& retries) {
        return retries ? std::tuple(retries->last_frame, retries->repeats, retries->rnr_naks)
                       : std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>();
    };
    if (last_of(into.retries) < last_of(other.retries)) into.retries = other.retries;
    if (other.refused && (!into.refused || into.refused->frame < other.refused->frame)) into.refused = other.refused;
    if (other.udp_port && (!into.udp_port || other.id < into.id)) into.udp_port = other.udp_port;
    into.udp_ports = std::max(into.udp_ports, other.udp_ports);
    if (!other.repeat_answers) return;
    if (!into.repeat_answers) {
        into.repeat_answers = other.repeat_answers;
        return;
    }
    RepeatAnswerFigures& mine = *into.repeat_answers;
    mine.repeats = add(mine.repeats, other.repeat_answers->repeats);
    mine.repeated_answers = add(mine.repeated_answers, other.repeat_answers->repeated_answers);
    mine.first_repeat_min_ns = std::min(mine.first_repeat_min_ns, other.repeat_answers->first_repeat_min_ns);
    mine.first_answer_ns.merge(other.repeat_answers->first_answer_ns);
}

void add_class(std::vector<ClassFigures>& classes, const ClassFigures& one) {
    const auto known = std::ranges::find(classes, one.packet_class, &ClassFigures::packet_class);
    if (known == classes.end()) {
        classes.push_back(one);
        return;
    }
    known->packets = add(known->packets, one.packets);
    known->wire_bytes = add(known->wire_bytes, one.wire_bytes);
    known->first_frame = std::min(known->first_frame, one.first_frame);
    known->first_ns = std::min(known->first_ns, one.first_ns);
}

/// Call it before the counters are added: the first class has the packets that no other class has.
void merge_classes(FlowSnapshot& into, const FlowSnapshot& other) {
    const bool alike = into.packet_class == other.packet_class || !other.packet_class.known();
    if (alike && into.other_classes.empty() && other.other_classes.empty()) return;
    const auto place = [](const FlowSnapshot& flow) {
        return std::tuple(!flow.packet_class.known(), flow.id, flow.packet_class);
    };
    const PacketClass first =
        std::min(place(into), place(other)) == place(into) ? into.packet_class : other.packet_class;
    std::vector<ClassFigures> all = into.classes();
    for (const ClassFigures& one : other.classes()) add_class(all, one);
    std::erase_if(all, [first](const ClassFigures& one) { return one.packet_class == first; });
    std::ranges::sort(all, {}, [](const ClassFigures& one) { return std::tuple(one.first_frame, one.packet_class); });
    while (all.size() >= most_flow_classes) {
        ClassFigures& last = all[all.size() - 2];
        last.packets = add(last.packets, all.back().packets);
        last.wire_bytes = add(last.wire_bytes, all.back().wire_bytes);
        all.pop_back();
    }
    into.packet_class = first;
    into.other_classes = std::move(all);
}

void merge_counters(FlowSnapshot& into, const FlowSnapshot& other) {
    for (const auto member : fields::flow_counters) into.*member = add(into.*member, other.*member);
    for (const auto member : fields::flow_optional_counters) add_optional(into.*member, other.*member);
    for (const auto member : fields::flow_histograms) (into.*member).merge(other.*member);
    std::array<std::uint64_t, nak_code_count> naks = into.naks;
    for (std::size_t code = 0; code < nak_code_count; ++code) naks[code] = add(naks[code], other.naks[code]);
    into.naks = naks;
    for (std::size_t i = 0; i < operation_count; ++i) {
        if (!other.operations.has(i)) continue;
        OperationFigures& mine = into.operations[i];
        const OperationFigures& theirs = other.operations[i];
        mine.count = add(mine.count, theirs.count);
        mine.bytes = add(mine.bytes, theirs.bytes);
        mine.latency_ns.merge(theirs.latency_ns);
        mine.first_response_ns.merge(theirs.first_response_ns);
    }
}

void merge_maxima(FlowSnapshot& into, const FlowSnapshot& other) {
    if (into.messages_max == other.messages_max)
        into.at_max_ns = add(into.at_max_ns, other.at_max_ns);
    else if (into.messages_max < other.messages_max)
        into.at_max_ns = other.at_max_ns;
    into.messages_max = std::max(into.messages_max, other.messages_max);
    into.bytes_max = std::max(into.bytes_max, other.bytes_max);
    into.responses_max = std::max(into.responses_max, other.responses_max);
    into.reaction_tolerance_ns = std::max(into.reaction_tolerance_ns, other.reaction_tolerance_ns);
    keep_greatest(into.link_bits_per_sec, other.link_bits_per_sec);
    keep_least(into.round_trip_min_ns, other.round_trip_min_ns);
    keep_least(into.reaction_min_ns, other.reaction_min_ns);
}

/// Call it before the counters are added: it needs the number of CNPs of each side.
void merge_rate_drop(FlowSnapshot& into, const FlowSnapshot& other) {
    if (!other.rate_drop_after_cnp) return;
    if (!into.rate_drop_after_cnp) {
        into.rate_drop_after_cnp = other.rate_drop_after_cnp;
        return;
    }
    const double mine = static_cast<double>(std::max<std::uint64_t>(into.cnp_packets, 1));
    const double theirs = static_cast<double>(std::max<std::uint64_t>(other.cnp_packets, 1));
    into.rate_drop_after_cnp =
        (*into.rate_drop_after_cnp * mine + *other.rate_drop_after_cnp * theirs) / (mine + theirs);
}

/// Life, states and means. The time between two parts belongs to neither capture: nothing was outstanding that we know
/// of, and its state is unobserved, so that the states still sum to the wall time.
void merge_time(FlowSnapshot& into, const FlowSnapshot& other) {
    const bool later = other.last_ns > into.last_ns;
    if (other.last_ns == into.last_ns)
        into.finished |= other.finished;
    else if (later)
        into.finished = other.finished;
    if (other.credits_last && (later || !into.credits_last)) into.credits_last = other.credits_last;
    if (other.last_ns == into.last_ns) keep_greatest(into.credits_last, other.credits_last);

    const double messages =
        fields::total(into.messages_mean, into.wall_ns()) + fields::total(other.messages_mean, other.wall_ns());
    const double bytes =
        fields::total(into.bytes_mean, into.wall_ns()) + fields::total(other.bytes_mean, other.wall_ns());
    const bool apart = other.first_ns > into.last_ns || into.first_ns > other.last_ns;
    const std::uint64_t parts = add(into.wall_ns(), other.wall_ns());

    into.first_ns = std::min(into.first_ns, other.first_ns);
    into.last_ns = std::max(into.last_ns, other.last_ns);
    const auto wall = static_cast<double>(into.wall_ns());
    into.messages_mean = wall > 0 ? messages / wall : std::max(into.messages_mean, other.messages_mean);
    into.bytes_mean = wall > 0 ? bytes / wall : std::max(into.bytes_mean, other.bytes_mean);
    StateTimes states = into.state_ns;
    for (std::size_t state = 0; state < state_count; ++state) states[state] = add(states[state], other.state_ns[state]);
    std::uint64_t& unobserved = states[index_of(State::unobserved)];
    if (apart) unobserved = add(unobserved, fields::subtract(into.wall_ns(), parts));
    into.state_ns = states;
}

void merge_flow(FlowSnapshot& into, const FlowSnapshot& other) {
    merge_path(into, other);
    merge_ends(into, other);
    merge_time(into, other);
    merge_rate_drop(into, other);
    merge_classes(into, other);
    merge_counters(into, other);
    merge_maxima(into, other);
    merge_pairing(into, other);
    merge_recovery(into.recovery, other.recovery);
    if (other.connection.has_value()) merge_connection(into.connection.obtain(), other.connection);
    merge_tcp(into.tcp, other.tcp);
    if (into.verbs && other.verbs)
        merge(*into.verbs, *other.verbs);
    else if (other.verbs)
        into.verbs = other.verbs;
    merge_event_summaries(into.event_summaries, other.event_summaries);
    merge_icmp(into.icmp, other.icmp);
    if (into.commands && other.commands)
        merge(*into.commands, *other.commands);
    else if (other.commands)
        into.commands = other.commands;
    merge_endpoint(into.source, other.source);
    merge_endpoint(into.destination, other.destination);
    // unknown < one side < mid_path: two different sides give no particular place.
    into.vantage = into.vantage == Vantage::unknown                                     ? other.vantage
                   : other.vantage == Vantage::unknown || other.vantage == into.vantage ? into.vantage
                                                                                        : Vantage::mid_path;
    into.confidence = std::min(into.confidence, other.confidence);
    const auto place = [](const FlowSnapshot& flow) { return std::tuple(flow.id, flow.traffic_class, flow.interface); };
    std::tie(into.id, into.traffic_class, into.interface) = std::min(place(into), place(other));
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
