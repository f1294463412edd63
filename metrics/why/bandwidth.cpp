// Why is there not more bandwidth? First what is wrong; where nothing is, what binds the flow that moved most.
#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <span>

#include "metrics/why/scene.h"
#include "metrics/why/thresholds.h"
#include "metrics/why/words.h"

namespace metrics::why {

namespace {

double share_of(const FlowSnapshot& flow, std::initializer_list<State> states, std::uint64_t whole) {
    return ratio(static_cast<double>(time_in(flow, states)), static_cast<double>(whole));
}

double mean_message(const FlowSnapshot& flow) {
    const std::uint64_t messages = flow.messages_total();
    return messages == 0 ? 0 : static_cast<double>(flow.message_bytes_total()) / static_cast<double>(messages);
}

bool was_paused(const Scene& scene, const FlowSnapshot& flow) {
    return std::any_of(scene.snapshot().pauses.begin(), scene.snapshot().pauses.end(), [&](const PauseSnapshot& pause) {
        if (pause.interface != flow.interface) return false;
        return pause.pause_frames + pause.pfc_frames > 0;
    });
}

/// The share of the wall time in which the direction that carries the payload was sending. READ data run the other way.
double sending_share(const Scene& scene, const FlowSnapshot& flow) {
    double share = share_of(flow, {State::transmit_new, State::transmit_again}, flow.wall_ns());
    if (const FlowSnapshot* other = scene.reverse(flow); other != nullptr && only_requests_responses(flow))
        share = std::max(share, share_of(*other, {State::transmit_new, State::transmit_again}, other->wall_ns()));
    return share;
}

bool too_little(const FlowSnapshot& flow) { return flow.messages_total() < few_messages && flow.packets < few_packets; }

/// A link's learnt rate is the fastest that was seen, so what jitters at a full one is counted as stalls.
bool fills_link(const Scene& scene, const FlowSnapshot& flow) {
    const double sending = sending_share(scene, flow);
    // Where posts show that work was held back between messages, that is no jitter.
    const double stalled = ratio(static_cast<double>(time_in(flow, {State::nic_stall}) - held_ns(flow)),
                                 static_cast<double>(flow.wall_ns()));
    return sending >= full_share || (sending >= 0.5 && sending + stalled >= 0.9);
}

struct Candidate {
    double share;
    std::string_view verdict;
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

/// States that are told apart by what was outstanding.
bool rests_on_depth(State state) {
    return group_of(state) == StateGroup::window || group_of(state) == StateGroup::application;
}

/// Time in them, less what completions tell all the same.
std::uint64_t between_messages_ns(const FlowSnapshot& flow) {
    std::uint64_t sum = 0;
    for (std::size_t state = 0; state < state_count; ++state)
        if (rests_on_depth(static_cast<State>(state))) sum += flow.state_ns[state];
    return sum - unpolled_ns(flow);
}

/// Where what is outstanding cannot be told. A gap inside a message is the sender's all the same, and posts are posts.
std::string_view verdict_without_depth(const Scene& scene, const FlowSnapshot& flow) {
    const auto part = [&flow](std::uint64_t ns) {
        return ratio(static_cast<double>(ns), static_cast<double>(flow.wall_ns()));
    };
    const Candidate stalls{part(time_in(flow, {State::nic_stall}) - held_ns(flow)),
                           was_paused(scene, flow) ? "pause" : "nic_stall"};
    const std::array<Candidate, 6> candidates{{{part(between_messages_ns(flow)), "undecidable"},
                                               {part(time_in(flow, {State::link_shared})), "link_shared"},
                                               {part(time_in(flow, {State::congestion_paced})), "congestion_paced"},
                                               stalls,
                                               {part(held_ns(flow)), "posted_not_sent"},
                                               {part(unpolled_ns(flow)), "slow_polling"}}};
    const Candidate& most = most_of(candidates);
    if (most.share < binding_share) return "not_limited";
    const bool held_back = flow.vantage == Vantage::receiver && stalls.share >= binding_share;  // as in verdict_of()
    return most.verdict == "undecidable" && held_back ? stalls.verdict : most.verdict;
}

/// Whatever takes most of the time names the verdict.
std::string_view bandwidth_verdict(const Scene& scene, const FlowSnapshot& flow) {
    const std::uint64_t wall = flow.wall_ns();
    if (wall == 0 || too_little(flow) || partly_read(flow)) return "undecidable";
    if (share_of(flow, {State::unobserved}, wall) >= unobserved_share) return "undecidable";
    if (fills_link(scene, flow)) return "link_full";
    if (!knows_depth(flow)) return verdict_without_depth(scene, flow);
    const bool iwarp = flow.transport == dissect::Transport::iwarp;
    const double window = share_of(flow, {State::ack_window}, wall);
    const double queued = ratio(static_cast<double>(flow.queueing_ns), static_cast<double>(wall));
    const bool in_queue = queued > 0.5 * window && sending_share(scene, flow) >= binding_share;
    const auto part = [wall](std::uint64_t ns) { return ratio(static_cast<double>(ns), static_cast<double>(wall)); };
    // What only posts and completions tell is taken out of what packets alone would call it.
    const auto without = [&](State state, std::uint64_t known) { return part(time_in(flow, {state}) - known); };
    const auto posting = [&](State state) { return without(state, unpolled_ns(flow, state)); };
    const std::array<Candidate, 11> candidates{{
        {share_of(flow, {State::read_window}, wall), "read_depth"},
        {share_of(flow, {State::credit}, wall), iwarp ? "receive_window" : "credit"},
        {window, in_queue ? "window_queueing" : "window_too_small"},
        {share_of(flow, {State::link_shared}, wall), "link_shared"},
        {share_of(flow, {State::congestion_paced}, wall), "congestion_paced"},
        {without(State::nic_stall, held_ns(flow)), was_paused(scene, flow) ? "pause" : "nic_stall"},
        {part(held_ns(flow)), "posted_not_sent"},
        {part(unpolled_ns(flow)), "slow_polling"},
        {posting(State::application_in_flight), "application_depth"},
        {posting(State::application_idle), "application_idle"},
        {posting(State::peer_wait), "peer_wait"},
    }};
    const Candidate& most = most_of(candidates);
    if (most.share < binding_share) return "not_limited";
    // Near the receiver everything is acknowledged at once, so that a sender that is held back between messages looks
    // as if it had nothing to send; one that stops within them has been seen to be held back.
    if (most.verdict == "application_idle" && flow.vantage == Vantage::receiver &&
        share_of(flow, {State::nic_stall}, wall) >= binding_share)
        return was_paused(scene, flow) ? "pause" : "nic_stall";
    const bool pipelined = flow.messages_max >= 4 && flow.messages_mean >= 1;
    if (pipelined && mean_message(flow) <= small_message_bytes &&
        (most.verdict == "application_depth" || most.verdict == "application_idle" ||
         most.verdict == "window_too_small" || most.verdict == "nic_stall" || most.verdict == "posted_not_sent"))
        return "small_messages";
    return most.verdict;
}

struct Words {
    std::string summary;
    std::string advice;
};

/// Of the messages that ended; where none did, of what passed.
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
    return fmt::format(" The program posts {} at once, all that fit.", queue.max);
}

/// The bound that a full window sets: octets that may be outstanding, by the round trip.
std::optional<double> window_bound(const FlowSnapshot& flow) {
    if (!flow.round_trip_min_ns || *flow.round_trip_min_ns == 0 || flow.bytes_max == 0) return std::nullopt;
    return static_cast<double>(flow.bytes_max) * 1e9 / static_cast<double>(*flow.round_trip_min_ns);
}

/// What is told about one flow.
struct Told {
    const Scene& scene;
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

Words link_full(const Told& told) {
    const double sending = sending_share(told.scene, told.flow);
    const auto link = told.flow.link_bits_per_sec;
    const std::string fastest = link ? bit_rate(static_cast<double>(*link) / 8) : std::string();
    if (sending < full_share)
        return {fmt::format("The path {} is full: frames follow each other without long pauses, {} of payload{}.",
                            told.way, told.rate, link ? ", at their fastest " + fastest : ""),
                fmt::format("If the link is faster than that, a rate limit or a narrow hop paces them: see `tc -s "
                            "qdisc` on {}, the adapter's limits per priority, and the shapers of the switches; "
                            "--link-rate tells this program what the link carries.",
                            told.sender)};
    return {fmt::format("The link is full {}: it carries frames {} of the time, {} of payload{}.", told.way,
                        percent(sending), told.rate, link ? " at " + fastest : ""),
            fmt::format("Compare that rate with the port's (`ethtool DEVICE`, `rdma link show` on {}): if it is below, "
                        "a rate limit or a narrow hop holds it (`tc -s qdisc`, the switch's shaper, PCIe width in "
                        "`lspci -vv`). If it is the port's, only a faster link or a larger path MTU gives more.",
                        told.sender)};
}

/// What was agreed on is the limit where it is kept.
std::string read_limit(const FlowSnapshot& flow) {
    const auto agreed = flow.connection.initiator_depth;
    if (!agreed) return fmt::format("{}, the most that was seen", number(flow.responses_max));
    if (flow.responses_max > *agreed)
        return fmt::format("{}, though ORD {} was agreed on", number(flow.responses_max), *agreed);
    return fmt::format("ORD {}", *agreed);
}

Words read_depth(const Told& told) {
    const FlowSnapshot& flow = told.flow;
    return {fmt::format("The limit of outstanding READs and atomics ({}) is reached {}, and {} of the time is "
                        "spent waiting for one to return ({}).",
                        read_limit(flow), told.way, told.share(State::read_window), told.rate),
            fmt::format("Raise initiator_depth on {} and responder_resources on {} when connecting (max_rd_atomic, "
                        "max_dest_rd_atomic; `ibv_devinfo -v` shows what the devices bear), or read more octets at a "
                        "time.",
                        told.sender, told.receiver)};
}

Words receive_window(const Told& told) {
    const bool shut = told.flow.tcp && was_shut(*told.flow.tcp);
    return {fmt::format("The TCP receive window of {} is full {} of the time ({}).", told.receiver,
                        told.share(State::credit), told.rate),
            shut ? fmt::format("The window was closed: {} does not read. See what holds its receiver up: CPU, receives "
                               "that are posted late, an application that polls seldom. A larger net.ipv4.tcp_rmem "
                               "only puts it off.",
                               told.receiver)
                 : fmt::format("On {} raise net.ipv4.tcp_rmem, and see why its receiver does not read faster (CPU, "
                               "posted receives).",
                               told.receiver)};
}

Words credit(const Told& told) {
    return {fmt::format("{} waits for end-to-end credits {} of the time {} ({}): too few receives are posted.",
                        told.sender, told.share(State::credit), told.way, told.rate),
            fmt::format("On {} post more receives and post them earlier.", told.receiver)};
}

Words window_queueing(const Told& told) {
    return {fmt::format("The window {} is full, and its packets sit in a queue for most of the round trip ({}).",
                        told.way, told.rate),
            "More depth will not help, it only waits longer. The narrowest hop decides: see its rate and who shares "
            "it."};
}

Words window_too_small(const Told& told) {
    const FlowSnapshot& flow = told.flow;
    auto bound = window_bound(flow);
    if (bound && flow.link_bits_per_sec && *bound * 8 > static_cast<double>(*flow.link_bits_per_sec)) bound.reset();
    return {fmt::format("{} has at most {} outstanding {} and waits for acknowledgements {} of the time ({}{}).",
                        told.sender, counted(flow.messages_max, "message"), told.way, told.share(State::ack_window),
                        told.rate, bound ? "; this window allows at most " + bit_rate(*bound) : std::string()),
            fmt::format("Raise the depth of the send queue (max_send_wr, perftest's --tx-depth) or the size of "
                        "messages on {}: link rate times round trip is what must be outstanding.",
                        told.sender) +
                depth_advice(flow)};
}

Words link_shared(const Told& told) {
    return {fmt::format("Other flows of {} fill the link while messages {} wait, {} of the time ({}).", told.sender,
                        told.way, told.share(State::link_shared), told.rate),
            "Look at `rdmascope flows` for the flows of that host; spread them over ports, or give them priorities."};
}

Words congestion_paced(const Told& told) {
    return {fmt::format("Marks of congestion slow {} down {}: {} of the time ({}).", told.sender, told.way,
                        told.share(State::congestion_paced), told.rate),
            "See the answer about congestion."};
}

Words pause(const Told& told) {
    return {fmt::format("{} stalls in the middle of messages {}, {} of the time, while PAUSE frames arrive ({}).",
                        told.sender, told.way, told.share(State::nic_stall), told.rate),
            "See the answer about congestion."};
}

Words nic_stall(const Told& told) {
    return {fmt::format("{} stalls in the middle of messages {}, {} of the time ({}); the work was posted, so it is "
                        "not the application.",
                        told.sender, told.way, told.share(State::nic_stall), told.rate),
            fmt::format("On {} look at rx pause counters, PCIe width and errors (`lspci -vv`), IOMMU, the CPU's power "
                        "states and, for software stacks, CPU load; at a rate limit (`tc -s qdisc`, the adapter's "
                        "per-priority limits).",
                        told.sender)};
}

Words posted_not_sent(const Told& told) {
    return {fmt::format("{} has work posted {} and the adapter or its driver does not send it, {} of the time ({}).",
                        program_on(told.scene, told.flow), told.way, told.share(held_ns(told.flow)), told.rate),
            fmt::format("It is not the program. On {} look at rate limits, rx pause counters, PCIe and the CPU's power "
                        "states; for software stacks, at the CPU of the thread that sends.",
                        told.sender)};
}

Words slow_polling(const Told& told) {
    return {fmt::format("{} looks late at its completions {} and posts nothing before, {} of the time ({}).",
                        program_on(told.scene, told.flow), told.way, told.share(unpolled_ns(told.flow)), told.rate),
            "Poll the completion queue more often, or by a thread of its own, and more completions at a time; post "
            "more work at once, so that the queue does not run dry meanwhile."};
}

Words small_messages(const Told& told) {
    const std::uint64_t wall = told.flow.wall_ns();
    const double a_second =
        wall == 0 ? 0 : static_cast<double>(told.flow.messages_total()) * 1e9 / static_cast<double>(wall);
    return {fmt::format("Messages {} have {} each; {} a second are {}.", told.way, octets(mean_message(told.flow)),
                        rough(a_second), told.rate),
            "Join messages, or use more queue pairs and threads: the cost of each message is the limit. Inline data, "
            "unsignalled sends and posting in lists make each cheaper."};
}

/// Of READ responses, what names an application is the requester's.
Words requester_idle(const Told& told, State state) {
    return {
        fmt::format("{} asks for too little at a time: READ responses {} wait for its requests, {} of the time ({}).",
                    told.receiver, told.way, told.share(state), told.rate),
        fmt::format("On {} keep more READs outstanding, or read more octets at a time.", told.receiver)};
}

Words application_depth(const Told& told) {
    if (only_responds(told.flow)) return requester_idle(told, State::application_in_flight);
    return {fmt::format("The application keeps {} outstanding on average {} and pauses between posts, {} of the time "
                        "({}).",
                        rough(told.flow.messages_mean), told.way, told.share(State::application_in_flight), told.rate),
            fmt::format("On {} post the next work request before the last has completed; see what the thread does "
                        "between posts (CPU, polling, locks).",
                        told.sender)};
}

Words application_idle(const Told& told) {
    if (only_responds(told.flow)) return requester_idle(told, State::application_idle);
    return {fmt::format("The application posts nothing {}, {} of the time ({}).", told.way,
                        told.share(State::application_idle), told.rate),
            fmt::format("Nothing is wrong on the way. If more was expected, see on {} what its program waits for.",
                        told.sender)};
}

Words peer_wait(const Told& told) {
    if (only_responds(told.flow)) return requester_idle(told, State::peer_wait);
    return {fmt::format("{} waits for messages of {} before it sends {}, {} of the time ({}): a dialogue.", told.sender,
                        told.receiver, told.way, told.share(State::peer_wait), told.rate),
            "Its rate is one message a round trip; see the answer about latency. More dialogues at a time give more."};
}

Words not_limited(const Told& told) {
    return {fmt::format("Nothing holds the flow back for long {}: {}.", told.way, told.rate),
            "Nothing needs to be done."};
}

/// Packets the other way whose flow might be the other half, but found none either.
bool holds_strangers(const Scene& scene, const FlowSnapshot& flow) {
    const std::vector<FlowSnapshot>& flows = scene.snapshot().flows;
    return std::any_of(flows.begin(), flows.end(), [&flow](const FlowSnapshot& other) {
        return !other.reverse && other.transport == flow.transport && other.service == flow.service &&
               other.source.address == flow.destination.address && other.destination.address == flow.source.address;
    });
}

/// What is outstanding is not known, and most of the time passes between messages.
Words unknown_depth(const Told& told) {
    const std::string share = told.share(between_messages_ns(told.flow));
    const bool strangers = holds_strangers(told.scene, told.flow);
    const std::string why = strangers ? "none of the answers in the capture could be matched with it"
                                      : "the other direction is not in the capture";
    const std::string advice =
        strangers
            ? "Capture both directions by one clock (one interface, or a port that mirrors both), from the set-up "
              "of the connection on."
            : "Capture both directions: `rdmascope dump -i IFACE -s 128 -w FILE` at either end, or a port that "
              "mirrors both.";
    if (only_responds(told.flow))
        return {fmt::format("READ responses pass {} with {}, and {} of the time none is under way: whether {} asks for "
                            "too little or {} answers late, its requests would tell, but {}.",
                            told.way, told.rate, share, told.receiver, told.sender, why),
                advice};
    return {fmt::format("What is sent {} moves {}, and {} of the time passes between messages: whether the application "
                        "posts too little or waits for answers cannot be told, for {}.",
                        told.way, told.rate, share, why),
            advice + fmt::format(" Or trace the program on {}: `rdmascope run --trace FILE`.", told.sender)};
}

Words undecidable(const Told& told) {
    const FlowSnapshot& flow = told.flow;
    if (too_little(flow) && !partly_read(flow))
        return {fmt::format("Too little was sent to judge bandwidth: {} in all.",
                            counted(flow.messages_total(), "message")),
                "Capture while the load runs."};
    if (partly_read(flow)) {
        const double unread =
            ratio(static_cast<double>(flow.tcp->unread_bytes), static_cast<double>(flow.tcp->connection_bytes));
        const bool cut = told.scene.snapshot().capture.truncated != 0;
        return {
            fmt::format("{} of the octets {} and back cannot be followed as FPDUs{}.", percent(unread), told.way,
                        cut ? ": their segments hold many, and the capture only the beginning of each segment" : ""),
            unread_advice(told.scene)};
    }
    if (share_of(flow, {State::unobserved}, flow.wall_ns()) < unobserved_share && !knows_depth(flow))
        return unknown_depth(told);
    return {fmt::format("Too much of the traffic {} is not in the capture to judge bandwidth.", told.way),
            "Capture again without drops: `rdmascope dump -s 128 -B 65536 -w FILE`, and both directions."};
}

struct Case {
    std::string_view verdict;
    Words (*words)(const Told&);
};
constexpr std::array<Case, 17> cases{{
    {"link_full", link_full},
    {"read_depth", read_depth},
    {"receive_window", receive_window},
    {"credit", credit},
    {"window_queueing", window_queueing},
    {"window_too_small", window_too_small},
    {"link_shared", link_shared},
    {"congestion_paced", congestion_paced},
    {"pause", pause},
    {"nic_stall", nic_stall},
    {"posted_not_sent", posted_not_sent},
    {"slow_polling", slow_polling},
    {"small_messages", small_messages},
    {"application_depth", application_depth},
    {"application_idle", application_idle},
    {"peer_wait", peer_wait},
    {"not_limited", not_limited},
}};

Words words_for(const Scene& scene, std::string_view verdict, const FlowSnapshot& flow) {
    const Told told{scene,
                    flow,
                    scene.from_to({&flow}),
                    scene.short_name(flow.source.address),
                    scene.short_name(flow.destination.address),
                    rate_words(flow)};
    const auto found = std::ranges::find(cases, verdict, &Case::verdict);
    return found == cases.end() ? undecidable(told) : found->words(told);
}

void add_figures(const Scene& scene, const FlowSnapshot& flow, Answer& answer) {
    if (const auto rate = rate_of(flow))
        add_evidence(answer, flow.messages_total() > 0 ? "goodput" : "payload that passed", *rate, "bytes/s");
    if (flow.link_bits_per_sec) {
        add_evidence(answer, "link rate", static_cast<double>(*flow.link_bits_per_sec) / 8, "bytes/s");
        const auto on_wire = static_cast<double>(flow.wire_bytes + 24 * flow.packets);  // preamble, FCS, gap
        if (flow.payload_bytes > 0 && !only_requests_responses(flow))
            add_evidence(answer, "possible with these headers",
                         static_cast<double>(*flow.link_bits_per_sec) / 8 *
                             ratio(static_cast<double>(flow.payload_bytes), on_wire),
                         "bytes/s");
    }
    add_evidence(answer, "mean message", mean_message(flow), "bytes");
    if (knows_depth(flow)) {
        add_evidence(answer, "messages outstanding, mean", flow.messages_mean, "messages");
        add_evidence(answer, "messages outstanding, most", static_cast<double>(flow.messages_max), "messages");
    }
    if (flow.round_trip_min_ns)
        add_evidence(answer, "least round trip", static_cast<double>(*flow.round_trip_min_ns), "ns");
    // Where TCP's window decides, what was outstanding is no bound of the sender's own.
    if (const auto bound = window_bound(flow); bound && knows_depth(flow) && answer.verdict != "receive_window")
        add_evidence(answer, "possible with this window", *bound, "bytes/s");
    if (answer.verdict == "receive_window" && flow.tcp && flow.tcp->receive_window_min) {
        add_evidence(answer, "receive window, least", static_cast<double>(*flow.tcp->receive_window_min), "bytes");
        add_evidence(answer, "receive window, most", static_cast<double>(flow.tcp->receive_window_max.value_or(0)),
                     "bytes");
    }
    const std::uint64_t wall = flow.wall_ns();
    if (!knows_depth(flow))
        add_evidence(answer, "time between messages",
                     ratio(static_cast<double>(between_messages_ns(flow)), static_cast<double>(wall)), "share");
    for (std::size_t state = 0; state < state_count; ++state) {
        if (!knows_depth(flow) && rests_on_depth(static_cast<State>(state))) continue;
        const double share = ratio(static_cast<double>(flow.state_ns[state]), static_cast<double>(wall));
        if (share < 0.005) continue;
        std::vector<std::uint64_t> frames;
        if (state == index_of(State::nic_stall)) frames = frames_of({&flow}, {EventKind::long_gap});
        if (state == index_of(State::credit))
            frames = frames_of({&flow}, {EventKind::zero_window, EventKind::credit_exhausted});
        add_evidence(answer, "time in " + std::string(state_names[state]), share, "share", std::move(frames));
    }
    add_traced(answer, flow);
    if (const FlowSnapshot* other = scene.reverse(flow); other != nullptr && only_requests_responses(flow))
        add_evidence(answer, "responder sending", sending_share(scene, flow), "share");
}

std::uint64_t moved(const FlowSnapshot& flow) { return std::max(flow.message_bytes_total(), flow.payload_bytes); }

/// The flow that moved most; those with messages first, for they know what they wait for.
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
bool holds_silent_streams(const Scene& scene) {
    const auto is_silent = [](const FlowSnapshot& flow) { return !carries_data(flow) && flow.terminates == 0; };
    return std::any_of(scene.flows().begin(), scene.flows().end(), [&](const FlowSnapshot* flow) {
        const bool rejected = flow->connection.end.starts_with("MPA reply: rejected");
        const FlowSnapshot* const reverse = scene.reverse(*flow);
        return flow->transport == dissect::Transport::iwarp && flow->connection.setup_ns && !rejected &&
               is_silent(*flow) && (reverse == nullptr || is_silent(*reverse));
    });
}

Answer bandwidth_answer(const Scene& scene) {
    const FlowSnapshot* flow = busiest_sender(scene.flows());
    std::vector<Sick> alike;
    if (flow == nullptr) {
        Answer answer = finding(Question::bandwidth, "undecidable", alike);
        answer.summary = "The capture holds no RDMA message of which the bandwidth could be judged.";
        answer.advice = "Capture while the load runs, both directions: `rdmascope dump -i IFACE -s 128 -w FILE`.";
        if (!holds_silent_streams(scene)) return answer;
        answer.summary +=
            " iWARP connections were set up, and nobody sent anything on them: the accepting side may not be the "
            "first, unless both have agreed on peer-to-peer set-up (RFC 5044, 7.1.2).";
        answer.advice +=
            " For peer-to-peer set-up Linux siw has the parameter peer_to_peer, `rdmascope run` --peer-to-peer=on.";
        return answer;
    }
    const std::string_view verdict = bandwidth_verdict(scene, *flow);
    for (const Group& group : scene.groups()) {
        if (std::find(group.flows.begin(), group.flows.end(), flow) == group.flows.end()) continue;
        const auto most = static_cast<double>(std::max<std::uint64_t>(moved(*flow), 1));
        for (const FlowSnapshot* each : group.flows)
            if (each == flow ||
                (carries_data(*each) && each->messages_total() > 0 && bandwidth_verdict(scene, *each) == verdict))
                alike.push_back({each, ratio(static_cast<double>(moved(*each)), most)});
    }
    Answer answer = finding(Question::bandwidth, verdict, alike);
    const Words words = words_for(scene, verdict, *flow);
    answer.summary = words.summary;
    answer.advice = words.advice;
    answer.severity = 0;
    answer.alarm = false;
    answer.confidence *= 1 - ratio(static_cast<double>(flow->state_unsure_ns),
                                   static_cast<double>(std::max<std::uint64_t>(flow->wall_ns(), 1)));
    if (verdict == "undecidable") answer.confidence = 0;
    if (verdict == "receive_window" && flow->tcp && was_shut(*flow->tcp)) {
        answer.alarm = true;
        answer.severity = share_of(*flow, {State::credit}, flow->wall_ns());
    }
    add_figures(scene, *flow, answer);
    return answer;
}

}  // namespace

void ask_bandwidth(const Scene& scene, std::vector<Answer>& out) {
    const std::size_t before = out.size();
    find_failed_connections(scene, out);
    find_errors(scene, out);
    find_repairs(scene, out);
    if (out.size() == before) out.push_back(bandwidth_answer(scene));
}

}  // namespace metrics::why
