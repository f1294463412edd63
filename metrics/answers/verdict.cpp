#include "metrics/answers/verdict.h"

#include <algorithm>

namespace metrics::inline answers {

namespace {

struct VerdictName {
    Verdict verdict;
    std::string_view name;
};
constexpr std::array<VerdictName, verdict_count> names{{
    {Verdict::undecidable, "undecidable"},
    {Verdict::remote_access_error, "remote_access_error"},
    {Verdict::invalid_request, "invalid_request"},
    {Verdict::remote_operational_error, "remote_operational_error"},
    {Verdict::terminate, "terminate"},
    {Verdict::connection_rejected, "connection_rejected"},
    {Verdict::connection_unanswered, "connection_unanswered"},
    {Verdict::connection_reset, "connection_reset"},
    {Verdict::loss_before_tap, "loss_before_tap"},
    {Verdict::loss_after_tap, "loss_after_tap"},
    {Verdict::reordering, "reordering"},
    {Verdict::duplication, "duplication"},
    {Verdict::corruption, "corruption"},
    {Verdict::rnr, "rnr"},
    {Verdict::timeout_recovery, "timeout_recovery"},
    {Verdict::never_answered, "never_answered"},
    {Verdict::stopped_answering, "stopped_answering"},
    {Verdict::retries_used_up, "retries_used_up"},
    {Verdict::rnr_retries_used_up, "rnr_retries_used_up"},
    {Verdict::go_back_n_violation, "go_back_n_violation"},
    {Verdict::port_unreachable, "port_unreachable"},
    {Verdict::host_unreachable, "host_unreachable"},
    {Verdict::path_mtu, "path_mtu"},
    {Verdict::receive_window, "receive_window"},
    {Verdict::pause, "pause"},
    {Verdict::congestion_paced, "congestion_paced"},
    {Verdict::credit, "credit"},
    {Verdict::read_depth, "read_depth"},
    {Verdict::window_too_small, "window_too_small"},
    {Verdict::paced_or_window, "paced_or_window"},
    {Verdict::window_queueing, "window_queueing"},
    {Verdict::link_full, "link_full"},
    {Verdict::link_shared, "link_shared"},
    {Verdict::nic_stall, "nic_stall"},
    {Verdict::posted_not_sent, "posted_not_sent"},
    {Verdict::slow_polling, "slow_polling"},
    {Verdict::small_messages, "small_messages"},
    {Verdict::application_idle, "application_idle"},
    {Verdict::application_depth, "application_depth"},
    {Verdict::peer_wait, "peer_wait"},
    {Verdict::not_limited, "not_limited"},
    {Verdict::network_delay, "network_delay"},
    {Verdict::retransmission, "retransmission"},
    {Verdict::responder_slow, "responder_slow"},
    {Verdict::queueing, "queueing"},
    {Verdict::normal, "normal"},
    {Verdict::thrashing, "thrashing"},
    {Verdict::knee, "knee"},
    {Verdict::no_knee, "no_knee"},
    {Verdict::small_working_set, "small_working_set"},
    {Verdict::marked, "marked"},
    {Verdict::throttled, "throttled"},
    {Verdict::incast, "incast"},
    {Verdict::loss, "loss"},
    {Verdict::none, "none"},
    {Verdict::at_limit, "at_limit"},
    {Verdict::underused, "underused"},
    {Verdict::ok, "ok"},
    {Verdict::path_sick, "path_sick"},
    {Verdict::pair_sick, "pair_sick"},
    {Verdict::host_sick, "host_sick"},
    {Verdict::path_slow, "path_slow"},
    {Verdict::path_marked, "path_marked"},
    {Verdict::path_recovered, "path_recovered"},
    {Verdict::low_entropy, "low_entropy"},
    {Verdict::sprayed, "sprayed"},
    {Verdict::selective_repeat, "selective_repeat"},
    {Verdict::paths_alike, "paths_alike"},
    {Verdict::command_errors, "command_errors"},
    {Verdict::unanswered, "unanswered"},
    {Verdict::retried, "retried"},
    {Verdict::remote_access, "remote_access"},
    {Verdict::fallback, "fallback"},
    {Verdict::repairs_hurt_commands, "repairs_hurt_commands"},
    {Verdict::target_queueing, "target_queueing"},
    {Verdict::target_slow, "target_slow"},
    {Verdict::network_slow, "network_slow"},
    {Verdict::data_slow, "data_slow"},
    {Verdict::credits_wasted, "credits_wasted"},
    {Verdict::host_queue, "host_queue"},
    {Verdict::host_idle, "host_idle"},
    {Verdict::small_commands, "small_commands"},
    {Verdict::receiver_congested, "receiver_congested"},
    {Verdict::policy_broken, "policy_broken"},
    {Verdict::policy_kept, "policy_kept"},
}};

constexpr bool is_alarm = true;
constexpr bool describes = false;

constexpr std::array<VerdictMeaning, 41> bandwidth{{
    {Verdict::remote_access_error,
     "The peer refused access to its memory: wrong key, outside the region, or no permission.", is_alarm},
    {Verdict::invalid_request, "The peer did not understand a request or could not take it as it was.", is_alarm},
    {Verdict::remote_operational_error,
     "The peer could not carry out a request, for example a SEND longer than the receive.", is_alarm},
    {Verdict::terminate, "An iWARP peer ended the connection with a Terminate message.", is_alarm},
    {Verdict::connection_rejected, "A request for a connection was refused.", is_alarm},
    {Verdict::connection_unanswered, "A request for a connection got no answer.", is_alarm},
    {Verdict::connection_reset, "A connection was torn down before it carried anything.", is_alarm},
    {Verdict::loss_before_tap, "Packets are lost between the sender and the place of the capture: upstream.", is_alarm},
    {Verdict::loss_after_tap, "Packets are lost between the place of the capture and the receiver: downstream.",
     is_alarm},
    {Verdict::reordering, "Packets arrive out of order, without being lost.", is_alarm},
    {Verdict::duplication, "The network delivers packets twice.", is_alarm},
    {Verdict::corruption, "Packets arrive with a bad ICRC or CRC.", is_alarm},
    {Verdict::rnr, "The receiver was not ready: no receive was posted when a message arrived.", is_alarm},
    {Verdict::timeout_recovery, "Packets are retransmitted because a timer ran out: no NAK asked for them.", is_alarm},
    {Verdict::never_answered, "The sender gave up: the peer never answered anything on this queue pair.", is_alarm},
    {Verdict::stopped_answering, "The sender gave up: the peer had answered before, and stopped answering.", is_alarm},
    {Verdict::retries_used_up, "The sender gave up: a request was sent again and again, and never acknowledged.",
     is_alarm},
    {Verdict::rnr_retries_used_up, "The sender gave up: the receiver was not ready as often as was agreed on.",
     is_alarm},
    {Verdict::go_back_n_violation, "Sender or receiver did not recover from a loss as the specification asks.",
     is_alarm},
    {Verdict::port_unreachable,
     "An ICMP error says that no RDMA device, or no process, receives on the port that packets go to.", is_alarm},
    {Verdict::host_unreachable,
     "An ICMP error says that packets do not get to the peer: no way, a filter, or too many hops.", is_alarm},
    {Verdict::path_mtu, "Packets are longer than a hop on the way takes.", is_alarm},
    {Verdict::receive_window,
     "The TCP receive window is full: the receiver does not read fast enough, or its buffer is small.", is_alarm},
    {Verdict::pause, "PAUSE or priority flow control stops the sender in the middle of messages.", describes},
    {Verdict::congestion_paced, "The sender was slowed down by marks of congestion.", describes},
    {Verdict::credit, "The sender waits for end-to-end credits: for receives to be posted.", describes},
    {Verdict::read_depth, "The limit of outstanding READs and atomics (ORD) is reached, and each waits for another.",
     describes},
    {Verdict::window_too_small, "The send window is always full: more depth or larger messages would give more.",
     describes},
    {Verdict::paced_or_window, "The sender paces itself, or waits for a window that cannot be seen from here.",
     describes},
    {Verdict::window_queueing,
     "The window is full and its packets sit in a queue on the way: more depth will not help.", describes},
    {Verdict::link_full, "The link carries frames nearly all the time.", describes},
    {Verdict::link_shared, "Other flows of the same host fill the link.", describes},
    {Verdict::nic_stall, "The sender stalls in the middle of messages: adapter, PCIe, CPU, or a rate limit.",
     describes},
    {Verdict::posted_not_sent,
     "Work is posted, and the adapter or the stack does not send it: known where programs are traced.", describes},
    {Verdict::slow_polling,
     "The program looks late at its completions, and posts nothing before: known where programs are traced.",
     describes},
    {Verdict::small_messages, "Messages are so small that each one's fixed cost is the limit, not the link.",
     describes},
    {Verdict::application_idle, "The application posts nothing most of the time.", describes},
    {Verdict::application_depth, "The application keeps few requests outstanding and pauses between them.", describes},
    {Verdict::peer_wait, "The sender waits for the peer's messages: a dialogue.", describes},
    {Verdict::not_limited, "Nothing holds the flow back for long.", describes},
    {Verdict::undecidable, "This capture cannot tell.", describes},
}};

constexpr std::array<VerdictMeaning, 9> latency{{
    {Verdict::network_delay, "Even the fastest answer takes long: distance, or something that delays every packet.",
     is_alarm},
    {Verdict::rnr, "Messages wait until the receiver has posted receives.", describes},
    {Verdict::retransmission, "Messages that were retransmitted make the longest waits.", describes},
    {Verdict::responder_slow, "The answer itself takes the time, not the way there.", describes},
    {Verdict::queueing, "Typical messages take several times the least round trip: they wait in queues.", describes},
    {Verdict::posted_not_sent,
     "Most of the time from post to completion is that before the first packet: known where programs are traced.",
     describes},
    {Verdict::slow_polling,
     "Most of that time is the completion's, until the program takes it: known where programs are traced.", describes},
    {Verdict::normal, "Nothing of the above: what was measured is the way there and back.", describes},
    {Verdict::undecidable, "This capture cannot tell.", describes},
}};

constexpr std::array<VerdictMeaning, 5> qp_cache{{
    {Verdict::thrashing, "Turnaround steps up at a reuse distance that many accesses exceed: the cache is too small.",
     is_alarm},
    {Verdict::knee, "Turnaround steps up at a reuse distance, the estimated size of the cache; few accesses exceed it.",
     describes},
    {Verdict::no_knee, "Turnaround does not depend on the reuse distance.", describes},
    {Verdict::small_working_set, "So few queue pairs, keys and pages are in use that any adapter holds them.",
     describes},
    {Verdict::undecidable, "This capture cannot tell.", describes},
}};

constexpr std::array<VerdictMeaning, 8> congestion{{
    {Verdict::marked, "Switches mark packets (CE): queues build up on the way.", is_alarm},
    {Verdict::throttled, "Receivers ask senders to slow down (CNP).", is_alarm},
    {Verdict::pause, "PAUSE or priority flow control frames were seen.", is_alarm},
    {Verdict::incast, "Many hosts send to one at the same time, and it shows.", is_alarm},
    {Verdict::loss, "Packets are lost, which congestion can cause; nothing else of it was seen.", describes},
    {Verdict::queueing, "Round trips are far above the least: packets wait on the way or in the hosts.", describes},
    {Verdict::none, "No sign of congestion.", describes},
    {Verdict::undecidable, "This capture cannot tell.", describes},
}};

constexpr std::array<VerdictMeaning, 4> queue_depth{{
    {Verdict::at_limit, "The queue is as full as it may be most of the time.", describes},
    {Verdict::underused, "Far fewer requests are outstanding than were at the busiest moment.", describes},
    {Verdict::ok, "The depth is used, and is not what limits.", describes},
    {Verdict::undecidable, "This capture cannot tell.", describes},
}};

constexpr std::array<VerdictMeaning, 11> paths{{
    {Verdict::path_sick, "Of the paths between two hosts one loses more packets than the others.", is_alarm},
    {Verdict::pair_sick, "All paths between two hosts lose more packets than those of other pairs of hosts.", is_alarm},
    {Verdict::host_sick, "Packets of one host get lost more often than those of others, to or from every peer.",
     is_alarm},
    {Verdict::path_slow,
     "Of the paths between two hosts one takes longer than the others at the same times. It is an alarm if a queue is "
     "the reason.",
     is_alarm},
    {Verdict::path_marked, "Of the paths between two hosts switches mark one more than the others at the same times.",
     is_alarm},
    {Verdict::path_recovered,
     "Of the paths between two hosts one lost more packets than the others, and no longer does.", describes},
    {Verdict::low_entropy, "Two hosts with congestion use few entropies, so few paths.", describes},
    {Verdict::sprayed, "Packets arrive out of order, and little or nothing was sent again or refused because of it.",
     describes},
    {Verdict::selective_repeat, "Senders repeat only what was lost, and the receiver keeps the rest.", describes},
    {Verdict::paths_alike, "The paths between two hosts lose no more than one another.", describes},
    {Verdict::undecidable, "Too few packets were lost to tell whether one path is to blame.", describes},
}};

constexpr std::array<VerdictMeaning, 17> commands{{
    {Verdict::command_errors, "Commands end with an error: of the device, of the path to it, or refused.", is_alarm},
    {Verdict::unanswered, "Commands get no answer for more than 5 s.", is_alarm},
    {Verdict::retried, "Commands are asked again, or aborted, before an answer comes.", is_alarm},
    {Verdict::remote_access, "The initiator refused a READ or a WRITE with which the target moved a command's data.",
     is_alarm},
    {Verdict::fallback, "The upper layer was refused at its own port, and took another one.", is_alarm},
    {Verdict::repairs_hurt_commands, "Commands wait for packets that are sent again.", is_alarm},
    {Verdict::target_queueing, "The more commands are open, the longer the target takes: it is at its limit.",
     describes},
    {Verdict::target_slow, "Most of the commands' time is the target's own, however many are open.", describes},
    {Verdict::network_slow, "Most of the commands' time passes until their requests are acknowledged.", describes},
    {Verdict::data_slow,
     "Most of the commands' time is that of their data, and they do not fill the link, if its rate is known.",
     describes},
    {Verdict::credits_wasted,
     "The target permits fewer commands at a time than the initiator asked for, and as many are open most of the time.",
     describes},
    {Verdict::host_queue, "Most of the time, as many commands are open as the target permits.", describes},
    {Verdict::host_idle, "The initiator asks for nothing most of the time.", describes},
    {Verdict::small_commands, "Commands are so small that requests and responses are most of what passes.", describes},
    {Verdict::receiver_congested, "A receiver of RDS said that it reads a port too slowly.", describes},
    {Verdict::normal, "Nothing of the above takes most of the commands' time.", describes},
    {Verdict::undecidable, "This capture cannot tell.", describes},
}};

constexpr std::array<VerdictMeaning, 3> policy{{
    {Verdict::policy_broken, "Traffic is not of the class that a rule of the policy expects, or must not exist.",
     is_alarm},
    {Verdict::policy_kept, "All traffic that rules of the policy are about is as they expect.", describes},
    {Verdict::undecidable, "This capture cannot tell.", describes},
}};

constexpr std::span<const VerdictMeaning> meanings_for(Question question) {
    switch (question) {
        case Question::bandwidth: return bandwidth;
        case Question::latency: return latency;
        case Question::qp_cache: return qp_cache;
        case Question::congestion: return congestion;
        case Question::path: return paths;
        case Question::commands: return commands;
        case Question::policy: return policy;
        case Question::queue_depth: break;
    }
    return queue_depth;
}

constexpr const VerdictMeaning* find_meaning(Question question, Verdict verdict) {
    for (const VerdictMeaning& each : meanings_for(question))
        if (each.verdict == verdict) return &each;
    return nullptr;
}

constexpr bool names_follow_the_enumeration() {
    for (std::size_t i = 0; i < verdict_count; ++i)
        if (names[i].verdict != static_cast<Verdict>(i) || names[i].name.empty()) return false;
    return true;
}
static_assert(names_follow_the_enumeration());

constexpr bool every_verdict_has_a_meaning() {
    for (const VerdictName& each : names) {
        bool found = false;
        for (std::size_t i = 0; i < question_count; ++i)
            found = found || find_meaning(static_cast<Question>(i), each.verdict) != nullptr;
        if (!found) return false;
    }
    return true;
}
static_assert(every_verdict_has_a_meaning());

}  // namespace

std::string_view name_of(Verdict verdict) { return names[static_cast<std::size_t>(verdict)].name; }

std::optional<Verdict> verdict_named(std::string_view name) {
    const auto found = std::ranges::find(names, name, &VerdictName::name);
    if (found == names.end()) return std::nullopt;
    return found->verdict;
}

std::span<const VerdictMeaning> verdicts(Question question) { return meanings_for(question); }

const VerdictMeaning* meaning_of(Question question, Verdict verdict) { return find_meaning(question, verdict); }

}  // namespace metrics::answers
