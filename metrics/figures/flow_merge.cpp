#include "metrics/figures/flow_merge.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "metrics/figures/merging.h"
#include "metrics/figures/path_sums.h"
#include "metrics/figures/snapshot_fields.h"

namespace metrics::inline figures {
namespace {
using fields::add;

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

}  // namespace

void merge_recovery(RecoveryFigures& into, const RecoveryFigures& other) {
    into.count = add(into.count, other.count);
    for (const auto member : fields::recovery_histograms) (into.*member).merge(other.*member);
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

}  // namespace metrics::figures
