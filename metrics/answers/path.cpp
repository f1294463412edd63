// Do packets between two hosts take one path or several, and is one of them bad? The question is asked if several
// entropies, or packets out of order, show that there may be several paths.
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

#include "base/timestamp.h"
#include "metrics/answers/disorder.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/path_levels.h"
#include "metrics/answers/path_pairs.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/repair_cause.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

/// The pairs that the question is about, and their flows.
struct PathSubject {
    const Subject& subject;
    std::vector<PathPair> pairs;
    std::map<std::uint64_t, const FlowSnapshot*> flows;

    Flows flows_of(const PathRow& row) const {
        Flows out;
        for (const std::uint64_t id : row.flows)
            if (const auto at = flows.find(id); at != flows.end()) out.push_back(at->second);
        return out;
    }
    Flows flows_of(const PathPair& pair) const {
        std::set<std::uint64_t> ids;
        for (const PathRow& row : pair.rows) ids.insert(row.flows.begin(), row.flows.end());
        Flows out;
        for (const std::uint64_t id : ids)
            if (const auto at = flows.find(id); at != flows.end()) out.push_back(at->second);
        return out;
    }
    std::string way(const PathPair& pair) const {
        return fmt::format("from {} to {}", subject.host(pair.source), subject.host(pair.destination));
    }
};

PathSubject path_subject(const Subject& subject) {
    PathSubject out{subject, path_pairs(subject.snapshot()), {}};
    // Within one machine there is no network.
    std::erase_if(out.pairs, [](const PathPair& pair) { return is_one_machine(pair.source, pair.destination); });
    for (const FlowSnapshot& flow : subject.snapshot().flows) out.flows.emplace(flow.id, &flow);
    if (!subject.about_one_flow()) return out;
    std::set<std::uint64_t> asked;
    for (const FlowSnapshot* flow : subject.flows()) asked.insert(flow->id);
    std::erase_if(out.pairs, [&asked](const PathPair& pair) {
        return std::ranges::none_of(pair.rows, [&asked](const PathRow& row) {
            return std::ranges::any_of(row.flows, [&asked](std::uint64_t id) { return asked.contains(id); });
        });
    });
    return out;
}

Answer answer_about(Verdict verdict, const Flows& flows, double severity) {
    std::vector<Affected> affected;
    affected.reserve(flows.size());
    for (const FlowSnapshot* flow : flows) affected.push_back({flow, severity});
    Answer answer = finding(Question::path, verdict, affected);
    answer.cost.basis = CostBasis::packets;
    return answer;
}

/// "12:03:07.123456", local time.
std::string time_of_day(std::int64_t time_ns) {
    std::string text;
    base::Timestamps(base::TimeStyle::time_of_day, false).append(text, time_ns);
    if (!text.empty()) text.pop_back();  // the blank after it
    return text;
}

/// "UDP source port 49441", "TCP ports 40022 > 4420".
std::string entropy_words(Entropy entropy) {
    switch (entropy.kind()) {
        case Entropy::Kind::udp: return "UDP source port " + to_text(entropy);
        case Entropy::Kind::tcp: return "TCP ports " + to_text(entropy);
        case Entropy::Kind::infiniband: return "LIDs " + to_text(entropy);
        case Entropy::Kind::unknown: break;
    }
    return "unknown entropy";
}

/// What losses cost at least: the packets that were sent again, or one for each episode.
double loss_share(std::uint64_t repeated, std::uint64_t episodes, std::uint64_t packets) {
    return ratio(static_cast<double>(std::max(repeated, episodes)), static_cast<double>(packets));
}

/// Packets that were sent again on this path. If routes changed, it is not known how many of them came after that.
std::uint64_t present_repeats(const PathPair& pair, const PathRow& row) {
    return pair.rerouted_ns() ? 0 : row.figures.repeated_packets;
}

void add_evenness(const PathPair& pair, Answer& answer) {
    const Evenness even = evenness_of(pair.bytes());
    add_evidence(answer, "entropies", static_cast<double>(pair.entropies), EvidenceUnit::none);
    add_evidence(answer, "as even as this number of equal ones", even.effective, EvidenceUnit::none);
    add_evidence(answer, "greatest entropy, against the mean", even.max_over_mean, EvidenceUnit::times);
}

void find_sick_path(const PathSubject& paths, const PathPair& pair, const PathRow& row, std::vector<Answer>& out) {
    const Flows flows = paths.flows_of(row);
    const auto [packets, episodes] = pair.losses();
    Answer answer =
        answer_about(Verdict::path_sick, flows, loss_share(present_repeats(pair, row), row.losses.episodes, packets));
    const double share = ratio(static_cast<double>(row.losses.packets), static_cast<double>(packets));
    answer.summary = fmt::format(
        "The path of {} {} loses more than the paths of the other {}: {} of {} on {} of the packets.",
        entropy_words(row.figures.entropy), paths.way(pair), counted(pair.rows.size() - 1, "entropy", "entropies"),
        number(row.losses.episodes), counted(episodes, "loss", "losses"), percent(share));
    if (const auto rerouted = pair.rerouted_ns())
        answer.summary += fmt::format(" Counted since the routes changed at {}.", time_of_day(*rerouted));
    answer.advice =
        "Ask the switches between them which link carries this five-tuple (`show ... load-balance`, `traceroute` with "
        "the same ports), and look at the errors of its ports, optics and cables. The other paths lose less: take the "
        "link out of the group until it is mended. `rdmascope paths` shows all entropies.";
    add_evidence(answer, "losses on this path", static_cast<double>(row.losses.episodes), EvidenceUnit::times,
                 frames_of(flows, {EventKind::gap, EventKind::retransmission}));
    add_evidence(answer, "losses on all paths", static_cast<double>(episodes), EvidenceUnit::times);
    add_evidence(answer, "packets of this path", static_cast<double>(row.losses.packets), EvidenceUnit::packets);
    add_evidence(answer, "packets of all paths", static_cast<double>(packets), EvidenceUnit::packets);
    add_evidence(answer, "probability of this number by chance", row.p_loss.value_or(1), EvidenceUnit::none, {}, true);
    add_evenness(pair, answer);
    answer.confidence *= 1 - row.p_loss.value_or(1);
    out.push_back(std::move(answer));
}

/// A path that lost more than the others, and no longer does: what was true then, with its time.
void find_recovered_path(const PathSubject& paths, const PathPair& pair, const PathRow& row, std::vector<Answer>& out) {
    const Flows flows = paths.flows_of(row);
    const LossTimes& then = row.left_by_route ? row.windows.losses_before : row.windows.losses;
    Answer answer = answer_about(Verdict::path_recovered, flows, 0);
    answer.summary = fmt::format("The path of {} {} lost more than the paths of the other {} until {}: {} on {}. ",
                                 entropy_words(row.figures.entropy), paths.way(pair),
                                 counted(pair.rows.size() - 1, "entropy", "entropies"), time_of_day(then.last_ns),
                                 counted(then.episodes, "loss", "losses"), counted(then.packets, "packet"));
    const std::uint64_t since = row.left_by_route ? row.losses.packets : then.packets_since;
    answer.summary +=
        row.left_by_route
            ? fmt::format("Its route changed at {}; since then it had {} in {}.", time_of_day(row.windows.rerouted_ns),
                          counted(row.losses.episodes, "loss", "losses"), counted(since, "packet"))
            : fmt::format("Since then, {} passed without a loss: the link was mended, or routes leave it out.",
                          counted(since, "packet"));
    answer.advice =
        "Look at what the switches logged at that time: a link that was taken out of a group still needs to be mended.";
    add_evidence(answer, "losses on this path", static_cast<double>(then.episodes), EvidenceUnit::times,
                 frames_of(flows, {EventKind::gap, EventKind::retransmission}));
    add_evidence(answer, "packets of this path", static_cast<double>(then.packets), EvidenceUnit::packets);
    add_evidence(answer, "packets of this path since then", static_cast<double>(since), EvidenceUnit::packets, {},
                 true);
    out.push_back(std::move(answer));
}

void add_signs(const SignCounts& signs, Answer& answer) {
    add_evidence(answer, "windows of 1 ms with more than the others", static_cast<double>(signs.more),
                 EvidenceUnit::times);
    add_evidence(answer, "windows of 1 ms with less", static_cast<double>(signs.less), EvidenceUnit::times, {}, true);
}

void find_marked_path(const PathSubject& paths, const PathPair& pair, const PathRow& row, std::vector<Answer>& out) {
    const Flows flows = paths.flows_of(row);
    const double share =
        ratio(static_cast<double>(row.figures.ecn_ce_packets), static_cast<double>(row.figures.packets));
    Answer answer =
        answer_about(Verdict::path_marked, flows,
                     ratio(static_cast<double>(row.figures.ecn_ce_packets), static_cast<double>(pair.packets())));
    answer.summary = fmt::format(
        "Switches mark {} of the packets of {} {}, more than those of the other {} at the "
        "same times.",
        percent(share), entropy_words(row.figures.entropy), paths.way(pair),
        counted(pair.rows.size() - 1, "entropy", "entropies"));
    answer.advice =
        "A queue on this path builds up alone: other traffic is hashed to the same link. Spread the load over more "
        "entropies, or look at what else the link carries.";
    add_evidence(answer, "packets marked", static_cast<double>(row.figures.ecn_ce_packets), EvidenceUnit::packets,
                 frames_of(flows, {EventKind::ce_mark}));
    add_signs(row.windows.marks, answer);
    add_evenness(pair, answer);
    out.push_back(std::move(answer));
}

void find_slow_path(const PathSubject& paths, const PathPair& pair, const PathRow& row, std::vector<Answer>& out) {
    const Flows flows = paths.flows_of(row);
    const bool queue = is_queue(pair, row);
    const std::uint64_t shift = longer_by_ns(row.windows);
    const std::uint64_t others = others_round_trip_ns(pair, row).value_or(0);
    const double packets = ratio(static_cast<double>(row.figures.packets), static_cast<double>(pair.packets()));
    Answer answer = answer_about(Verdict::path_slow, flows, queue ? packets : 0);
    answer.summary = fmt::format(
        "Round trips of {} {} take {} longer than those of the other {} at the same times: {}.",
        entropy_words(row.figures.entropy), paths.way(pair), duration(static_cast<double>(shift)),
        counted(pair.rows.size() - 1, "entropy", "entropies"), queue ? "a queue on the path" : "the path is longer");
    answer.advice = queue
                        ? "Look at the load and the queues of the links that carry this five-tuple: other traffic may "
                          "be hashed to the same link."
                        : "Paths of different lengths are no fault; packets that are spread over them arrive out of "
                          "order.";
    add_evidence(answer, "longer by, median", static_cast<double>(shift), EvidenceUnit::ns);
    add_evidence(answer, "median round trip of the others", static_cast<double>(others), EvidenceUnit::ns);
    add_signs(row.windows.delays, answer);
    add_evenness(pair, answer);
    if (answer.vantage == Vantage::receiver) answer.confidence *= 0.5;  // the tap saw only the receiver's own time
    out.push_back(std::move(answer));
}

void find_bad_paths(const PathSubject& paths, std::vector<Answer>& out) {
    for (const PathPair& pair : paths.pairs)
        for (const PathRow& row : pair.rows) {
            if (row.problem == PathProblem::sick) find_sick_path(paths, pair, row, out);
            if (row.problem == PathProblem::marked) find_marked_path(paths, pair, row, out);
            if (row.problem == PathProblem::slow) find_slow_path(paths, pair, row, out);
            if (row.problem == PathProblem::recovered) find_recovered_path(paths, pair, row, out);
        }
}

std::string culprit_words(const PathSubject& paths, const SickLevel& level) {
    switch (level.what) {
        case SickLevel::What::pair:
            return fmt::format("All paths from {} to {} lose", paths.subject.host(level.source),
                               paths.subject.host(level.destination));
        case SickLevel::What::source:
            return fmt::format("Packets that {} sends to any host get lost", paths.subject.host(level.source));
        case SickLevel::What::destination: break;
    }
    return fmt::format("Packets that any host sends to {} get lost", paths.subject.host(level.destination));
}

void find_sick_levels(const PathSubject& paths, std::vector<Answer>& out) {
    for (const SickLevel& level : sick_levels(paths.pairs)) {
        Flows flows;
        std::uint64_t repeated = 0;
        std::uint64_t packets = 0;
        for (const PathPair* pair : level.pairs) {
            const Flows own = paths.flows_of(*pair);
            flows.insert(flows.end(), own.begin(), own.end());
            packets += pair->losses().packets;
            for (const PathRow& row : pair->rows) repeated += present_repeats(*pair, row);
        }
        const Verdict verdict = level.what == SickLevel::What::pair ? Verdict::pair_sick : Verdict::host_sick;
        Answer answer = answer_about(verdict, flows, loss_share(repeated, level.episodes, packets));
        answer.summary = fmt::format("{} more often than those of others: {} of {}, and no single path stands out.",
                                     culprit_words(paths, level), number(level.episodes),
                                     counted(level.all_episodes, "loss", "losses"));
        answer.advice =
            level.what == SickLevel::What::pair
                ? "Look for what only these two hosts share: a route, a tunnel, a filter, an MTU."
                : "Look at the host's adapter, cable and the switch port that it is plugged into (`ethtool -S`, the "
                  "switch's error counters): no path of the network is to blame.";
        add_evidence(answer, "losses", static_cast<double>(level.episodes), EvidenceUnit::times,
                     frames_of(flows, {EventKind::gap, EventKind::retransmission}));
        add_evidence(answer, "packets", static_cast<double>(packets), EvidenceUnit::packets);
        add_evidence(answer, "probability of this number by chance", level.p, EvidenceUnit::none, {}, true);
        answer.confidence *= 1 - level.p;
        out.push_back(std::move(answer));
    }
}

/// Packets out of order from one host to another.
struct Disorder {
    Flows flows;
    std::uint64_t packets = 0;
    std::uint64_t late = 0;
    std::uint64_t repeated = 0;
    Histogram depth;
    Histogram late_ns;
    bool lacks_answers = false;
};

Disorder harmless_disorder(const PathSubject& paths, const Group& group) {
    Disorder sum;
    for (const FlowSnapshot* flow : group.flows) {
        if (!is_harmless(*flow, paths.subject.receiver(group.destination))) continue;
        sum.flows.push_back(flow);
        sum.packets += flow->packets;
        sum.late += flow->reordered_packets.value_or(0);
        sum.repeated += repeated_packets(*flow);
        if (flow->path) sum.depth.merge(flow->path->late_depth);
        if (flow->path) sum.late_ns.merge(flow->path->late_ns);
        sum.lacks_answers = sum.lacks_answers || metrics::lacks_answers(*flow);
    }
    return sum;
}

/// One late packet in a hundred thousand is no spraying, nor is one of a handful.
bool is_worth_a_word(const Disorder& disorder) {
    return disorder.packets >= few_packets &&
           ratio(static_cast<double>(disorder.late), static_cast<double>(disorder.packets)) >= alarming_loss_share;
}

std::string spreader_words(const Disorder& disorder) {
    std::uint64_t entropies = 1;
    std::uint64_t changes = 0;
    for (const FlowSnapshot* flow : disorder.flows) {
        if (!flow->path) continue;
        entropies = std::max(entropies, flow->path->entropies);
        changes += flow->path->entropy_changes;
    }
    if (changes == 0) return "the network spreads packets of one entropy over several paths";
    return fmt::format("the adapter spreads packets of a queue pair over {} entropies", number(entropies));
}

void find_spraying(const PathSubject& paths, std::vector<Answer>& out) {
    for (const Group& group : paths.subject.groups()) {
        const Disorder disorder = harmless_disorder(paths, group);
        if (disorder.flows.empty() || !is_worth_a_word(disorder)) continue;
        Answer answer = answer_about(Verdict::sprayed, disorder.flows, 0);
        answer.summary =
            fmt::format("{} of {} ({}) {} came out of order: {}, and {}.", number(disorder.late),
                        counted(disorder.packets, "packet"),
                        percent(ratio(static_cast<double>(disorder.late), static_cast<double>(disorder.packets))),
                        paths.subject.from_to(disorder.flows), spreader_words(disorder),
                        disorder.repeated == 0
                            ? "the receiver takes them in any order"
                            : counted(disorder.repeated, "packet was", "packets were") + " sent again because of it");
        answer.advice = "Nothing needs to be done.";
        add_evidence(answer, "packets late", static_cast<double>(disorder.late), EvidenceUnit::packets,
                     frames_of(disorder.flows, {EventKind::reordered}));
        add_evidence(answer, "packets seen", static_cast<double>(disorder.packets), EvidenceUnit::packets);
        if (const auto deep = disorder.depth.quantile(0.99))
            add_evidence(answer, "packets that overtook a late one, 99 %", static_cast<double>(*deep),
                         EvidenceUnit::packets);
        if (const auto most = disorder.depth.max())
            add_evidence(answer, "packets that overtook a late one, most", static_cast<double>(*most),
                         EvidenceUnit::packets);
        if (const auto usual = disorder.late_ns.quantile(0.5))
            add_evidence(answer, "late by, median", static_cast<double>(*usual), EvidenceUnit::ns);
        if (const auto long_ns = disorder.late_ns.quantile(0.99))
            add_evidence(answer, "late by, 99 %", static_cast<double>(*long_ns), EvidenceUnit::ns);
        add_evidence(answer, "packets sent again", static_cast<double>(disorder.repeated), EvidenceUnit::packets);
        if (disorder.lacks_answers) answer.confidence *= 0.8;  // NAKs would have passed unseen
        out.push_back(std::move(answer));
    }
}

/// Once for each receiver.
void find_selective_repeat(const PathSubject& paths, std::vector<Answer>& out) {
    std::map<Address, Flows> by_receiver;
    for (const Group& group : paths.subject.groups()) {
        const ReceiverClass receiver = paths.subject.receiver(group.destination);
        if (receiver != ReceiverClass::selective && receiver != ReceiverClass::placing) continue;
        for (const FlowSnapshot* flow : group.flows)
            if (event_count(*flow, EventKind::go_back_incomplete) > 0) by_receiver[group.destination].push_back(flow);
    }
    for (const auto& [receiver, flows] : by_receiver) {
        std::uint64_t recoveries = 0;
        for (const FlowSnapshot* flow : flows) recoveries += event_count(*flow, EventKind::go_back_incomplete);
        Answer answer = answer_about(Verdict::selective_repeat, flows, 0);
        answer.summary = fmt::format("Senders repeat to {} only what was lost, and it keeps the rest ({}).",
                                     paths.subject.host(receiver), counted(recoveries, "time"));
        answer.advice = "Nothing needs to be done: this is selective repeat, in place of going back.";
        add_evidence(answer, "recoveries by selective repeat", static_cast<double>(recoveries),
                     EvidenceUnit::recoveries, frames_of(flows, {EventKind::go_back_incomplete}));
        out.push_back(std::move(answer));
    }
}

bool is_of_congestion(const Answer& answer) {
    return answer.verdict == Verdict::congestion_paced || answer.verdict == Verdict::link_full ||
           (answer.verdict == Verdict::marked && answer.alarm);
}

/// Few entropies use few paths, which matters where there is congestion.
void find_low_entropy(const PathSubject& paths, std::vector<Answer>& out) {
    constexpr double few_entropies = 4;
    constexpr double heavy_share = 0.1;
    std::set<std::uint64_t> congested;
    for (const Answer& answer : out)
        if (is_of_congestion(answer)) congested.insert(answer.flows.begin(), answer.flows.end());
    if (congested.empty()) return;
    std::uint64_t all_bytes = 0;
    for (const PathPair& pair : paths.pairs) all_bytes += pair.wire_bytes();
    for (const PathPair& pair : paths.pairs) {
        const Evenness even = evenness_of(pair.bytes());
        const bool is_heavy = static_cast<double>(pair.wire_bytes()) >= heavy_share * static_cast<double>(all_bytes);
        const Flows flows = paths.flows_of(pair);
        const bool is_congested =
            std::ranges::any_of(flows, [&congested](const FlowSnapshot* flow) { return congested.contains(flow->id); });
        if (even.effective >= few_entropies || !is_heavy || !is_congested) continue;
        Answer answer = answer_about(Verdict::low_entropy, flows, 0);
        answer.summary = fmt::format(
            "Traffic {} has {}, as even as {} equal ones, and there is congestion. Switches that hash by entropy give "
            "it at most {}.",
            paths.way(pair), counted(pair.entropies, "entropy", "entropies"), rough(even.effective),
            counted(pair.entropies, "path"));
        answer.advice =
            "If the network has more paths, use more queue pairs or ports: NCCL_IB_QPS_PER_CONNECTION, "
            "UCX_IB_NUM_PATHS, more connections, or a flow label for each queue pair.";
        add_evenness(pair, answer);
        out.push_back(std::move(answer));
    }
}

/// Losses that show on a flow; their entropies may be unknown.
bool has_losses(const FlowSnapshot& flow) {
    return flow.missing_packets.value_or(0) + repeated_packets(flow) + sequence_naks(flow) > 0;
}

/// The pair whose entropies have something to be compared by, those with losses first.
const PathPair* compared_pair(const PathSubject& paths) {
    constexpr std::size_t several = 4;
    const PathPair* best = nullptr;
    for (const PathPair& pair : paths.pairs) {
        if (!pair.is_compared()) continue;
        const bool compares_losses = pair.loss_episodes() > 0;
        if (!compares_losses &&
            (pair.rows.size() < several ||
             std::ranges::any_of(paths.flows_of(pair), [](const FlowSnapshot* flow) { return has_losses(*flow); })))
            continue;
        if (best == nullptr || (compares_losses && best->loss_episodes() == 0)) best = &pair;
    }
    return best;
}

/// Nothing stands out: whether that means that there is nothing.
void describe_paths(const PathSubject& paths, std::vector<Answer>& out) {
    const PathPair* const pair = compared_pair(paths);
    if (pair == nullptr) return;
    const bool lacks_losses = pair->packets_needed > 0;
    Answer answer = answer_about(lacks_losses ? Verdict::undecidable : Verdict::paths_alike, paths.flows_of(*pair), 0);
    const std::string entropies = counted(pair->entropies, "entropy", "entropies");
    const std::string losses = counted(pair->loss_episodes(), "loss", "losses");
    if (lacks_losses) {
        answer.summary =
            fmt::format("{} on {} {} cannot tell whether one path is to blame: each entropy needs about {} more.",
                        losses, entropies, paths.way(*pair), counted(pair->packets_needed, "packet"));
        answer.advice = "Capture longer.";
    } else if (pair->loss_episodes() == 0) {
        answer.summary = fmt::format("No loss was seen on any of {} {}.", entropies, paths.way(*pair));
        answer.advice = "Nothing needs to be done.";
    } else {
        answer.summary = fmt::format("No path {} stands out: {} on {}.", paths.way(*pair), losses, entropies);
        answer.advice = "Look for what all paths share: the hosts, their adapters and cables, the load.";
    }
    add_evidence(answer, "losses", static_cast<double>(pair->loss_episodes()), EvidenceUnit::times, {}, true);
    add_evidence(answer, "packets", static_cast<double>(pair->packets()), EvidenceUnit::packets);
    add_evenness(*pair, answer);
    out.push_back(std::move(answer));
}

}  // namespace

void ask_path(const Subject& subject, std::vector<Answer>& out) {
    const PathSubject paths = path_subject(subject);
    const std::size_t before = out.size();
    find_bad_paths(paths, out);
    find_sick_levels(paths, out);
    find_spraying(paths, out);
    find_selective_repeat(paths, out);
    find_low_entropy(paths, out);
    if (out.size() == before) describe_paths(paths, out);
}

}  // namespace metrics::answers
