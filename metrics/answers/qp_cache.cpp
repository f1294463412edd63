// Is the adapter's cache of queue pairs, keys or translations thrashed? A responder that has to fetch an entry from
// memory answers later, so turnaround against reuse distance steps up at the cache's size.
#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

struct Knee {
    double from = 0;  ///< entries that the cache holds at least
    double to = 0;    ///< and entries that it cannot hold
    double ratio = 0;
    double share_beyond = 0;
    std::uint64_t fast_ns = 0;
    std::uint64_t slow_ns = 0;
};

struct Table {
    const ReuseFigures* figures;
    EvidenceUnit unit;
    std::string_view advice;
};

std::optional<Knee> knee_of(const ReuseFigures& figures) {
    std::optional<Knee> best;
    for (std::size_t split = 1; split < figures.bins.size(); ++split) {
        Histogram near;
        Histogram far;
        for (std::size_t i = 0; i < figures.bins.size(); ++i)
            (i < split ? near : far).merge(figures.bins[i].turnaround_ns);
        if (near.count() < knee_samples || far.count() < knee_samples) continue;
        const std::uint64_t fast = *near.quantile(0.5);
        const std::uint64_t slow = *far.quantile(0.5);
        if (fast == 0) continue;
        const double ratio_here = static_cast<double>(slow) / static_cast<double>(fast);
        if (ratio_here < knee_ratio) continue;
        // Every distance beyond must be slow; one slow bin is no cache.
        const bool all_slow = std::all_of(figures.bins.begin() + static_cast<std::ptrdiff_t>(split), figures.bins.end(),
                                          [fast](const ReuseBin& bin) {
                                              const auto median = bin.turnaround_ns.quantile(0.5);
                                              return !median || bin.turnaround_ns.count() < knee_samples / 4 ||
                                                     static_cast<double>(*median) >= 1.25 * static_cast<double>(fast);
                                          });
        if (!all_slow || (best && ratio_here <= best->ratio * 1.05)) continue;
        best = Knee{figures.bins[split - 1].distance,
                    figures.bins[split].distance,
                    ratio_here,
                    ratio(static_cast<double>(far.count()), static_cast<double>(far.count() + near.count())),
                    fast,
                    slow};
    }
    return best;
}

std::uint64_t measured(const ReuseFigures& figures) {
    std::uint64_t count = 0;
    for (const ReuseBin& bin : figures.bins) count += bin.turnaround_ns.count();
    return count;
}

void add_bins(Answer& answer, const ReuseFigures& figures, std::string_view what) {
    for (const ReuseBin& bin : figures.bins)
        if (const auto median = bin.turnaround_ns.quantile(0.5))
            add_evidence(answer,
                         fmt::format("median turnaround at a reuse distance of {} {}", rough(bin.distance), what),
                         static_cast<double>(*median), EvidenceUnit::ns);
}

Answer about(const HostSnapshot& host, const Subject& subject, Verdict verdict) {
    std::vector<Affected> flows;
    for (const FlowSnapshot* flow : subject.flows())
        if (flow->destination.address == host.address && carries_data(*flow)) flows.push_back({flow, 0});
    Answer answer = finding(Question::qp_cache, verdict, flows);
    if (answer.flows.size() > 16) answer.flows.resize(16);
    if (answer.vantage == Vantage::sender) answer.confidence *= 0.5;  // the way there and back is in every turnaround
    return answer;
}

void add_sets(Answer& answer, const HostSnapshot& host) {
    add_evidence(answer, "queue pairs addressed", static_cast<double>(host.queue_pairs.distinct),
                 EvidenceUnit::queue_pairs);
    add_evidence(answer, "of them within 10 ms, most", static_cast<double>(host.queue_pairs.working_set_max),
                 EvidenceUnit::queue_pairs);
    add_evidence(answer, "remote keys used", static_cast<double>(host.remote_keys.distinct), EvidenceUnit::keys);
    add_evidence(answer, "pages of 4 KiB touched", static_cast<double>(host.pages.distinct), EvidenceUnit::pages);
    add_evidence(answer, "of them within 10 ms, most", static_cast<double>(host.pages.working_set_max),
                 EvidenceUnit::pages);
}

std::size_t most_flows(const Subject& subject) {
    std::map<Address, std::size_t> flows;
    std::size_t most = 0;
    for (const FlowSnapshot* flow : subject.flows())
        if (carries_data(*flow)) most = std::max(most, ++flows[flow->destination.address]);
    return most;
}

/// Where turnaround steps up, one answer a table that has such a place.
std::vector<Answer> knees_of(const Subject& subject, const HostSnapshot& host) {
    const std::array<Table, 3> tables{{
        {&host.queue_pairs, EvidenceUnit::queue_pairs,
         "use fewer queue pairs (share them among threads, XRC or DC transport, or an SRQ), or send in bursts to each"},
        {&host.remote_keys, EvidenceUnit::keys, "register fewer, larger regions"},
        {&host.pages, EvidenceUnit::pages, "back the memory with huge pages, and touch it in order"},
    }};
    std::vector<Answer> out;
    for (const Table& table : tables) {
        if (table.figures->distinct <= least_cached_queue_pairs) continue;
        const auto knee = knee_of(*table.figures);
        if (!knee) continue;
        const std::string_view what = name_of(table.unit);
        const bool thrashes = knee->share_beyond >= thrashing_share;
        Answer answer = about(host, subject, thrashes ? Verdict::thrashing : Verdict::knee);
        answer.summary = fmt::format(
            "{0} answers in {1} where one of the {2} was among the last {3} or so that it used, and in {4} where it "
            "was not: its cache probably holds about {3}, and {5} of the requests go beyond.",
            subject.host(host.address), duration(static_cast<double>(knee->fast_ns)), what, rough(knee->from),
            duration(static_cast<double>(knee->slow_ns)), percent(knee->share_beyond));
        answer.advice = fmt::format(
            "To stay within it, {}. The adapter's own counters, where it has them, confirm it (`ethtool -S DEVICE`: "
            "ICM or cache misses; `perf stat` PCIe reads).",
            table.advice);
        answer.confidence *= 0.7;  // load grows with the number of queue pairs too
        answer.severity = thrashes ? knee->share_beyond * (1 - 1 / knee->ratio) : 0;
        answer.cost = {answer.severity, CostBasis::requests};
        add_evidence(answer, "cache holds at least", knee->from, table.unit);
        add_evidence(answer, "and fewer than", knee->to, table.unit);
        add_evidence(answer, "requests beyond", knee->share_beyond, EvidenceUnit::share);
        add_bins(answer, *table.figures, what);
        add_sets(answer, host);
        out.push_back(std::move(answer));
    }
    return out;
}

/// For a capture whose headers do not show requests (iWARP). A few connections need no cache either.
Answer without_requests(const Subject& subject) {
    std::vector<Affected> all;
    const std::size_t most = most_flows(subject);
    if (most == 0 || most > least_cached_queue_pairs) {
        Answer answer = finding(Question::qp_cache, Verdict::undecidable, all);
        answer.summary = "No requests were seen, so nothing is known of the adapters' caches.";
        answer.advice = "Capture at the host that is asked, while many queue pairs are in use.";
        return answer;
    }
    for (const FlowSnapshot* flow : subject.flows())
        if (carries_data(*flow)) all.push_back({flow, 0});
    Answer answer = finding(Question::qp_cache, Verdict::small_working_set, all);
    answer.summary =
        fmt::format("No host is sent data on more than {}: any adapter holds them.", counted(most, "connection"));
    answer.advice = "Nothing needs to be done.";
    answer.confidence = 0.8;  // keys and pages are not counted
    add_evidence(answer, "connections with data towards one host, most", static_cast<double>(most),
                 EvidenceUnit::connections);
    return answer;
}

Answer small_set(const Subject& subject, const HostSnapshot& host) {
    Answer answer = about(host, subject, Verdict::small_working_set);
    std::string used;  // SENDs name neither keys nor pages
    for (const auto& [count, what] :
         {std::pair{host.remote_keys.distinct, "rkey"}, std::pair{host.pages.working_set_max, "page"}})
        if (count > 0) used += (used.empty() ? ", using " : " and ") + counted(count, what);
    answer.summary =
        fmt::format("{} receives requests on {}{}{}: any adapter holds them.", subject.host(host.address),
                    counted(host.queue_pairs.distinct, "queue pair"), used, used.empty() ? "" : " at a time");
    answer.advice = "Nothing needs to be done.";
    answer.confidence = 0.9;
    add_sets(answer, host);
    return answer;
}

Answer large_set_without_knee(const Subject& subject, const HostSnapshot& host) {
    const std::uint64_t samples =
        std::max({measured(host.queue_pairs), measured(host.remote_keys), measured(host.pages)});
    const bool enough = samples >= 2 * knee_samples;
    Answer answer = about(host, subject, enough ? Verdict::no_knee : Verdict::undecidable);
    if (enough) {
        answer.summary = fmt::format(
            "{} answers as fast however long ago it met a queue pair, key or page ({}, {}): no cache shows.",
            subject.host(host.address), counted(host.queue_pairs.distinct, "queue pair"),
            counted(host.pages.distinct, "page"));
        answer.advice = "Nothing needs to be done.";
    } else {
        answer.summary = fmt::format(
            "{} received requests on {}, but only {} could be timed: too few to find the end of a cache.",
            subject.host(host.address), counted(host.queue_pairs.distinct, "queue pair"), counted(samples, "answer"));
        answer.advice = "Capture longer, at that host, with requests that are answered (RC READ, or WRITE with ACKs).";
        answer.confidence = 0;
    }
    add_sets(answer, host);
    add_bins(answer, host.queue_pairs, "queue pairs");
    return answer;
}

/// More queue pairs come first, then more requests.
bool is_busier(const HostSnapshot& host, const HostSnapshot& other) {
    return std::tie(host.queue_pairs.distinct, host.received_requests) >
           std::tie(other.queue_pairs.distinct, other.received_requests);
}

}  // namespace

void ask_qp_cache(const Subject& subject, std::vector<Answer>& out) {
    const HostSnapshot* busiest = nullptr;
    std::vector<Answer> thrashing;
    std::optional<Answer> mild;
    for (const HostSnapshot& host : subject.snapshot().hosts) {
        // Packets that set up connections are requests, too, and name no queue pair that a cache holds.
        if (!subject.concerns(host.address) || host.received_requests == 0 || host.queue_pairs.distinct == 0) continue;
        if (busiest == nullptr || is_busier(host, *busiest)) busiest = &host;
        for (Answer& answer : knees_of(subject, host))
            if (answer.verdict == Verdict::thrashing)
                thrashing.push_back(std::move(answer));
            else if (!mild)
                mild = std::move(answer);
    }
    if (!thrashing.empty())
        std::ranges::move(thrashing, std::back_inserter(out));
    else if (mild)
        out.push_back(std::move(*mild));
    else if (busiest == nullptr)
        out.push_back(without_requests(subject));
    else if (std::max({busiest->queue_pairs.distinct, busiest->remote_keys.distinct, busiest->pages.working_set_max}) <=
             least_cached_queue_pairs)
        out.push_back(small_set(subject, *busiest));
    else
        out.push_back(large_set_without_knee(subject, *busiest));
}

}  // namespace metrics::answers
