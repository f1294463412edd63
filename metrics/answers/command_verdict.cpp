// What takes the time of commands that are answered without errors.
#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <string_view>
#include <tuple>

#include "metrics/answers/command_group.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

/// "Reads", "Commands of the kind getattr".
std::string kind_text(const std::string& kind) {
    if (kind == "read") return "Reads";
    if (kind == "write") return "Writes";
    return kind.empty() ? "Commands" : "Commands of the kind " + kind;
}

/// The time until the requests were acknowledged; absent if unknown. TCP may acknowledge late, with the response, so on
/// iWARP the least round trip counts for each command.
std::optional<std::uint64_t> ack_ns(const CommandGroup& commands, const CommandKindFigures& kind) {
    if (!commands.is_iwarp()) return kind.request_ack_ns;
    std::optional<std::uint64_t> least;
    for (const FlowSnapshot* flow : commands.flows)
        if (flow->round_trip_min_ns)
            least = std::min(least.value_or(*flow->round_trip_min_ns), *flow->round_trip_min_ns);
    if (!least) return {};
    std::uint64_t sum = 0;
    if (__builtin_mul_overflow(*least, kind.latency_ns.count(), &sum)) return {};
    return std::min(sum, kind.parts_ns[1].sum());
}

/// The target's own time: without the time until the request was acknowledged. Absent if that time is unknown.
std::optional<std::uint64_t> think_ns(const CommandGroup& commands, const CommandKindFigures& kind) {
    const auto ack = ack_ns(commands, kind);
    if (!ack) return {};
    return target_ns(kind) - std::min(*ack, target_ns(kind));
}

/// How the target's own time grows with the number of open commands. No value if it does not grow, or if unknown.
struct Growth {
    std::size_t few = 0;  ///< index of command_depth_names
    std::size_t many = 0;
    std::uint64_t few_ns = 0;
    std::uint64_t many_ns = 0;
};
std::optional<Growth> growth_of(const CommandGroup& commands, const CommandKindFigures& kind) {
    if (commands.is_iwarp()) return {};
    std::optional<Growth> found;
    for (std::size_t i = 0; i < command_depth_count; ++i) {
        const Histogram& think = kind.think_ns[i];
        if (think.count() < few_messages) continue;
        const std::uint64_t median = think.quantile(0.5).value_or(0);
        if (!found)
            found = Growth{i, i, median, median};
        else
            std::tie(found->many, found->many_ns) = std::tuple(i, median);
    }
    const bool grows = found && found->many != found->few &&
                       static_cast<double>(found->many_ns) >=
                           queueing_growth * static_cast<double>(std::max<std::uint64_t>(found->few_ns, 1));
    return grows ? found : std::nullopt;
}

/// The share of the link's rate that the data use while commands are open; no value if unknown. Data of several
/// commands share the link, so the time of one command's data is not enough.
std::optional<double> link_use(const Subject& subject, const CommandGroup& commands, const CommandKindFigures& kind) {
    const FlowSnapshot* const back = subject.reverse(commands.first());
    const bool in = kind.moved_in_bytes >= kind.moved_out_bytes;
    const FlowSnapshot* const mover = in ? back : &commands.first();
    const std::uint64_t open_ns = commands.sum.wall_ns() - commands.sum.states_ns[0];
    const std::uint64_t least_ns = std::min(kind.parts_ns[2].sum(), open_ns);
    if (least_ns == 0 || mover == nullptr || mover->link_bits_per_sec.value_or(0) == 0) return {};
    const double bits = 8.0 * static_cast<double>(kind.moved_in_bytes + kind.moved_out_bytes);
    return bits / (static_cast<double>(least_ns) * 1e-9) / static_cast<double>(*mover->link_bits_per_sec);
}

/// Whether more than a tenth of the answers belong to requests that the capture lacks.
bool lacks_requests(const CommandGroup& commands) {
    return commands.totals.orphans * 10 > commands.totals.commands + commands.totals.orphans;
}

Verdict verdict_of(const Subject& subject, const CommandGroup& commands, const CommandKindFigures& kind) {
    const std::uint64_t latency = kind.latency_ns.sum();
    const CommandConnectionFigures& sum = commands.sum;
    if (kind.latency_ns.count() < few_messages || latency == 0 || lacks_requests(commands) || !sum.split_is_known())
        return Verdict::undecidable;
    const double think = part_of(think_ns(commands, kind).value_or(0), latency);
    if (think >= queueing_think_share && growth_of(commands, kind)) return Verdict::target_queueing;
    if (think >= slow_part_share) return Verdict::target_slow;
    if (part_of(ack_ns(commands, kind).value_or(0), latency) >= slow_part_share) return Verdict::network_slow;
    if (part_of(kind.parts_ns[2].sum(), latency) >= slow_part_share &&
        link_use(subject, commands, kind).value_or(0) < half_of_link)
        return Verdict::data_slow;
    const std::uint64_t wall = sum.wall_ns();
    if (part_of(sum.at_limit_ns, wall) >= at_limit_share)
        return sum.limit_asked > sum.limit ? Verdict::credits_wasted : Verdict::host_queue;
    if (part_of(sum.states_ns[0], wall) >= idle_host_share) return Verdict::host_idle;
    const bool is_small = kind.size_bytes.quantile(0.5).value_or(0) <= small_command_bytes;
    if (is_small && part_of(kind.parts_ns[0].sum() + kind.parts_ns[4].sum(), latency) >= small_command_share)
        return Verdict::small_commands;
    return Verdict::normal;
}

/// "2.22 ms (median; 99 % within 32.8 ms, 372 commands); of that, target 65 %, data 35 %".
std::string shares_text(const CommandKindFigures& kind) {
    const Histogram& latency = kind.latency_ns;
    std::string text = fmt::format(
        "{} (median; 99 % within {}, {})", duration(static_cast<double>(latency.quantile(0.5).value_or(0))),
        duration(static_cast<double>(latency.quantile(0.99).value_or(0))), counted(latency.count(), "command"));
    const std::array<std::pair<std::string_view, std::uint64_t>, 4> parts{{{"target", target_ns(kind)},
                                                                           {"data", kind.parts_ns[2].sum()},
                                                                           {"request", kind.parts_ns[0].sum()},
                                                                           {"response", kind.parts_ns[4].sum()}}};
    bool first = true;
    for (const auto& [name, ns] : parts) {
        constexpr double worth_a_word = 0.01;
        if (part_of(ns, latency.sum()) < worth_a_word) continue;
        text += fmt::format("{}{} {}", first ? "; of that, " : ", ", name, percent(part_of(ns, latency.sum())));
        first = false;
    }
    return text;
}

/// "wait 75 % of their time until the target's adapter acknowledges them".
std::string way_text(const CommandGroup& commands, double share) {
    return commands.is_iwarp()
               ? fmt::format("need at least {} of their time for the way to the target and back", percent(share))
               : fmt::format("wait {} of their time until the target's adapter acknowledges them", percent(share));
}

void describe_verdict(Answer& answer, const Subject& subject, const CommandGroup& commands,
                      const CommandKindFigures& kind) {
    const std::string who = fmt::format("{} of {}", kind_text(kind.kind), ends_text(subject, commands));
    const std::string shares = shares_text(kind);
    const std::string target = subject.short_name(commands.first().destination.address);
    const std::string initiator = subject.short_name(commands.first().source.address);
    const std::uint64_t latency = kind.latency_ns.sum();
    const double think = part_of(think_ns(commands, kind).value_or(0), latency);
    switch (answer.verdict) {
        case Verdict::target_queueing: {
            const Growth growth = growth_of(commands, kind).value_or(Growth{});
            answer.summary = fmt::format(
                "{} wait for the target, and longer if more are open: {} with {} open, {} with {} (medians of the "
                "target's own time). They take {}.",
                who, duration(static_cast<double>(growth.few_ns)), command_depth_names[growth.few],
                duration(static_cast<double>(growth.many_ns)), command_depth_names[growth.many], shares);
            answer.advice = fmt::format(
                "{} works at few commands at once: look at its processors and its device. Neither a faster network nor "
                "a deeper queue would help.",
                target);
            return;
        }
        case Verdict::target_slow:
            answer.summary =
                fmt::format("{} wait for the target for {} of their time. They take {}.", who, percent(think), shares);
            answer.advice =
                fmt::format("Look at the device and the processors of {}; a faster network could save {} at most.",
                            target, percent(1 - think));
            return;
        case Verdict::network_slow:
            answer.summary =
                fmt::format("{} {}. They take {}.", who,
                            way_text(commands, part_of(ack_ns(commands, kind).value_or(0), latency)), shares);
            answer.advice = "The answers about latency and congestion say whether distance or queues take that time.";
            return;
        case Verdict::data_slow:
            answer.summary =
                fmt::format("{} spend {} of their time on data, which move at {} in each. They take {}.", who,
                            percent(part_of(kind.parts_ns[2].sum(), latency)),
                            bit_rate(static_cast<double>(kind.moved_in_bytes + kind.moved_out_bytes) * 1e9 /
                                     static_cast<double>(std::max<std::uint64_t>(kind.parts_ns[2].sum(), 1))),
                            shares);
            answer.advice =
                kind.moved_out_bytes > kind.moved_in_bytes
                    ? fmt::format("{} fetches the data by READs: look at its ORD, and at the adapter of {}.", target,
                                  initiator)
                    : fmt::format("{} sends the data: look at its pauses in the answer about bandwidth.", target);
            return;
        case Verdict::credits_wasted:
            answer.summary = fmt::format(
                "{} wait for credits: {} asks for {} and gets {}, and {} of the time that number is open. They take "
                "{}.",
                who, initiator, number(commands.sum.limit_asked.value_or(0)), number(commands.sum.limit.value_or(0)),
                percent(part_of(commands.sum.at_limit_ns, commands.sum.wall_ns())), shares);
            answer.advice =
                fmt::format("Let {} grant more: threads and receives of its server set the number.", target);
            return;
        case Verdict::host_queue:
            answer.summary = fmt::format(
                "{} reach the limit: {} are permitted at once, and {} of the time that number is open. They take {}.",
                who, commands.sum.limit ? number(*commands.sum.limit) : "few",
                percent(part_of(commands.sum.at_limit_ns, commands.sum.wall_ns())), shares);
            answer.advice = fmt::format("Raise the queue size or the credits between {} and {}.", initiator, target);
            return;
        case Verdict::host_idle:
            answer.summary =
                fmt::format("{} asks for nothing {} of the time. {} take {}.", initiator,
                            percent(part_of(commands.sum.states_ns[0], commands.sum.wall_ns())), who, shares);
            answer.advice = fmt::format(
                "If more was expected, look at the application and the storage stack of {}: the wire waits for it.",
                initiator);
            return;
        case Verdict::small_commands:
            answer.summary =
                fmt::format("{} are so small that requests and responses themselves take {}. They take {}.", who,
                            percent(part_of(kind.parts_ns[0].sum() + kind.parts_ns[4].sum(), latency)), shares);
            answer.advice = "Larger commands, or data within the request, would cost less each.";
            return;
        case Verdict::normal:
            answer.summary = fmt::format("{} take {}.", who, shares);
            answer.advice = "Nothing needs to be done.";
            return;
        default: break;
    }
    answer.confidence = 0;
    answer.summary =
        !commands.sum.split_is_known()
            ? fmt::format(
                  "{} of {} operations of {} belong to no command that is known, so where the time went is not "
                  "known.",
                  number(commands.sum.unbound_operations), number(commands.sum.operations),
                  ends_text(subject, commands))
        : lacks_requests(commands) ? fmt::format("{} answers of {} belong to requests that the capture lacks.",
                                                 number(commands.totals.orphans), ends_text(subject, commands))
        : kind.commands == 0
            ? fmt::format("No command of {} was answered in the capture.", ends_text(subject, commands))
            : fmt::format("{} took most of the time, and too few were answered to judge them: {}.", who,
                          number(kind.commands));
    answer.advice = "Capture both directions while the load runs, with the beginnings of the connections.";
}

}  // namespace

void describe_congestion_maps(const Subject& subject, std::vector<Answer>& out) {
    std::vector<Affected> affected;
    std::uint32_t most = 0;
    for (const FlowSnapshot* flow : subject.flows()) {
        if (!flow->commands || flow->commands->congested_ports == 0) continue;
        affected.push_back({flow, 0});
        most = std::max(most, flow->commands->congested_ports);
    }
    if (affected.empty()) return;
    const FlowSnapshot& first = *affected.front().flow;
    Answer answer = finding(Question::commands, Verdict::receiver_congested, affected);
    answer.summary = fmt::format(
        "{} and {} ({}) reported congestion to each other: {} at most at a time. Senders to such a port wait.",
        subject.host(first.source.address), subject.host(first.destination.address), first.commands->heading,
        counted(most, "port"));
    add_evidence(answer, "ports that are congested at a time", most, EvidenceUnit::none);
    answer.advice =
        "Look for the program that reads its socket too slowly (`rds-info -s`), or give the socket more room.";
    out.push_back(std::move(answer));
}

void describe_commands(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out) {
    const CommandKindFigures* const kind = main_kind(commands);
    static const CommandKindFigures none;
    const Verdict verdict = kind == nullptr ? Verdict::undecidable : verdict_of(subject, commands, *kind);
    Answer answer = make_command_answer(verdict, commands, 0);
    describe_verdict(answer, subject, commands, kind == nullptr ? none : *kind);
    add_command_figures(answer, commands);
    out.push_back(std::move(answer));
}

}  // namespace metrics::answers
