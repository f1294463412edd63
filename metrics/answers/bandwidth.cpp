// Why is there not more bandwidth? First what is wrong; where nothing is, what binds the flow that moved most.
#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <span>

#include "metrics/answers/ends.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/repairs.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/trace_evidence.h"
#include "metrics/answers/unreachable.h"

namespace metrics::inline answers {

namespace {

double share_of(const FlowSnapshot& flow, std::initializer_list<State> states, std::uint64_t whole) {
    return ratio(static_cast<double>(time_in(flow, states)), static_cast<double>(whole));
}

double mean_message(const FlowSnapshot& flow) {
    const std::uint64_t messages = flow.messages_total();
    return messages == 0 ? 0 : static_cast<double>(flow.message_bytes_total()) / static_cast<double>(messages);
}

bool was_paused(const Subject& subject, const FlowSnapshot& flow) {
    return std::any_of(subject.snapshot().pauses.begin(), subject.snapshot().pauses.end(),
                       [&](const PauseSnapshot& pause) {
                           if (pause.interface != flow.interface) return false;
                           return pause.pause_frames + pause.pfc_frames > 0;
                       });
}

/// The sender stops in the middle of messages.
Verdict verdict_of_stalls(const Subject& subject, const FlowSnapshot& flow) {
    return was_paused(subject, flow) ? Verdict::pause : Verdict::nic_stall;
}

/// The share of the wall time in which the direction that carries the payload was sending. READ data run the other way.
double sending_share(const Subject& subject, const FlowSnapshot& flow) {
    double share = share_of(flow, {State::transmit_new, State::transmit_again}, flow.wall_ns());
    if (const FlowSnapshot* other = subject.reverse(flow); other != nullptr && only_requests_responses(flow))
        share = std::max(share, share_of(*other, {State::transmit_new, State::transmit_again}, other->wall_ns()));
    return share;
}

/// Messages outstanding on average, below which the application is idle whatever its gaps were named.
constexpr double least_in_flight = 0.01;

bool too_little(const FlowSnapshot& flow) { return flow.messages_total() < few_messages && flow.packets < few_packets; }

/// The rate of a link is the fastest that was seen: jitter on a full link is counted as stalls.
bool fills_link(const Subject& subject, const FlowSnapshot& flow) {
    const double sending = sending_share(subject, flow);
    // If posts show that work was held back between messages, the stall is not jitter.
    const double stalled = ratio(static_cast<double>(time_in(flow, {State::nic_stall}) - held_ns(flow)),
                                 static_cast<double>(flow.wall_ns()));
    return sending >= full_share || (sending >= 0.5 && sending + stalled >= 0.9);
}

struct Candidate {
    double share;
    Verdict verdict;
};

const Candidate& most_of(std::span<const Candidate> candidates) {
    return *std::max_element(candidates.begin(), candidates.end(),
                             [](const Candidate& a, const Candidate& b) { return a.share < b.share; });
}

/// READ responses and nothing else. Their sender waits for the requester: what names an application is that one's.
bool only_responds(const FlowSnapshot& flow) {
    const bool may_respond = flow.service == Service::rc || flow.service == Service::xrc;
    return may_respond && flow.payload_bytes > 0 && flow.messages_total() == 0 && !only_begun(flow);
}

/// States whose difference is what was outstanding.
bool rests_on_depth(State state) {
    return group_of(state) == StateGroup::window || group_of(state) == StateGroup::application;
}

/// Time in those states, without the time that completions explain.
std::uint64_t between_messages_ns(const FlowSnapshot& flow) {
    std::uint64_t sum = 0;
    for (std::size_t state = 0; state < state_count; ++state)
        if (rests_on_depth(static_cast<State>(state))) sum += flow.state_ns[state];
    return sum - unpolled_ns(flow);
}

/// If what is outstanding is not known. A gap inside a message is still the sender's, and traced posts are still known.
Verdict verdict_without_depth(const Subject& subject, const FlowSnapshot& flow) {
    const auto part = [&flow](std::uint64_t ns) {
        return ratio(static_cast<double>(ns), static_cast<double>(flow.wall_ns()));
    };
    const Candidate stalls{part(time_in(flow, {State::nic_stall}) - held_ns(flow)), verdict_of_stalls(subject, flow)};
    const std::array<Candidate, 6> candidates{
        {{part(between_messages_ns(flow)), Verdict::undecidable},
         {part(time_in(flow, {State::link_shared})), Verdict::link_shared},
         {part(time_in(flow, {State::congestion_paced})), Verdict::congestion_paced},
         stalls,
         {part(held_ns(flow)), Verdict::posted_not_sent},
         {part(unpolled_ns(flow)), Verdict::slow_polling}}};
    const Candidate& most = most_of(candidates);
    if (most.share < binding_share) return Verdict::not_limited;
    const bool held_back = flow.vantage == Vantage::receiver && stalls.share >= binding_share;  // as in verdict_of()
    return most.verdict == Verdict::undecidable && held_back ? stalls.verdict : most.verdict;
}

/// Whether only the sender's habit speaks for its window: what is outstanding at the tap is far from it, and nothing
/// shows how far away the sender is. A window that is seen is nearly full while it holds the sender.
bool window_is_hidden(const Subject& subject, const FlowSnapshot& flow, double window_share) {
    constexpr double seen_part = 0.25;
    const FlowSnapshot* const reverse = subject.reverse(flow);
    if (reverse != nullptr && reverse->round_trip_min_ns) return false;
    return flow.messages_mean < seen_part * window_share * static_cast<double>(flow.messages_max);
}

/// What takes most of the time, where what is outstanding is known.
Candidate longest_wait(const Subject& subject, const FlowSnapshot& flow) {
    const std::uint64_t wall = flow.wall_ns();
    const bool iwarp = flow.transport == wire::Transport::iwarp;
    const double window = share_of(flow, {State::ack_window}, wall);
    const double queued = ratio(static_cast<double>(flow.queueing_ns), static_cast<double>(wall));
    const bool in_queue = queued > 0.5 * window && sending_share(subject, flow) >= binding_share;
    const Verdict full_window = in_queue                                  ? Verdict::window_queueing
                                : window_is_hidden(subject, flow, window) ? Verdict::paced_or_window
                                                                          : Verdict::window_too_small;
    // Where nothing is outstanding, more of it at a time is no advice.
    const bool in_flight = flow.messages_mean >= least_in_flight;
    const Verdict pausing = in_flight ? Verdict::application_depth : Verdict::application_idle;
    const auto part = [wall](std::uint64_t ns) { return ratio(static_cast<double>(ns), static_cast<double>(wall)); };
    // Time that posts and completions explain is not counted in the state that packets alone show.
    const auto without = [&](State state, std::uint64_t known) { return part(time_in(flow, {state}) - known); };
    const auto posting = [&](State state) { return without(state, unpolled_ns(flow, state)); };
    const double paused = in_flight ? 0 : posting(State::application_in_flight);
    const std::array<Candidate, 11> candidates{{
        {share_of(flow, {State::read_window}, wall), Verdict::read_depth},
        {share_of(flow, {State::credit}, wall), iwarp ? Verdict::receive_window : Verdict::credit},
        {window, full_window},
        {share_of(flow, {State::link_shared}, wall), Verdict::link_shared},
        {share_of(flow, {State::congestion_paced}, wall), Verdict::congestion_paced},
        {without(State::nic_stall, held_ns(flow)), verdict_of_stalls(subject, flow)},
        {part(held_ns(flow)), Verdict::posted_not_sent},
        {part(unpolled_ns(flow)), Verdict::slow_polling},
        {posting(State::application_in_flight), pausing},
        {posting(State::application_idle) + paused, Verdict::application_idle},
        {posting(State::peer_wait), Verdict::peer_wait},
    }};
    return most_of(candidates);
}

/// The fixed cost of each message looks like one of these.
bool may_come_from_small_messages(Verdict verdict) {
    switch (verdict) {
        case Verdict::application_depth:
        case Verdict::application_idle:
        case Verdict::window_too_small:
        case Verdict::paced_or_window:
        case Verdict::nic_stall:
        case Verdict::posted_not_sent: return true;
        default: return false;
    }
}

/// Whatever takes most of the time names the verdict.
Verdict bandwidth_verdict(const Subject& subject, const FlowSnapshot& flow) {
    const std::uint64_t wall = flow.wall_ns();
    if (wall == 0 || too_little(flow) || partly_read(flow)) return Verdict::undecidable;
    if (share_of(flow, {State::unobserved}, wall) >= unobserved_share) return Verdict::undecidable;
    if (fills_link(subject, flow)) return Verdict::link_full;
    if (!knows_depth(flow)) return verdict_without_depth(subject, flow);
    const Candidate most = longest_wait(subject, flow);
    if (most.share < binding_share) return Verdict::not_limited;
    // Near the receiver everything is acknowledged at once, so that a sender that is held back between messages looks
    // as if it had nothing to send; one that stops within them has been seen to be held back.
    if (most.verdict == Verdict::application_idle && flow.vantage == Vantage::receiver &&
        share_of(flow, {State::nic_stall}, wall) >= binding_share)
        return verdict_of_stalls(subject, flow);
    const bool pipelined = flow.messages_max >= 4 && flow.messages_mean >= 1 && flow.messages_total() > 0;
    if (pipelined && mean_message(flow) <= small_message_bytes && may_come_from_small_messages(most.verdict))
        return Verdict::small_messages;
    return most.verdict;
}

struct Words {
    std::string summary;
    std::string advice;
};

/// The rate of the messages that ended; if none did, of the bytes that passed.
std::optional<double> rate_of(const FlowSnapshot& flow) {
    const auto goodput = flow.goodput_bytes_per_sec();
    if (!goodput || flow.messages_total() > 0) return goodput;
    return static_cast<double>(flow.payload_bytes) * 1e9 / static_cast<double>(flow.wall_ns());
}

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

/// The bound that a full window sets: bytes that may be outstanding, divided by the round trip.
std::optional<double> window_bound(const FlowSnapshot& flow) {
    if (!flow.round_trip_min_ns || *flow.round_trip_min_ns == 0 || flow.bytes_max == 0) return std::nullopt;
    return static_cast<double>(flow.bytes_max) * 1e9 / static_cast<double>(*flow.round_trip_min_ns);
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

Words words_for(const Subject& subject, Verdict verdict, const FlowSnapshot& flow) {
    const FlowContext context{subject,
                              flow,
                              subject.from_to({&flow}),
                              subject.short_name(flow.source.address),
                              subject.short_name(flow.destination.address),
                              rate_words(flow)};
    const auto found = std::ranges::find(cases, verdict, &Case::verdict);
    return found == cases.end() ? undecidable(context) : found->words(context);
}

void add_rates(const FlowSnapshot& flow, Answer& answer) {
    if (const auto rate = rate_of(flow))
        add_evidence(answer, flow.messages_total() > 0 ? "goodput" : "payload that passed", *rate,
                     EvidenceUnit::bytes_per_second);
    if (!flow.link_bits_per_sec) return;
    const double link = static_cast<double>(*flow.link_bits_per_sec) / 8;
    add_evidence(answer, "link rate", link, EvidenceUnit::bytes_per_second);
    const auto on_wire = static_cast<double>(bytes_on_link(flow.wire_bytes, flow.packets));
    if (flow.payload_bytes > 0 && !only_requests_responses(flow))
        add_evidence(answer, "possible with these headers",
                     link * ratio(static_cast<double>(flow.payload_bytes), on_wire), EvidenceUnit::bytes_per_second);
}

void add_window(const FlowSnapshot& flow, Answer& answer) {
    if (knows_depth(flow)) {
        add_evidence(answer, "messages outstanding, mean", flow.messages_mean, EvidenceUnit::messages);
        add_evidence(answer, "messages outstanding, most", static_cast<double>(flow.messages_max),
                     EvidenceUnit::messages);
    }
    if (flow.round_trip_min_ns)
        add_evidence(answer, "least round trip", static_cast<double>(*flow.round_trip_min_ns), EvidenceUnit::ns);
    const bool of_receiver = answer.verdict == Verdict::receive_window;
    const bool hidden = answer.verdict == Verdict::paced_or_window;
    // Where TCP's window decides, what was outstanding is no bound of the sender's own.
    if (const auto bound = window_bound(flow); bound && knows_depth(flow) && !of_receiver && !hidden)
        add_evidence(answer, "possible with this window", *bound, EvidenceUnit::bytes_per_second);
    if (of_receiver && flow.tcp && flow.tcp->receive_window_min) {
        add_evidence(answer, "receive window, least", static_cast<double>(*flow.tcp->receive_window_min),
                     EvidenceUnit::bytes);
        add_evidence(answer, "receive window, most", static_cast<double>(flow.tcp->receive_window_max.value_or(0)),
                     EvidenceUnit::bytes);
    }
}

void add_times(const FlowSnapshot& flow, Answer& answer) {
    const auto wall = static_cast<double>(flow.wall_ns());
    if (!knows_depth(flow))
        add_evidence(answer, "time between messages", ratio(static_cast<double>(between_messages_ns(flow)), wall),
                     EvidenceUnit::share);
    for (std::size_t state = 0; state < state_count; ++state) {
        if (!knows_depth(flow) && rests_on_depth(static_cast<State>(state))) continue;
        const double share = ratio(static_cast<double>(flow.state_ns[state]), wall);
        if (share < 0.005) continue;
        std::vector<std::uint64_t> frames;
        if (state == index_of(State::nic_stall)) frames = frames_of({&flow}, {EventKind::long_gap});
        if (state == index_of(State::credit))
            frames = frames_of({&flow}, {EventKind::zero_window, EventKind::credit_exhausted});
        add_evidence(answer, "time in " + std::string(state_names[state]), share, EvidenceUnit::share,
                     std::move(frames));
    }
}

void add_figures(const Subject& subject, const FlowSnapshot& flow, Answer& answer) {
    add_rates(flow, answer);
    add_evidence(answer, "mean message", mean_message(flow), EvidenceUnit::bytes);
    add_window(flow, answer);
    add_times(flow, answer);
    add_traced(answer, flow);
    if (const FlowSnapshot* other = subject.reverse(flow); other != nullptr && only_requests_responses(flow))
        add_evidence(answer, "responder sending", sending_share(subject, flow), EvidenceUnit::share);
}

std::uint64_t moved(const FlowSnapshot& flow) { return std::max(flow.message_bytes_total(), flow.payload_bytes); }

/// The flow that moved most. Flows with messages come first: what they wait for is known.
const FlowSnapshot* busiest_sender(const Flows& flows) {
    const FlowSnapshot* best = nullptr;
    for (const FlowSnapshot* flow : flows) {
        if (!carries_data(*flow)) continue;
        const auto rank = [](const FlowSnapshot& f) { return std::make_pair(f.messages_total() > 0, moved(f)); };
        if (best == nullptr || rank(*flow) > rank(*best)) best = flow;
    }
    return best;
}

/// MPA's Reply was accepted, and no FPDU came from either side.
bool holds_silent_streams(const Subject& subject) {
    const auto is_silent = [](const FlowSnapshot& flow) { return !carries_data(flow) && flow.terminates == 0; };
    return std::any_of(subject.flows().begin(), subject.flows().end(), [&](const FlowSnapshot* flow) {
        const bool rejected = flow->connection->end_kind == EndKind::mpa_rejected;
        const FlowSnapshot* const reverse = subject.reverse(*flow);
        return flow->transport == wire::Transport::iwarp && flow->connection->setup_ns && !rejected &&
               is_silent(*flow) && (reverse == nullptr || is_silent(*reverse));
    });
}

/// No RFC says how a start frame of another revision continues.
std::string unknown_revision(const Subject& subject) {
    constexpr std::uint32_t newest = 2;
    for (const FlowSnapshot* flow : subject.flows()) {
        const auto revision = flow->connection->mpa_revision;
        if (revision && (*revision == 0 || *revision > newest))
            return fmt::format(
                " iWARP connections were set up with MPA revision {}, which is not that of RFC 5044 (1) or RFC 6581 "
                "(2): "
                "what follows is not read.",
                *revision);
    }
    return {};
}

Answer nothing_moved(const Subject& subject) {
    std::vector<Affected> no_flows;
    Answer answer = finding(Question::bandwidth, Verdict::undecidable, no_flows);
    answer.summary = "No RDMA message was seen whose bandwidth could be judged.";
    answer.advice = "Capture while the load runs, both directions: `rdmascope dump -i IFACE -s 128 -w FILE`.";
    if (const std::string words = unknown_revision(subject); !words.empty()) {
        answer.summary += words;
        answer.advice =
            "See which driver set these connections up: an adapter may carry the data by a protocol of its own, past "
            "the kernel.";
        return answer;
    }
    if (!holds_silent_streams(subject)) return answer;
    answer.summary +=
        " iWARP connections were set up, and neither side sent anything on them: the accepting side may not be the "
        "first, unless both have agreed on peer-to-peer set-up (RFC 5044, 7.1.2).";
    answer.advice +=
        " For peer-to-peer set-up Linux siw has the parameter peer_to_peer, `rdmascope run` --peer-to-peer=on.";
    return answer;
}

/// This flow, and those between the same hosts with the same verdict.
std::vector<Affected> alike_flows(const Subject& subject, const FlowSnapshot& flow, Verdict verdict) {
    std::vector<Affected> alike;
    const auto most = static_cast<double>(std::max<std::uint64_t>(moved(flow), 1));
    for (const Group& group : subject.groups()) {
        if (std::ranges::find(group.flows, &flow) == group.flows.end()) continue;
        for (const FlowSnapshot* each : group.flows)
            if (each == &flow ||
                (carries_data(*each) && each->messages_total() > 0 && bandwidth_verdict(subject, *each) == verdict))
                alike.push_back({each, ratio(static_cast<double>(moved(*each)), most)});
    }
    return alike;
}

Answer bandwidth_answer(const Subject& subject) {
    const FlowSnapshot* flow = busiest_sender(subject.flows());
    if (flow == nullptr) return nothing_moved(subject);
    const Verdict verdict = bandwidth_verdict(subject, *flow);
    std::vector<Affected> alike = alike_flows(subject, *flow, verdict);
    Answer answer = finding(Question::bandwidth, verdict, alike);
    Words words = words_for(subject, verdict, *flow);
    answer.summary = std::move(words.summary);
    answer.advice = std::move(words.advice);
    answer.severity = 0;
    answer.alarm = false;
    answer.confidence *= 1 - ratio(static_cast<double>(flow->state_unsure_ns),
                                   static_cast<double>(std::max<std::uint64_t>(flow->wall_ns(), 1)));
    if (verdict == Verdict::undecidable) answer.confidence = 0;
    if (verdict == Verdict::receive_window && flow->tcp && was_shut(*flow->tcp)) {
        answer.alarm = true;
        answer.severity = share_of(*flow, {State::credit}, flow->wall_ns());
        answer.cost = {answer.severity, CostBasis::busy_time};
    }
    add_figures(subject, *flow, answer);
    return answer;
}

}  // namespace

void ask_bandwidth(const Subject& subject, std::vector<Answer>& out) {
    const std::size_t before = out.size();
    find_failed_connections(subject, out);
    find_errors(subject, out);
    find_unreachable(subject, out);
    find_ends(subject, out);
    find_repairs(subject, out);
    if (out.size() == before) out.push_back(bandwidth_answer(subject));
}

}  // namespace metrics::answers
