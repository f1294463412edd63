// How long do commands of upper layers take, and what takes the time? The question is asked if there are commands.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <map>
#include <tuple>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

/// The confidence of a finding that packets missing from the capture could refute.
constexpr double doubtful_confidence = 0.4;

/// In the order of command_error_names.
enum ErrorPlace : std::size_t { device, path, protocol, aborted, busy, denied };

/// The connections of one initiator to one target with one protocol, added up.
struct Commands {
    Flows flows;
    CommandConnectionFigures sum;
    CommandTotals totals;

    const FlowSnapshot& first() const { return *flows.front(); }
    bool is_iwarp() const { return sum.transport == wire::Transport::iwarp; }
};

std::uint64_t target_ns(const CommandKindFigures& kind) { return kind.parts_ns[1].sum() + kind.parts_ns[3].sum(); }
bool moves_data(const CommandKindFigures& kind) { return kind.kind == "read" || kind.kind == "write"; }
double part_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// False for RDS: a datagram is acknowledged with the next datagram, or later, so the time until then is not the
/// target's.
bool has_answers(const CommandConnectionFigures& commands) { return commands.protocol != "rds"; }

std::vector<Commands> commands_of(const Subject& subject) {
    std::map<std::tuple<Address, Address, std::string>, std::size_t> known;
    std::vector<Commands> all;
    for (const FlowSnapshot* flow : subject.flows()) {
        if (!flow->commands || flow->commands->of_target || !has_answers(*flow->commands)) continue;
        const auto [at, fresh] =
            known.try_emplace({flow->source.address, flow->destination.address, flow->commands->protocol}, all.size());
        if (fresh) {
            all.push_back({{flow}, *flow->commands, {}});
            continue;
        }
        all[at->second].flows.push_back(flow);
        merge(all[at->second].sum, *flow->commands);
    }
    for (Commands& each : all) each.totals = totals_of(each.sum);
    std::erase_if(all, [](const Commands& each) {
        return each.totals.commands == 0 && each.totals.unanswered == 0 && !each.sum.oldest_open_ns;
    });
    std::stable_sort(all.begin(), all.end(), [](const Commands& one, const Commands& two) {
        return one.totals.latency_ns.sum() > two.totals.latency_ns.sum();
    });
    return all;
}

/// "Reads", "Commands of the kind getattr".
std::string kind_text(const std::string& kind) {
    if (kind == "read") return "Reads";
    if (kind == "write") return "Writes";
    return kind.empty() ? "Commands" : "Commands of the kind " + kind;
}

/// "192.0.2.2 at 192.0.2.1 (NVMe, subsystem)".
std::string ends_text(const Subject& subject, const Commands& commands) {
    const std::string& name = commands.sum.target_name;
    return fmt::format("{} at {} ({}{}{})", subject.host(commands.first().source.address),
                       subject.host(commands.first().destination.address), commands.sum.heading,
                       name.empty() ? "" : ", ", name);
}

/// The time until the requests were acknowledged; absent if unknown. TCP may acknowledge late, with the response, so on
/// iWARP the least round trip counts for each command.
std::optional<std::uint64_t> ack_ns(const Commands& commands, const CommandKindFigures& kind) {
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
std::optional<std::uint64_t> think_ns(const Commands& commands, const CommandKindFigures& kind) {
    const auto ack = ack_ns(commands, kind);
    if (!ack) return {};
    return target_ns(kind) - std::min(*ack, target_ns(kind));
}

/// Whether the capture may lack answers that were sent.
bool lacks_packets(const Subject& subject, const Commands& commands) {
    return std::ranges::any_of(commands.flows, [&](const FlowSnapshot* flow) {
        const FlowSnapshot* const back = subject.reverse(*flow);
        return flow->unseen_acknowledged_packets != 0 || back == nullptr || back->unseen_acknowledged_packets != 0;
    });
}

std::vector<std::uint64_t> frames_of_command(const CommandRecord& record) {
    std::vector<std::uint64_t> frames;
    for (const std::uint64_t frame :
         {record.request_last_frame, record.data_first_frame, record.data_last_frame, record.response_frame})
        if (frame != 0 && (frames.empty() || frames.back() < frame)) frames.push_back(frame);
    return frames;
}

template <class Member>
std::vector<std::uint64_t> frames_of_first(const Commands& commands, Member member) {
    constexpr std::size_t most = 8;
    std::vector<std::uint64_t> frames;
    for (const CommandKindFigures& kind : commands.sum.kinds)
        for (const CommandRecord& record : kind.*member)
            if (frames.size() < most) {
                const auto more = frames_of_command(record);
                frames.insert(frames.end(), more.begin(), more.end());
            }
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    if (frames.size() > most) frames.resize(most);
    return frames;
}

/// The kind whose commands took most time together; nullptr if nothing was answered.
const CommandKindFigures* main_kind(const Commands& commands) {
    const CommandKindFigures* most = nullptr;
    for (const CommandKindFigures& kind : commands.sum.kinds) {
        if (kind.housekeeping || kind.latency_ns.empty()) continue;
        if (most == nullptr || kind.latency_ns.sum() > most->latency_ns.sum()) most = &kind;
    }
    return most;
}

Answer make_answer(Verdict verdict, const Commands& commands, double severity) {
    std::vector<Affected> affected;
    affected.reserve(commands.flows.size());
    for (const FlowSnapshot* flow : commands.flows) affected.push_back({flow, severity});
    Answer answer = finding(Question::commands, verdict, affected);
    answer.confidence = std::min(answer.confidence, commands.sum.confidence);
    return answer;
}

void add_figures(Answer& answer, const Commands& commands) {
    const CommandTotals& totals = commands.totals;
    add_evidence(answer, "commands", static_cast<double>(totals.commands), EvidenceUnit::commands);
    if (const CommandKindFigures* const kind = main_kind(commands)) {
        const CommandRecord* slowest = nullptr;
        for (const CommandKindFigures& each : commands.sum.kinds)
            for (const CommandRecord& record : each.slowest)
                if (!each.housekeeping && (slowest == nullptr || record.latency_ns > slowest->latency_ns))
                    slowest = &record;
        const Histogram& latency = kind->latency_ns;
        const std::string name = kind->kind.empty() ? "" : kind->kind + " ";
        add_evidence(answer, name + "latency, median", static_cast<double>(latency.quantile(0.5).value_or(0)),
                     EvidenceUnit::ns);
        add_evidence(answer, name + "latency, 99 %", static_cast<double>(latency.quantile(0.99).value_or(0)),
                     EvidenceUnit::ns);
        if (slowest != nullptr)
            add_evidence(answer, "slowest command", static_cast<double>(slowest->latency_ns.value_or(0)),
                         EvidenceUnit::ns, frames_of_command(*slowest));
    }
    if (commands.sum.split_is_known()) {
        const std::uint64_t latency = totals.latency_ns.sum();
        const auto share = [&](const char* what, std::uint64_t ns) {
            add_evidence(answer, what, part_of(ns, latency), EvidenceUnit::share);
        };
        share("latency spent on the request", totals.parts_ns[0]);
        share("latency spent at the target", totals.parts_ns[1] + totals.parts_ns[3]);
        if (!commands.is_iwarp()) share("of it, until the request was acknowledged", totals.request_ack_ns);
        share("latency spent on data", totals.parts_ns[2]);
        share("latency spent on the response", totals.parts_ns[4]);
        add_evidence(answer, "time without an open command", part_of(commands.sum.states_ns[0], commands.sum.wall_ns()),
                     EvidenceUnit::share);
    }
    add_evidence(answer, "latency spent on repairs",
                 part_of(totals.repair_own_ns + totals.repair_behind_ns, totals.latency_ns.sum()), EvidenceUnit::share);
    add_evidence(answer, "errors", static_cast<double>(totals.errors), EvidenceUnit::commands);
    add_evidence(answer, "open at once, most", static_cast<double>(commands.sum.open_max), EvidenceUnit::commands);
    if (commands.sum.limit)
        add_evidence(answer, "open at once, permitted", static_cast<double>(*commands.sum.limit),
                     EvidenceUnit::commands);
    add_evidence(answer, "time at that limit", part_of(commands.sum.at_limit_ns, commands.sum.wall_ns()),
                 EvidenceUnit::share);
}

// ---- what alarms ----

/// Errors that alarm. Class `protocol` says that the target does not know a command. Hosts try such commands when they
/// begin, so only reads and writes of this class count.
std::uint64_t alarming_errors(const Commands& commands) {
    std::uint64_t certain = 0;
    std::uint64_t refused = 0;
    std::uint64_t misunderstood = 0;
    std::uint64_t moves = 0;
    for (const CommandKindFigures& kind : commands.sum.kinds) {
        if (kind.housekeeping) continue;
        certain += kind.error_classes[device] + kind.error_classes[path];
        refused += kind.error_classes[aborted] + kind.error_classes[busy] + kind.error_classes[denied];
        if (!moves_data(kind)) continue;
        misunderstood += kind.error_classes[protocol];
        moves += kind.commands;
    }
    const auto is_many = [](std::uint64_t count, std::uint64_t whole) {
        return count != 0 && static_cast<double>(count) >= alarming_error_share * static_cast<double>(whole);
    };
    std::uint64_t sum = certain;
    if (is_many(refused, commands.totals.commands)) sum += refused;
    if (is_many(misunderstood, moves)) sum += misunderstood;
    return sum;
}

/// "4 of read (Unrecovered Read Error), 1 of write (Write Fault)".
std::string statuses_text(const Commands& commands) {
    constexpr std::size_t most = 4;
    std::vector<std::tuple<std::uint64_t, std::string, std::string>> counts;
    for (const CommandKindFigures& kind : commands.sum.kinds) {
        const bool is_refused_alone = !moves_data(kind) && kind.errors == kind.error_classes[protocol];
        if (kind.housekeeping || is_refused_alone) continue;
        for (const auto& [status, count] : kind.statuses) counts.emplace_back(count, kind.kind, status);
    }
    std::stable_sort(counts.begin(), counts.end(),
                     [](const auto& one, const auto& two) { return std::get<0>(one) > std::get<0>(two); });
    std::string text;
    for (std::size_t i = 0; i < std::min(most, counts.size()); ++i) {
        const auto& [count, kind, status] = counts[i];
        text += fmt::format("{}{} of {} ({})", i == 0 ? "" : ", ", number(count), kind, status);
    }
    return counts.size() > most ? text + ", and others" : text;
}

std::uint64_t errors_of(const Commands& commands, ErrorPlace place) {
    std::uint64_t sum = 0;
    for (const CommandKindFigures& kind : commands.sum.kinds)
        if (!kind.housekeeping) sum += kind.error_classes[place];
    return sum;
}

std::string error_advice(const Subject& subject, const Commands& commands) {
    const std::string target = subject.short_name(commands.first().destination.address);
    if (errors_of(commands, device) != 0) return fmt::format("Look at the device of {}, and at its log.", target);
    if (errors_of(commands, path) != 0)
        return fmt::format("Look at the paths to {}: multipath, ANA or ALUA states, and the export.", target);
    if (errors_of(commands, busy) != 0)
        return fmt::format("{} has no room for more commands: lower the queue depth, or look at what it works on.",
                           target);
    if (errors_of(commands, denied) != 0) return fmt::format("Look at permissions and reservations on {}.", target);
    if (errors_of(commands, aborted) != 0) return "Look at the initiator's log: a time-out aborts commands.";
    return "Compare the versions and the settings of both ends.";
}

void find_command_errors(const Subject& subject, const Commands& commands, std::vector<Answer>& out) {
    const std::uint64_t errors = alarming_errors(commands);
    if (errors == 0) return;
    const double share = std::min(1.0, part_of(errors, std::max<std::uint64_t>(commands.totals.commands, 1)));
    Answer answer = make_answer(Verdict::command_errors, commands, share);
    answer.cost = {share, CostBasis::commands};
    answer.summary =
        fmt::format("{} of {} commands of {} ended with an error: {}.", number(errors),
                    number(commands.totals.commands), ends_text(subject, commands), statuses_text(commands));
    add_evidence(answer, "commands with an error", static_cast<double>(errors), EvidenceUnit::commands,
                 frames_of_first(commands, &CommandKindFigures::failed));
    add_figures(answer, commands);
    answer.advice = error_advice(subject, commands);
    out.push_back(std::move(answer));
}

struct Waiting {
    std::uint64_t commands = 0;
    std::uint64_t longest_ns = 0;
    bool acknowledged = false;  ///< a request was acknowledged
};

/// The time until which an open command of the flow has waited: at most until the end of its connection.
std::int64_t end_of_wait(const Subject& subject, const FlowSnapshot& flow) {
    if (!flow.finished) return subject.snapshot().capture.last_ns;
    const FlowSnapshot* const back = subject.reverse(flow);
    return back == nullptr ? flow.last_ns : std::max(flow.last_ns, back->last_ns);
}

/// Adds the commands of one connection that wait longer than any target needs.
void add_waiting(const CommandConnectionFigures& connection, std::int64_t end_ns, Waiting& waiting) {
    const auto age_of = [end_ns](std::int64_t begin_ns) {
        return begin_ns >= end_ns ? 0 : static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(begin_ns);
    };
    std::uint64_t long_ones = 0;
    for (const CommandKindFigures& kind : connection.kinds) {
        if (kind.housekeeping) continue;
        std::uint64_t longest_ns = 0;
        for (const CommandRecord& record : kind.waiting) {
            longest_ns = std::max(longest_ns, age_of(record.begin_ns));
            waiting.acknowledged = waiting.acknowledged || record.request_ack_ns;
        }
        if (longest_ns <= unanswered_command_ns) continue;
        long_ones += kind.unanswered;
        waiting.longest_ns = std::max(waiting.longest_ns, longest_ns);
    }
    const std::uint64_t open_ns = connection.oldest_open_ns ? age_of(*connection.oldest_open_ns) : 0;
    if (open_ns > unanswered_command_ns) {
        long_ones = std::max<std::uint64_t>(long_ones, 1);
        waiting.longest_ns = std::max(waiting.longest_ns, open_ns);
    }
    waiting.commands += long_ones;
}

Waiting waiting_of(const Subject& subject, const Commands& commands) {
    Waiting waiting;
    for (const FlowSnapshot* flow : commands.flows) add_waiting(*flow->commands, end_of_wait(subject, *flow), waiting);
    return waiting;
}

void find_unanswered(const Subject& subject, const Commands& commands, std::vector<Answer>& out) {
    const Waiting waiting = waiting_of(subject, commands);
    if (waiting.commands == 0) return;
    const double share = part_of(waiting.commands, commands.totals.commands + waiting.commands);
    Answer answer = make_answer(Verdict::unanswered, commands, share);
    answer.cost = {share, CostBasis::commands};
    const std::string target = subject.short_name(commands.first().destination.address);
    answer.summary = fmt::format("{} of {} got no answer for up to {}{}.", counted(waiting.commands, "command"),
                                 ends_text(subject, commands), duration(static_cast<double>(waiting.longest_ns)),
                                 waiting.acknowledged ? ", though requests were acknowledged" : "");
    add_evidence(answer, "commands without an answer", static_cast<double>(waiting.commands), EvidenceUnit::commands,
                 frames_of_first(commands, &CommandKindFigures::waiting));
    add_evidence(answer, "longest wait", static_cast<double>(waiting.longest_ns), EvidenceUnit::ns);
    add_figures(answer, commands);
    answer.advice =
        waiting.acknowledged
            ? fmt::format(
                  "The adapter of {0} has the requests: look at the target's program and its "
                  "device on {0}.",
                  target)
            : fmt::format("Look whether {} still answers at all, and at the answer about bandwidth.", target);
    if (lacks_packets(subject, commands)) answer.confidence = std::min(answer.confidence, doubtful_confidence);
    out.push_back(std::move(answer));
}

void find_retried(const Subject& subject, const Commands& commands, std::vector<Answer>& out) {
    std::uint64_t replaced = 0;
    for (const CommandKindFigures& kind : commands.sum.kinds)
        if (!kind.housekeeping) replaced += kind.replaced;
    if (replaced == 0) return;
    const double share = part_of(replaced, commands.totals.commands + replaced);
    Answer answer = make_answer(Verdict::retried, commands, share);
    answer.cost = {share, CostBasis::commands};
    answer.summary = fmt::format("{} of {} {} asked again before an answer came.", counted(replaced, "command"),
                                 ends_text(subject, commands), replaced == 1 ? "was" : "were");
    add_evidence(answer, "commands asked again", static_cast<double>(replaced), EvidenceUnit::commands, {}, true);
    add_figures(answer, commands);
    answer.advice = fmt::format("Look at the log of {}: a time-out makes it ask again.",
                                subject.short_name(commands.first().source.address));
    // A command whose answer the capture lacks looks the same.
    if (lacks_packets(subject, commands)) answer.confidence = std::min(answer.confidence, doubtful_confidence);
    out.push_back(std::move(answer));
}

void find_repairs(const Subject& subject, const Commands& commands, std::vector<Answer>& out) {
    const std::uint64_t repair_ns = commands.totals.repair_own_ns + commands.totals.repair_behind_ns;
    const double share = std::min(1.0, part_of(repair_ns, commands.totals.latency_ns.sum()));
    if (repair_ns == 0 || share < alarming_time_share) return;
    std::uint64_t rnr = 0;
    std::uint64_t resent = 0;
    std::uint64_t rnr_ns = 0;
    std::uint64_t other_ns = 0;
    for (const FlowSnapshot* flow : commands.flows)
        for (const FlowSnapshot* each : {flow, subject.reverse(*flow)}) {
            if (each == nullptr) continue;
            rnr += each->rnr_naks;
            resent += each->retransmitted_packets.value_or(0);
            rnr_ns += each->state_ns[index_of(State::rnr_wait)];
            other_ns += each->state_ns[index_of(State::recover_nak)] + each->state_ns[index_of(State::recover_timeout)];
        }
    const bool by_rnr = rnr != 0 && rnr_ns >= other_ns;
    Answer answer = make_answer(Verdict::repairs_hurt_commands, commands, share);
    answer.cost = {share, CostBasis::command_time};
    answer.summary = fmt::format("{} of the latency of commands of {} is time in which packets were sent again{}.",
                                 percent(share), ends_text(subject, commands),
                                 !by_rnr         ? ""
                                 : other_ns == 0 ? ", because a receiver was not ready"
                                                 : ", mostly because a receiver was not ready");
    add_evidence(answer, "repairs of a command's own packets", static_cast<double>(commands.totals.repair_own_ns),
                 EvidenceUnit::ns, frames_of_first(commands, &CommandKindFigures::hurt));
    add_evidence(answer, "waiting for repairs of others", static_cast<double>(commands.totals.repair_behind_ns),
                 EvidenceUnit::ns);
    add_evidence(answer, "packets sent again", static_cast<double>(resent), EvidenceUnit::packets);
    add_evidence(answer, "RNR NAKs", static_cast<double>(rnr), EvidenceUnit::naks);
    add_figures(answer, commands);
    answer.advice = by_rnr ? "Post more receives on the side that was not ready; the credits of the upper layer "
                             "promise more than there are."
                           : "The answer about bandwidth names the cause of the repairs.";
    out.push_back(std::move(answer));
}

// ---- what describes ----

/// How the target's own time grows with the number of open commands. No value if it does not grow, or if unknown.
struct Growth {
    std::size_t few = 0;  ///< index of command_depth_names
    std::size_t many = 0;
    std::uint64_t few_ns = 0;
    std::uint64_t many_ns = 0;
};
std::optional<Growth> growth_of(const Commands& commands, const CommandKindFigures& kind) {
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
std::optional<double> link_use(const Subject& subject, const Commands& commands, const CommandKindFigures& kind) {
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
bool lacks_requests(const Commands& commands) {
    return commands.totals.orphans * 10 > commands.totals.commands + commands.totals.orphans;
}

Verdict verdict_of(const Subject& subject, const Commands& commands, const CommandKindFigures& kind) {
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
    if (part_of(sum.at_limit_ns, wall) >= at_limit_share) return Verdict::host_queue;
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
std::string way_text(const Commands& commands, double share) {
    return commands.is_iwarp()
               ? fmt::format("need at least {} of their time for the way to the target and back", percent(share))
               : fmt::format("wait {} of their time until the target's adapter acknowledges them", percent(share));
}

void describe_verdict(Answer& answer, const Subject& subject, const Commands& commands,
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

void describe(const Subject& subject, const Commands& commands, std::vector<Answer>& out) {
    const CommandKindFigures* const kind = main_kind(commands);
    static const CommandKindFigures none;
    const Verdict verdict = kind == nullptr ? Verdict::undecidable : verdict_of(subject, commands, *kind);
    Answer answer = make_answer(verdict, commands, 0);
    describe_verdict(answer, subject, commands, kind == nullptr ? none : *kind);
    add_figures(answer, commands);
    out.push_back(std::move(answer));
}

}  // namespace

void ask_commands(const Subject& subject, std::vector<Answer>& out) {
    const std::vector<Commands> all = commands_of(subject);
    if (all.empty()) return;
    const std::size_t before = out.size();
    for (const Commands& commands : all) {
        find_command_errors(subject, commands, out);
        find_unanswered(subject, commands, out);
        find_retried(subject, commands, out);
        find_repairs(subject, commands, out);
    }
    if (out.size() == before) describe(subject, all.front(), out);
}

}  // namespace metrics::answers
