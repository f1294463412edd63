#include "metrics/answers/bandwidth_words.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <vector>

#include "metrics/answers/bandwidth_measures.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/trace_evidence.h"
#include "metrics/answers/unreachable.h"

namespace metrics::inline answers {

namespace {

using Words = BandwidthWords;

std::string rate_words(const FlowSnapshot& flow) {
    const auto rate = rate_of(flow);
    return rate ? bit_rate(*rate) : std::string("an unknown rate");
}

/// Whether the program itself keeps no more in its queue, and whether more would fit.
std::string depth_advice(const FlowSnapshot& flow) {
    if (!flow.verbs || flow.verbs->send_queue.max == 0 || !flow.verbs->exact()) return {};
    const LevelFigures& queue = flow.verbs->send_queue;
    if (queue.max > flow.messages_max + flow.messages_max / 4)
        return fmt::format(
            " The program has posted up to {} at once: more than the transport takes, so its own depth is not the "
            "limit.",
            queue.max);
    if (queue.capacity && queue.max < *queue.capacity)
        return fmt::format(" The program posts {} at once at most, and {} would fit: it has to post more.", queue.max,
                           *queue.capacity);
    if (!queue.capacity) return fmt::format(" The program posts {} at once at most.", queue.max);
    return fmt::format(" The program posts {} at once, all that fit.", queue.max);
}

/// A flow, and the words for it that most sentences need.
struct FlowContext {
    const Subject& subject;
    const FlowSnapshot& flow;
    std::string way;     ///< "from A (qp 0x11) to B (qp 0x12)"
    std::string sender;  ///< short names
    std::string receiver;
    std::string rate;

    std::string share(State state) const { return percent(share_of(flow, {state}, flow.wall_ns())); }
    std::string share(std::uint64_t ns) const {
        return percent(ratio(static_cast<double>(ns), static_cast<double>(flow.wall_ns())));
    }
};

Words link_full(const FlowContext& context) {
    const double sending = sending_share(context.subject, context.flow);
    const auto link = context.flow.link_bits_per_sec;
    const std::string fastest = link ? bit_rate(static_cast<double>(*link) / 8) : std::string();
    if (sending < full_share)
        return {fmt::format("The path {} is full: frames follow each other without long pauses, {} of payload{}.",
                            context.way, context.rate, link ? ", at their fastest " + fastest : ""),
                fmt::format("If the link is faster than that, a rate limit or a narrow hop paces them: see `tc -s "
                            "qdisc` on {}, the adapter's limits per priority, and the shapers of the switches; "
                            "--link-rate tells this program what the link carries.",
                            context.sender)};
    return {fmt::format("The link is full {}: it carries frames {} of the time, {} of payload{}.", context.way,
                        percent(sending), context.rate, link ? " at " + fastest : ""),
            fmt::format("Compare that rate with the port's (`ethtool DEVICE`, `rdma link show` on {}): if it is below, "
                        "a rate limit or a narrow hop holds it (`tc -s qdisc`, the switch's shaper, PCIe width in "
                        "`lspci -vv`). If it is the port's, only a faster link or a larger path MTU gives more.",
                        context.sender)};
}

/// What was agreed on is the limit where it is kept.
std::string read_limit(const FlowSnapshot& flow) {
    const auto agreed = flow.connection->initiator_depth;
    if (!agreed && flow.responses_max == 0) return "how many is not known";
    if (!agreed) return fmt::format("{}, the most that was seen", number(flow.responses_max));
    if (flow.responses_max > *agreed)
        return fmt::format("{}, though ORD {} was agreed on", number(flow.responses_max), *agreed);
    return fmt::format("ORD {}", *agreed);
}

Words read_depth(const FlowContext& context) {
    const FlowSnapshot& flow = context.flow;
    return {fmt::format("The limit of outstanding READs and atomics ({}) is reached {}, and {} of the time is "
                        "spent waiting for one to return ({}).",
                        read_limit(flow), context.way, context.share(State::read_window), context.rate),
            fmt::format("Raise initiator_depth on {} and responder_resources on {} when connecting (max_rd_atomic, "
                        "max_dest_rd_atomic; `ibv_devinfo -v` shows what the devices bear), or read more bytes at a "
                        "time.",
                        context.sender, context.receiver)};
}

Words receive_window(const FlowContext& context) {
    const bool shut = context.flow.tcp && was_shut(*context.flow.tcp);
    return {fmt::format("The TCP receive window of {} is full {} of the time ({}).", context.receiver,
                        context.share(State::credit), context.rate),
            shut ? fmt::format("The window was closed: {} does not read. See what holds its receiver up: CPU, receives "
                               "that are posted late, an application that polls seldom. A larger net.ipv4.tcp_rmem "
                               "only delays this.",
                               context.receiver)
                 : fmt::format("On {} raise net.ipv4.tcp_rmem, and see why its receiver does not read faster (CPU, "
                               "posted receives).",
                               context.receiver)};
}

Words credit(const FlowContext& context) {
    return {fmt::format("{} waits for end-to-end credits {} of the time {} ({}): too few receives are posted.",
                        context.sender, context.share(State::credit), context.way, context.rate),
            fmt::format("On {} post more receives and post them earlier.", context.receiver)};
}

Words window_queueing(const FlowContext& context) {
    return {fmt::format("The window {} is full, and its packets sit in a queue for most of the round trip ({}).",
                        context.way, context.rate),
            "More depth will not help, it only waits longer. The narrowest hop decides: see its rate and who shares "
            "it."};
}

Words window_too_small(const FlowContext& context) {
    const FlowSnapshot& flow = context.flow;
    auto bound = window_bound(flow);
    if (bound && flow.link_bits_per_sec && *bound * 8 > static_cast<double>(*flow.link_bits_per_sec)) bound.reset();
    return {fmt::format("{} has at most {} outstanding {} and waits for acknowledgements {} of the time ({}{}).",
                        context.sender, counted(flow.messages_max, "message"), context.way,
                        context.share(State::ack_window), context.rate,
                        bound ? "; this window allows at most " + bit_rate(*bound) : std::string()),
            fmt::format("Raise the depth of the send queue (max_send_wr, perftest's --tx-depth) or the size of "
                        "messages on {}: link rate times round trip is what must be outstanding.",
                        context.sender) +
                depth_advice(flow)};
}

Words paced_or_window(const FlowContext& context) {
    return {
        fmt::format("{} paces itself {}, or waits for a window that cannot be seen from here: it goes on the same "
                    "time after each acknowledgement, {} of the time ({}).",
                    context.sender, context.way, context.share(State::ack_window), context.rate),
        fmt::format("If {} is to send at this rate, nothing is wrong. Else capture on {}, or from the set-up of the "
                    "connection on: then the time that acknowledgements take on their way is known.",
                    context.sender, context.sender)};
}

Words link_shared(const FlowContext& context) {
    return {fmt::format("Other flows of {} fill the link while messages {} wait, {} of the time ({}).", context.sender,
                        context.way, context.share(State::link_shared), context.rate),
            "Look at `rdmascope flows` for the flows of that host; spread them over ports, or give them priorities."};
}

Words congestion_paced(const FlowContext& context) {
    return {fmt::format("Marks of congestion slow {} down {}: {} of the time ({}).", context.sender, context.way,
                        context.share(State::congestion_paced), context.rate),
            "See the answer about congestion."};
}

Words pause(const FlowContext& context) {
    return {fmt::format("{} stalls in the middle of messages {}, {} of the time, while PAUSE frames arrive ({}).",
                        context.sender, context.way, context.share(State::nic_stall), context.rate),
            "See the answer about congestion."};
}

Words nic_stall(const FlowContext& context) {
    return {fmt::format("{} stalls in the middle of messages {}, {} of the time ({}); the work was posted, so it is "
                        "not the application.",
                        context.sender, context.way, context.share(State::nic_stall), context.rate),
            fmt::format("On {} look at rx pause counters, PCIe width and errors (`lspci -vv`), IOMMU, the CPU's power "
                        "states and, for software stacks, CPU load; at a rate limit (`tc -s qdisc`, the adapter's "
                        "per-priority limits).",
                        context.sender)};
}

Words posted_not_sent(const FlowContext& context) {
    return {fmt::format("{} has work posted {} and the adapter or its driver does not send it, {} of the time ({}).",
                        program_on(context.subject, context.flow), context.way, context.share(held_ns(context.flow)),
                        context.rate),
            fmt::format("It is not the program. On {} look at rate limits, rx pause counters, PCIe and the CPU's power "
                        "states; for software stacks, at the CPU of the thread that sends.",
                        context.sender)};
}

Words slow_polling(const FlowContext& context) {
    return {fmt::format("{} looks late at its completions {} and posts nothing before, {} of the time ({}).",
                        program_on(context.subject, context.flow), context.way,
                        context.share(unpolled_ns(context.flow)), context.rate),
            "Poll the completion queue more often, or by a thread of its own, and more completions at a time; post "
            "more work at once, so that the queue does not run dry meanwhile."};
}

Words small_messages(const FlowContext& context) {
    const std::uint64_t wall = context.flow.wall_ns();
    const double a_second =
        wall == 0 ? 0 : static_cast<double>(context.flow.messages_total()) * 1e9 / static_cast<double>(wall);
    return {fmt::format("Messages {} have {} each; {} a second are {}.", context.way,
                        octets(mean_message(context.flow)), rough(a_second), context.rate),
            "Join messages, or use more queue pairs and threads: the cost of each message is the limit. Inline data, "
            "unsignalled sends and posting in lists make each cheaper."};
}

/// Of READ responses, what names an application is the requester's.
Words requester_idle(const FlowContext& context, State state) {
    return {
        fmt::format("{} asks for too little at a time: READ responses {} wait for its requests, {} of the time ({}).",
                    context.receiver, context.way, context.share(state), context.rate),
        fmt::format("On {} keep more READs outstanding, or read more bytes at a time.", context.receiver)};
}

Words application_depth(const FlowContext& context) {
    if (only_responds(context.flow)) return requester_idle(context, State::application_in_flight);
    return {fmt::format("The application keeps {} outstanding on average {} and pauses between posts, {} of the time "
                        "({}).",
                        rough(context.flow.messages_mean), context.way, context.share(State::application_in_flight),
                        context.rate),
            fmt::format("On {} post the next work request before the last has completed; see what the thread does "
                        "between posts (CPU, polling, locks).",
                        context.sender)};
}

Words application_idle(const FlowContext& context) {
    if (only_responds(context.flow)) return requester_idle(context, State::application_idle);
    const FlowSnapshot& flow = context.flow;
    const std::uint64_t idle_ns = time_in(flow, {State::application_idle});
    const std::uint64_t paused_ns =
        flow.messages_mean < least_in_flight ? time_in(flow, {State::application_in_flight}) : 0;
    return {fmt::format("The application posts nothing {}, {} of the time ({}).", context.way,
                        context.share(idle_ns + paused_ns), context.rate),
            fmt::format("Nothing is wrong on the way. If more was expected, see on {} what its program waits for.",
                        context.sender)};
}

Words peer_wait(const FlowContext& context) {
    if (only_responds(context.flow)) return requester_idle(context, State::peer_wait);
    return {fmt::format("{} waits for messages of {} before it sends {}, {} of the time ({}): a dialogue.",
                        context.sender, context.receiver, context.way, context.share(State::peer_wait), context.rate),
            "Its rate is one message a round trip; see the answer about latency. More dialogues at a time give more."};
}

Words not_limited(const FlowContext& context) {
    return {fmt::format("Nothing holds the flow back for long {}: {}.", context.way, context.rate),
            "Nothing needs to be done."};
}

/// Packets the other way whose flow might be the missing half, but is unpaired too.
bool has_unpaired_reverse(const Subject& subject, const FlowSnapshot& flow) {
    const std::vector<FlowSnapshot>& flows = subject.snapshot().flows;
    return std::any_of(flows.begin(), flows.end(), [&flow](const FlowSnapshot& other) {
        return !other.reverse && other.transport == flow.transport && other.service == flow.service &&
               other.source.address == flow.destination.address && other.destination.address == flow.source.address;
    });
}

/// What is outstanding is not known, and most of the time passes between messages.
Words unknown_depth(const FlowContext& context) {
    const std::string share = context.share(between_messages_ns(context.flow));
    const bool unpaired = has_unpaired_reverse(context.subject, context.flow);
    const std::string why = unpaired ? "none of the answers in the capture could be matched with it"
                                     : "the other direction is not in the capture";
    const std::string advice =
        unpaired ? "Capture both directions by one clock (one interface, or a port that mirrors both), from the set-up "
                   "of the connection on."
                 : "Capture both directions: `rdmascope dump -i IFACE -s 128 -w FILE` at either end, or a port that "
                   "mirrors both.";
    if (only_responds(context.flow))
        return {fmt::format("READ responses pass {} with {}, and {} of the time none is under way: whether {} asks for "
                            "too little or {} answers late, its requests would tell, but {}.",
                            context.way, context.rate, share, context.receiver, context.sender, why),
                advice};
    return {fmt::format("What is sent {} moves {}, and {} of the time passes between messages: whether the application "
                        "posts too little or waits for answers is unknown: {}.",
                        context.way, context.rate, share, why),
            advice + fmt::format(" Or trace the program on {}: `rdmascope run --trace FILE`.", context.sender)};
}

Words undecidable(const FlowContext& context) {
    const FlowSnapshot& flow = context.flow;
    if (too_little(flow) && !partly_read(flow))
        return {fmt::format("Too little was sent to judge bandwidth: {} in all.",
                            counted(flow.messages_total(), "message")),
                "Capture while the load runs."};
    if (partly_read(flow)) {
        const double unread =
            ratio(static_cast<double>(flow.tcp->unread_bytes), static_cast<double>(flow.tcp->connection_bytes));
        const bool cut = context.subject.snapshot().capture.truncated != 0;
        return {
            fmt::format("{} of the bytes {} and back cannot be followed as FPDUs{}.", percent(unread), context.way,
                        cut ? ": their segments hold many, and the capture only the beginning of each segment" : ""),
            unread_advice(context.subject)};
    }
    if (flow.wall_ns() == 0)
        return {fmt::format("All packets {} have one time, so no rate can be computed.", context.way),
                "Capture with time stamps that differ between packets, and while the load runs."};
    if (share_of(flow, {State::unobserved}, flow.wall_ns()) < unobserved_share && !knows_depth(flow))
        return unknown_depth(context);
    return {fmt::format("Too much of the traffic {} is not in the capture to judge bandwidth.", context.way),
            "Capture again without drops: `rdmascope dump -s 128 -B 65536 -w FILE`, and both directions."};
}

struct Case {
    Verdict verdict;
    Words (*words)(const FlowContext&);
};
constexpr std::array<Case, 18> cases{{
    {Verdict::link_full, link_full},
    {Verdict::read_depth, read_depth},
    {Verdict::receive_window, receive_window},
    {Verdict::credit, credit},
    {Verdict::window_queueing, window_queueing},
    {Verdict::window_too_small, window_too_small},
    {Verdict::paced_or_window, paced_or_window},
    {Verdict::link_shared, link_shared},
    {Verdict::congestion_paced, congestion_paced},
    {Verdict::pause, pause},
    {Verdict::nic_stall, nic_stall},
    {Verdict::posted_not_sent, posted_not_sent},
    {Verdict::slow_polling, slow_polling},
    {Verdict::small_messages, small_messages},
    {Verdict::application_depth, application_depth},
    {Verdict::application_idle, application_idle},
    {Verdict::peer_wait, peer_wait},
    {Verdict::not_limited, not_limited},
}};

}  // namespace

BandwidthWords bandwidth_words(const Subject& subject, Verdict verdict, const FlowSnapshot& flow) {
    const FlowContext context{subject,
                              flow,
                              subject.from_to({&flow}),
                              subject.short_name(flow.source.address),
                              subject.short_name(flow.destination.address),
                              rate_words(flow)};
    const auto found = std::ranges::find(cases, verdict, &Case::verdict);
    return found == cases.end() ? undecidable(context) : found->words(context);
}

}  // namespace metrics::answers
