// What ended a queue pair without a word of the peer: retries that were used up, because no answer came, because the
// receiver was not ready, or because packets are too long for the way.
#include "metrics/answers/ends.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/unreachable.h"

namespace metrics::inline answers {

namespace {

/// The retry counters are fields of 3 bits; of RNR retries, 7 stands for ever. IBTA vol. 1, 12.6.
constexpr std::uint64_t most_retries = 7;
constexpr std::uint32_t rnr_for_ever = 7;
/// Adapters double the time from one repeat to the next.
constexpr std::uint64_t silent_intervals = 4;
/// After the longest RNR timer (655 ms) adapters send again within moments.
constexpr std::uint64_t silent_rnr_timers = 4;
constexpr std::uint64_t rnr_room_ns = 100'000'000;
/// Every IPv4 hop takes packets of 576 bytes (RFC 791, 3.1): of shorter ones the path's MTU is no reason.
constexpr std::uint64_t least_doubtful_payload = 512;

bool was_disconnected(const FlowSnapshot& flow) {
    if (flow.finished) return true;
    return flow.retries && flow.connection->end_kind && flow.connection->end_frame > flow.retries->last_frame;
}

/// How long the capture continues after the last sending, or refusal.
std::uint64_t silence_after(const Subject& subject, const RetryFigures& retries) {
    const std::int64_t end_ns = subject.snapshot().capture.last_ns;
    return end_ns <= retries.last_ns ? 0
                                     : static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(retries.last_ns);
}

bool has_used_up_retries(const Subject& subject, const FlowSnapshot& flow) {
    const RetryFigures& retries = *flow.retries;
    if (retries.repeats == 0) return false;
    if (retries.repeats >= most_retries || was_disconnected(flow)) return true;
    if (flow.connection->retry_count && retries.repeats == *flow.connection->retry_count) return true;
    return retries.repeats >= 2 && silence_after(subject, retries) / silent_intervals > retries.interval_max_ns;
}

/// What was agreed on holds as long as the sender keeps to it.
std::optional<std::uint32_t> rnr_limit(const FlowSnapshot& flow) {
    const auto agreed = flow.connection->rnr_retry_count;
    if (!agreed || *agreed >= rnr_for_ever || flow.retries->rnr_naks > *agreed + 1) return std::nullopt;
    return agreed;
}

bool has_used_up_rnr_retries(const Subject& subject, const FlowSnapshot& flow) {
    const RetryFigures& retries = *flow.retries;
    if (!retries.refused_last || retries.rnr_naks == 0) return false;
    if (const auto limit = rnr_limit(flow); limit && retries.rnr_naks == *limit + 1) return true;
    const bool for_ever = flow.connection->rnr_retry_count && *flow.connection->rnr_retry_count >= rnr_for_ever;
    if (was_disconnected(flow)) return !for_ever;
    return !for_ever && silence_after(subject, retries) > silent_rnr_timers * retries.rnr_timer_ns + rnr_room_ns;
}

/// Packets that carried less were acknowledged, and none that carries as much.
bool is_too_long(const RetryFigures& retries) {
    return retries.acknowledged_bytes_max && *retries.acknowledged_bytes_max > 0 &&
           *retries.acknowledged_bytes_max < retries.request.packet_bytes &&
           retries.request.packet_bytes >= least_doubtful_payload && !wants_response(retries.request.operation);
}

std::string_view verb_of(Operation operation) {
    switch (operation) {
        case Operation::send: return "SEND";
        case Operation::send_immediate: return "SEND with immediate";
        case Operation::send_invalidate: return "SEND with invalidate";
        case Operation::write: return "RDMA WRITE";
        case Operation::write_immediate: return "RDMA WRITE with immediate";
        case Operation::read: return "RDMA READ";
        case Operation::fetch_add: return "atomic (fetch and add)";
        case Operation::compare_swap: return "atomic (compare and swap)";
    }
    return "request";
}

bool is_atomic(Operation operation) {
    return operation == Operation::fetch_add || operation == Operation::compare_swap;
}

/// The flows whose sender gave up in one way, from one host to another, the worst first.
struct EndedFlows {
    const Subject& subject;
    const Flows& flows;
    const FlowSnapshot& first;
    const RetryFigures& retries;  ///< of the first
    std::string sender;
    std::string receiver;
};

/// "the SEND of 64 bytes of frame 1 was sent 8 times, 537 ms apart, 3.76 s in all"
std::string sendings_text(const EndedFlows& ended) {
    const RetryFigures& retries = ended.retries;
    const auto least = static_cast<double>(retries.interval_min_ns);
    const auto most = static_cast<double>(retries.interval_max_ns);
    const std::string apart = most <= 1.1 * least ? duration(least) : duration(least) + " to " + duration(most);
    return fmt::format("{} sent {} {}, {} apart, {} in all", ended.sender, request_text(retries.request),
                       counted(retries.repeats + 1, "time"), apart,
                       duration(static_cast<double>(retries.last_ns) - static_cast<double>(retries.first_ns)));
}

std::string gave_up_text(const RetryFigures& retries) {
    return fmt::format("gave up after {} (IBV_WC_RETRY_EXC_ERR, \"transport retry counter exceeded\")",
                       retries.repeats == 1 ? std::string("1 retry") : fmt::format("{} retries", retries.repeats));
}

std::string queue_pairs_text(const EndedFlows& ended) {
    if (ended.flows.size() > 1) return fmt::format("these {} queue pairs", ended.flows.size());
    if (ended.first.destination.qpn) return fmt::format("this queue pair (qp {:#08x})", *ended.first.destination.qpn);
    return "this queue pair";
}

/// The other version of RoCE, if the peer sends that to the sender.
std::optional<wire::Transport> other_version(const EndedFlows& ended) {
    const wire::Transport own = ended.first.transport;
    if (own != wire::Transport::roce1 && own != wire::Transport::roce2) return std::nullopt;
    const wire::Transport other = own == wire::Transport::roce1 ? wire::Transport::roce2 : wire::Transport::roce1;
    const Address peer = plain_address(ended.first.destination.address);
    const std::vector<FlowSnapshot>& flows = ended.subject.snapshot().flows;
    const bool seen = std::any_of(flows.begin(), flows.end(), [&](const FlowSnapshot& flow) {
        return flow.transport == other && plain_address(flow.source.address) == peer;
    });
    return seen ? std::optional(other) : std::nullopt;
}

std::string_view version_text(wire::Transport transport) {
    return transport == wire::Transport::roce1 ? "RoCEv1" : "RoCEv2";
}

/// Whether the peer sends anything to the sender by the same transport.
bool is_heard(const EndedFlows& ended) {
    const std::vector<FlowSnapshot>& flows = ended.subject.snapshot().flows;
    return std::any_of(flows.begin(), flows.end(), [&](const FlowSnapshot& flow) {
        return flow.transport == ended.first.transport && flow.source.address == ended.first.destination.address &&
               flow.destination.address == ended.first.source.address;
    });
}

std::string never_answered_advice(const EndedFlows& ended) {
    const wire::Transport transport = ended.first.transport;
    if (const auto other = other_version(ended))
        return fmt::format(
            "{0} sends {1}, and {2} sends {3}: the GID indices of the two differ in version. Take the same type on "
            "both (`rdma_cm` default: /sys/kernel/config/rdma_cm/DEVICE/ports/PORT/default_roce_mode; "
            "ah_attr.grh.sgid_index of ibv_modify_qp; /sys/class/infiniband/DEVICE/ports/PORT/gid_attrs/types/).",
            ended.sender, version_text(transport), ended.receiver, version_text(*other));
    std::string advice = fmt::format(
        "Compare on both ends the QPN that {0} connected to (dest_qp_num) and the state of the queue pair on {1} (RTR "
        "or RTS, `rdma resource show qp`), and the P_Key",
        ended.sender, ended.receiver);
    if (transport == wire::Transport::infiniband)
        advice += ", the LIDs and the service level";
    else
        advice += ", the GID index and the version of RoCE that it stands for";
    if (is_heard(ended)) return advice + fmt::format(". Other packets of {} do pass here.", ended.receiver);
    if (transport == wire::Transport::infiniband) return advice + ". No packet of the peer passes here.";
    advice += transport == wire::Transport::roce2
                  ? "; a firewall may drop UDP port 4791, or there is no route back"
                  : "; RoCEv1 is Ethernet type 0x8915, which does not pass routers, and a switch may drop it";
    return advice + fmt::format(": no packet of {} passes here.", ended.receiver);
}

std::string others_text(const EndedFlows& ended) {
    return ended.flows.size() == 1
               ? std::string()
               : fmt::format(" It is alike on {} more.", counted(ended.flows.size() - 1, "queue pair"));
}

void explain_never_answered(const EndedFlows& ended, Answer& answer) {
    answer.summary =
        fmt::format("{} never answered anything on {}: {}, and {}. The queue pair is in error.{}", ended.receiver,
                    queue_pairs_text(ended), sendings_text(ended), gave_up_text(ended.retries), others_text(ended));
    answer.advice = never_answered_advice(ended);
}

void explain_stopped_answering(const EndedFlows& ended, Answer& answer) {
    answer.summary = fmt::format("{} answered until frame {}, and stopped answering on {}: {}, and {}.{}",
                                 ended.receiver, ended.first.last_answer_frame, queue_pairs_text(ended),
                                 sendings_text(ended), gave_up_text(ended.retries), others_text(ended));
    answer.advice = fmt::format(
        "See on {0} what happened after frame {1}: whether its process ended or its queue pair went into error (`rdma "
        "resource show qp`, the log of the program), whether its port went down (`rdma link show`, `dmesg`), and, if "
        "all is well there, what dropped the packets or the answers on the way; local_ack_timeout_err on {2} counts "
        "these time-outs.",
        ended.receiver, ended.first.last_answer_frame, ended.sender);
}

void explain_retries_used_up(const EndedFlows& ended, Answer& answer) {
    const bool answers = ended.first.last_answer_frame != 0;
    answer.summary =
        fmt::format("{} and {}: {}.{}", sendings_text(ended), gave_up_text(ended.retries),
                    answers ? fmt::format("{} went on answering, up to frame {}, and never acknowledged that request",
                                          ended.receiver, ended.first.last_answer_frame)
                            : fmt::format("no answer of {} is in this capture", ended.receiver),
                    others_text(ended));
    answer.advice = answers ? fmt::format(
                                  "Packets or acknowledgements are lost each time: capture at {} as well to see "
                                  "what arrives there, and look for drops on the way.",
                                  ended.receiver)
                            : fmt::format(
                                  "Capture both directions, and at {} as well: either the requests do not arrive, "
                                  "or the answers do not.",
                                  ended.receiver);
    if (!answers) answer.confidence *= 0.7;
}

void explain_path_mtu(const EndedFlows& ended, Answer& answer) {
    const RetryFigures& retries = ended.retries;
    answer.summary = fmt::format(
        "Only packets above {} bytes of payload are lost {}: {}, a packet of {} bytes of payload, and {}; nothing "
        "longer than {} bytes was ever acknowledged. The path MTU is smaller than the queue pair's.{}",
        number(*retries.acknowledged_bytes_max), ended.subject.from_to(ended.flows), sendings_text(ended),
        number(retries.request.packet_bytes), gave_up_text(retries), number(*retries.acknowledged_bytes_max),
        others_text(ended));
    answer.advice = fmt::format(
        "Compare the MTU of every port between {0} and {1} (`ip link`, the switches' port MTU; active_mtu of "
        "`ibv_devinfo` on both) with path_mtu of the queue pair: {2} bytes of payload need about {3} bytes of MTU. "
        "Raise the MTU of the narrow hop, or connect with a smaller path_mtu.",
        ended.sender, ended.receiver, number(retries.request.packet_bytes), number(retries.request.packet_bytes + 92));
    answer.confidence *= 0.9;
}

void explain_rnr_used_up(const EndedFlows& ended, Answer& answer) {
    const RetryFigures& retries = ended.retries;
    const auto limit = rnr_limit(ended.first);
    const std::string agreed = limit ? fmt::format("rnr_retry_count {} was agreed on, and ", *limit) : std::string();
    answer.summary = fmt::format(
        "{} gave up: {} was not ready for {} and refused it {} (no receive was posted); {}it was not sent again after "
        "frame {} (IBV_WC_RNR_RETRY_EXC_ERR, \"RNR retry counter exceeded\").{}",
        ended.sender, ended.receiver, request_text(retries.request), counted(retries.rnr_naks, "time"), agreed,
        retries.last_frame, others_text(ended));
    answer.advice = fmt::format(
        "On {} post the receives before connecting, and more of them (or an SRQ with a limit event). With "
        "rnr_retry_count 7 {} tries for ever{}.",
        ended.receiver, ended.sender, limit && *limit == 0 ? ", while 0 gives up at the first RNR NAK" : "");
}

void explain_end(Verdict verdict, const EndedFlows& ended, Answer& answer) {
    switch (verdict) {
        case Verdict::never_answered: return explain_never_answered(ended, answer);
        case Verdict::stopped_answering: return explain_stopped_answering(ended, answer);
        case Verdict::rnr_retries_used_up: return explain_rnr_used_up(ended, answer);
        case Verdict::path_mtu: return explain_path_mtu(ended, answer);
        default: return explain_retries_used_up(ended, answer);
    }
}

std::vector<std::uint64_t> frames_of_end(const FlowSnapshot& flow) {
    std::vector<std::uint64_t> frames;
    for (const std::uint64_t frame :
         {flow.retries->request.frame, flow.retries->repeat_frame, flow.retries->last_frame})
        if (frame != 0 && (frames.empty() || frames.back() < frame)) frames.push_back(frame);
    return frames;
}

void add_end_figures(Verdict verdict, const EndedFlows& ended, Answer& answer) {
    const RetryFigures& retries = ended.retries;
    const bool rnr = verdict == Verdict::rnr_retries_used_up;
    add_evidence(answer, "queue pairs that ended so", static_cast<double>(ended.flows.size()),
                 EvidenceUnit::connections);
    if (!rnr)
        add_evidence(answer, "sendings of one request", static_cast<double>(retries.repeats + 1), EvidenceUnit::times,
                     frames_of_end(ended.first));
    add_evidence(answer, "receiver-not-ready NAKs of it", static_cast<double>(retries.rnr_naks), EvidenceUnit::naks,
                 rnr ? frames_of_end(ended.first) : std::vector<std::uint64_t>{});
    if (rnr && retries.rnr_timer_ns > 0)
        add_evidence(answer, "RNR timer asked for", static_cast<double>(retries.rnr_timer_ns), EvidenceUnit::ns);
    add_evidence(answer, "time between sendings, least", static_cast<double>(retries.interval_min_ns),
                 EvidenceUnit::ns);
    add_evidence(answer, "time between sendings, most", static_cast<double>(retries.interval_max_ns), EvidenceUnit::ns);
    add_evidence(answer, "silence after the last sending", static_cast<double>(silence_after(ended.subject, retries)),
                 EvidenceUnit::ns);
    if (verdict == Verdict::path_mtu) {
        add_evidence(answer, "payload of the packet that is lost", static_cast<double>(retries.request.packet_bytes),
                     EvidenceUnit::bytes);
        add_evidence(answer, "greatest payload acknowledged", static_cast<double>(*retries.acknowledged_bytes_max),
                     EvidenceUnit::bytes);
    }
    if (ended.first.connection->end_kind && ended.first.connection->end_frame != 0)
        add_evidence(answer, "connection ended by " + ended.first.connection->end, 1, EvidenceUnit::none,
                     {ended.first.connection->end_frame});
}

/// READs and atomics beyond what the responder granted, whatever its requester had asked for. If it granted none,
/// programs change the queue pair later.
bool exceeds_depth(const FlowSnapshot& flow) {
    const auto granted = flow.connection->responder_resources;
    return granted && *granted > 0 && flow.responses_max > *granted && knows_depth(flow);
}

void find_exceeded_depths(const Subject& subject, const Group& group, std::vector<Answer>& out) {
    std::vector<Affected> affected;
    for (const FlowSnapshot* flow : group.flows)
        if (exceeds_depth(*flow)) affected.push_back({flow, minor_cost / 2});
    if (affected.empty()) return;
    Answer answer = finding(Question::bandwidth, Verdict::read_depth, affected);
    const Flows flows = flows_of(affected);
    const FlowSnapshot& first = *flows.front();
    const std::uint32_t agreed = *first.connection->responder_resources;
    answer.alarm = true;
    answer.confidence *= 0.9;
    const std::string responder = subject.short_name(first.destination.address);
    answer.summary = fmt::format(
        "Up to {} READs and atomics are outstanding {}, though {} were agreed on (the responder resources of {}, which "
        "bound ORD): responders drop or refuse what exceeds them.",
        number(first.responses_max), subject.from_to(flows), agreed, responder);
    answer.advice = fmt::format(
        "Set max_rd_atomic of the queue pair on {0} to what {1} grants (initiator_depth of rdma_accept's event), or "
        "ask for more when connecting, and let {1} grant more responder resources (responder_resources, "
        "max_dest_rd_atomic).",
        subject.short_name(first.source.address), responder);
    std::vector<std::uint64_t> setup;
    if (first.connection->setup_frame != 0) setup.push_back(first.connection->setup_frame);
    add_evidence(answer, "READs and atomics outstanding, most", static_cast<double>(first.responses_max),
                 EvidenceUnit::requests);
    add_evidence(answer, "READs and atomics agreed on", agreed, EvidenceUnit::requests, setup);
    out.push_back(std::move(answer));
}

}  // namespace

Address plain_address(const Address& address) {
    if (address.family != wire::AddressFamily::gid && address.family != wire::AddressFamily::ipv6) return address;
    Address plain = address;
    const auto zeros = std::count(address.octets.begin(), address.octets.begin() + 10, 0);
    if (zeros == 10 && address.octets[10] == 0xff && address.octets[11] == 0xff) {
        plain = {};
        plain.family = wire::AddressFamily::ipv4;
        std::copy(address.octets.begin() + 12, address.octets.end(), plain.octets.begin());
        return plain;
    }
    plain.family = wire::AddressFamily::ipv6;
    return plain;
}

std::string request_text(const RequestFigures& request) {
    std::string text = fmt::format("the {}", verb_of(request.operation));
    if (request.message_bytes > 0 && !is_atomic(request.operation))
        text += fmt::format(" of {} bytes", number(request.message_bytes));
    if (request.frame != 0) text += fmt::format(" of frame {}", request.frame);
    return text;
}

std::string invalid_request_advice(const RequestFigures& request, const std::string& responder) {
    if (is_atomic(request.operation))
        return fmt::format(
            "An atomic must be aligned to 8 bytes (the frame shows its address with `dump -V`), the queue pair on {0} "
            "must permit it (IBV_ACCESS_REMOTE_ATOMIC) and have responder resources (max_dest_rd_atomic), and its "
            "device must support atomics (`ibv_devinfo -v`, atomic_cap).",
            responder);
    if (request.operation == Operation::read)
        return fmt::format(
            "The queue pair on {0} must have responder resources for as many READs as are outstanding "
            "(max_dest_rd_atomic), and must permit READs (IBV_ACCESS_REMOTE_READ in qp_access_flags); the length must "
            "not exceed 2^31 bytes.",
            responder);
    const bool write = request.operation == Operation::write || request.operation == Operation::write_immediate;
    std::string advice;
    if (request.packet_bytes > 0)
        advice = fmt::format(
            "The packet carries {0} bytes: all packets of a message but its last must carry exactly the path MTU that "
            "the queue pair on {1} has (path_mtu of ibv_modify_qp; compare active_mtu of both ends). ",
            number(request.packet_bytes), responder);
    return advice + (write
                         ? fmt::format("The message must be as long as its RETH says, and the queue pair on {} must "
                                       "permit WRITEs (IBV_ACCESS_REMOTE_WRITE in qp_access_flags).",
                                       responder)
                         : fmt::format("The receive that was posted on {} must be as long as the message.", responder));
}

bool repeats_too_early(const FlowSnapshot& flow) {
    const auto& answers = flow.repeat_answers;
    if (!answers || answers->repeats == 0 || answers->first_answer_ns.empty()) return false;
    // The last answers may come after the capture's end.
    const std::uint64_t room = std::min<std::uint64_t>(answers->repeats / 10, 8);
    return answers->repeated_answers + room >= answers->repeats &&
           *answers->first_answer_ns.min() > answers->first_repeat_min_ns;
}

std::optional<std::uint64_t> least_round_trip(const FlowSnapshot& flow) {
    if (!repeats_too_early(flow)) return flow.round_trip_min_ns;
    const std::uint64_t repeated = *flow.repeat_answers->first_answer_ns.min();
    return flow.round_trip_min_ns ? std::min(*flow.round_trip_min_ns, repeated) : repeated;
}

std::optional<Verdict> end_verdict(const Subject& subject, const FlowSnapshot& flow) {
    if (!flow.retries) return std::nullopt;
    const RetryFigures& retries = *flow.retries;
    if (has_used_up_rnr_retries(subject, flow)) return Verdict::rnr_retries_used_up;
    if (!has_used_up_retries(subject, flow)) return std::nullopt;
    if (is_too_long(retries)) return Verdict::path_mtu;
    if (flow.last_answer_frame == 0) return retries.is_first ? Verdict::never_answered : Verdict::retries_used_up;
    return flow.last_answer_frame < retries.repeat_frame ? Verdict::stopped_answering : Verdict::retries_used_up;
}

void find_ends(const Subject& subject, std::vector<Answer>& out) {
    for (const Group& group : subject.groups()) {
        std::map<Verdict, std::vector<Affected>> by_verdict;
        for (const FlowSnapshot* flow : group.flows) {
            if (unreachable_verdict(group, *flow)) continue;  // an ICMP error says why
            if (const auto verdict = end_verdict(subject, *flow)) by_verdict[*verdict].push_back({flow, 1.0});
        }
        for (auto& [verdict, affected] : by_verdict) {
            Answer answer = finding(Question::bandwidth, verdict, affected);
            const Flows flows = flows_of(affected);
            const double share = ratio(static_cast<double>(affected.size()), static_cast<double>(group.flows.size()));
            answer.severity = 0.5 + 0.5 * share;
            answer.cost = {share, CostBasis::connections};
            const FlowSnapshot& first = *flows.front();
            // That no other direction is there is a part of the evidence.
            if (verdict == Verdict::never_answered) answer.confidence = 0.95;
            explain_end(verdict,
                        {subject, flows, first, *first.retries, subject.short_name(first.source.address),
                         subject.short_name(first.destination.address)},
                        answer);
            add_end_figures(verdict,
                            {subject, flows, first, *first.retries, subject.short_name(first.source.address),
                             subject.short_name(first.destination.address)},
                            answer);
            out.push_back(std::move(answer));
        }
        find_exceeded_depths(subject, group, out);
    }
}

}  // namespace metrics::answers
