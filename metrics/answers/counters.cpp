#include "metrics/answers/counters.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

using wire::CounterFact;

/// From when on a counter is an answer where packets show nothing.
enum class Alarm : std::uint8_t {
    never,   ///< it only supports others
    any,     ///< as one such packet would
    losses,  ///< alarming_loss_share of the packets that the device counted
    marks,   ///< marked_share of them
};

/// What a fact of a device speaks for. docs/why.md, "Counters".
struct Row {
    CounterFact fact;
    Question question;
    std::optional<Verdict> verdict;              ///< of its own answer
    std::array<std::optional<Verdict>, 5> also;  ///< other verdicts that it supports
    Alarm alarm;
    std::string_view means;  ///< "requests that came out of sequence"
    std::string_view says;   ///< after "This machine's mlx5_0 counted 12 ...: "
    std::string_view advice;
};

constexpr std::string_view find_upstream =
    "Look for drops on the way to this machine: discards and CRC errors of its switch port, then port by port towards "
    "the senders.";
constexpr std::string_view find_downstream =
    "Look for drops on the way from this machine: discards and CRC errors of the switch ports towards the receivers.";
constexpr std::string_view post_receives =
    "Post more receives in advance, or share them (SRQ), and replenish them before they run out.";

constexpr std::array rows{
    Row{CounterFact::out_of_sequence,
        Question::bandwidth,
        Verdict::loss_before_tap,
        {Verdict::reordering, Verdict::go_back_n_violation},
        Alarm::losses,
        "requests that came out of sequence",
        "packets are lost, or overtaken, on the way to it.",
        find_upstream},
    Row{CounterFact::implied_naks,
        Question::bandwidth,
        Verdict::loss_before_tap,
        {Verdict::timeout_recovery},
        Alarm::losses,
        "responses that were missing",
        "they are lost on the way to it.",
        find_upstream},
    Row{CounterFact::discards_received,
        Question::bandwidth,
        Verdict::loss_before_tap,
        {Verdict::timeout_recovery},
        Alarm::losses,
        "packets that it received and dropped",
        "its buffers are full: the host or the adapter is too slow for what comes.",
        "Enable flow control for the traffic's priority (PFC), or have senders slowed down earlier (ECN)."},
    Row{CounterFact::receive_errors,
        Question::bandwidth,
        Verdict::loss_before_tap,
        {Verdict::corruption},
        Alarm::losses,
        "damaged packets received",
        "the link damages packets.",
        "Check cable, transceiver and FEC of its link."},
    Row{CounterFact::sequence_naks,
        Question::bandwidth,
        Verdict::loss_after_tap,
        {Verdict::reordering, Verdict::go_back_n_violation},
        Alarm::losses,
        "NAKs from peers that missed a packet",
        "packets are lost, or overtaken, on the way to its peers.",
        find_downstream},
    Row{CounterFact::discards_sent,
        Question::bandwidth,
        Verdict::loss_after_tap,
        {Verdict::timeout_recovery},
        Alarm::losses,
        "packets that it dropped instead of sending",
        "they never left this machine.",
        "Look at the link's state and at pauses that last longer than the adapter waits."},
    Row{CounterFact::ack_timeouts,
        Question::bandwidth,
        Verdict::timeout_recovery,
        {Verdict::loss_before_tap, Verdict::loss_after_tap},
        Alarm::losses,
        "requests whose answer did not come in time",
        "requests or their answers are lost, and only a timer tells.",
        find_downstream},
    Row{CounterFact::retries_exceeded,
        Question::bandwidth,
        Verdict::timeout_recovery,
        {Verdict::loss_after_tap},
        Alarm::any,
        "requests given up after all retries",
        "queue pairs failed because no answer came.",
        "See whether the peer lives and can be reached (rping), then look for lost packets on the way."},
    Row{CounterFact::retransmissions,
        Question::bandwidth,
        {},
        {Verdict::loss_before_tap, Verdict::loss_after_tap, Verdict::timeout_recovery, Verdict::reordering,
         Verdict::rnr},
        Alarm::never,
        "retransmissions",
        {},
        {}},
    Row{CounterFact::adaptive_retransmissions,
        Question::bandwidth,
        {},
        {Verdict::loss_before_tap, Verdict::loss_after_tap, Verdict::timeout_recovery, Verdict::reordering},
        Alarm::never,
        "adaptive retransmissions",
        {},
        {}},
    Row{CounterFact::slow_restarts,
        Question::bandwidth,
        {},
        {Verdict::loss_before_tap, Verdict::loss_after_tap, Verdict::timeout_recovery, Verdict::application_idle,
         Verdict::nic_stall},
        Alarm::never,
        "slow restarts after a pause",
        {},
        {}},
    Row{CounterFact::duplicates,
        Question::bandwidth,
        {},
        {Verdict::loss_before_tap, Verdict::loss_after_tap, Verdict::timeout_recovery, Verdict::duplication,
         Verdict::reordering},
        Alarm::never,
        "requests that came again",
        {},
        {}},
    Row{CounterFact::icrc_errors,
        Question::bandwidth,
        Verdict::corruption,
        {},
        Alarm::losses,
        "packets with a bad ICRC",
        "something on the way changes packets.",
        "Look for a device on the way that rewrites headers, and for a damaged link with few CRC errors."},
    Row{CounterFact::out_of_buffer,
        Question::bandwidth,
        Verdict::rnr,
        {},
        Alarm::any,
        "messages that came with no receive posted",
        "peers have to wait and send again.",
        post_receives},
    Row{CounterFact::rnr_received,
        Question::bandwidth,
        Verdict::rnr,
        {},
        Alarm::any,
        "RNR NAKs received",
        "peers had no receive posted.",
        post_receives},
    Row{CounterFact::rnr_retries_exceeded,
        Question::bandwidth,
        Verdict::rnr,
        {},
        Alarm::any,
        "requests given up after all RNR retries",
        "queue pairs failed, since their peers posted no receive.",
        post_receives},
    Row{CounterFact::pause_received,
        Question::bandwidth,
        {},
        {Verdict::pause, Verdict::nic_stall},
        Alarm::never,
        "PAUSE frames received",
        {},
        {}},
    Row{CounterFact::pause_received_time,
        Question::bandwidth,
        {},
        {Verdict::pause, Verdict::nic_stall},
        Alarm::never,
        "time that it had to pause",
        {},
        {}},
    Row{CounterFact::wait,
        Question::bandwidth,
        {},
        {Verdict::pause, Verdict::nic_stall, Verdict::credit},
        Alarm::never,
        "ticks without credit",
        {},
        {}},
    Row{CounterFact::out_of_buffer,
        Question::queue_depth,
        {},
        {Verdict::at_limit, Verdict::underused, Verdict::ok},
        Alarm::never,
        "messages that came with no receive posted",
        {},
        {}},
    Row{CounterFact::rnr_received,
        Question::queue_depth,
        {},
        {Verdict::at_limit, Verdict::underused, Verdict::ok},
        Alarm::never,
        "RNR NAKs received",
        {},
        {}},
    Row{CounterFact::ecn_marked,
        Question::congestion,
        Verdict::marked,
        {Verdict::throttled, Verdict::incast},
        Alarm::marks,
        "packets that came marked (CE)",
        "queues build up on the way to it.",
        "See which ports on the way to it are busy, and whether senders react to CNPs (DCQCN)."},
    Row{CounterFact::cnp_sent,
        Question::congestion,
        Verdict::throttled,
        {Verdict::marked, Verdict::incast},
        Alarm::any,
        "CNPs sent",
        "it asks senders to slow down, since their packets come marked.",
        "See which ports on the way to it are busy, and how many senders share them."},
    Row{CounterFact::cnp_received,
        Question::congestion,
        Verdict::throttled,
        {Verdict::marked, Verdict::incast},
        Alarm::any,
        "CNPs received",
        "receivers ask it to slow down.",
        "See which ports on the way to its peers are busy, and who shares them."},
    Row{CounterFact::pause_received,
        Question::congestion,
        Verdict::pause,
        {},
        Alarm::any,
        "PAUSE frames received",
        "the network cannot take what it sends.",
        "Follow the pauses from switch to switch to the host that only sends them and receives none."},
    Row{CounterFact::pause_received_time,
        Question::congestion,
        {},
        {Verdict::pause},
        Alarm::never,
        "time that it had to pause",
        {},
        {}},
    Row{CounterFact::pause_sent,
        Question::congestion,
        Verdict::pause,
        {},
        Alarm::any,
        "PAUSE frames sent",
        "this machine cannot take what comes.",
        "Look at its PCIe (width, speed, relaxed ordering), at NUMA and at the IOMMU."},
    Row{CounterFact::pause_sent_time,
        Question::congestion,
        {},
        {Verdict::pause},
        Alarm::never,
        "time that it had its peer pause",
        {},
        {}},
    Row{CounterFact::discards_received,
        Question::congestion,
        {},
        {Verdict::loss, Verdict::incast, Verdict::pause},
        Alarm::never,
        "packets that it received and dropped",
        {},
        {}},
    Row{CounterFact::discards_sent,
        Question::congestion,
        {},
        {Verdict::loss, Verdict::pause},
        Alarm::never,
        "packets that it dropped instead of sending",
        {},
        {}},
    Row{CounterFact::cache_misses,
        Question::qp_cache,
        {},
        {Verdict::thrashing, Verdict::knee, Verdict::no_knee, Verdict::small_working_set, Verdict::undecidable},
        Alarm::never,
        "misses of its caches",
        {},
        {}},
};

static_assert(std::ranges::all_of(rows, [](const Row& row) { return row.verdict || row.alarm == Alarm::never; }));

std::string place_of(const DeviceCounter& counter) {
    return counter.port == 0 ? counter.device : fmt::format("{} port {}", counter.device, counter.port);
}

EvidenceUnit unit_of(CounterUnit unit) {
    switch (unit) {
        case CounterUnit::octets: return EvidenceUnit::octets;
        case CounterUnit::ns: return EvidenceUnit::ns;
        case CounterUnit::ticks: return EvidenceUnit::ticks;
        case CounterUnit::times:
        case CounterUnit::unknown: break;
    }
    return EvidenceUnit::none;
}

/// What a counter is called is the proof: `rnr_naks_rcvd of bnxt_re0 port 1 (RNR NAKs received)`.
Evidence evidence_of(const DeviceCounter& counter, const Row& row) {
    Evidence evidence;
    evidence.what = fmt::format("{} of {} ({}", counter.name, place_of(counter), row.means);
    if (counter.priority >= 0) evidence.what += fmt::format(", priority {}", counter.priority);
    evidence.what += ')';
    evidence.value = static_cast<double>(counter.value);
    evidence.unit = unit_of(counter.unit);
    return evidence;
}

/// What each port counted, by what it means.
class Ports {
public:
    Ports(const Snapshot& snapshot, const DeviceFigures& devices) {
        for (const FlowSnapshot& flow : snapshot.flows) captured_ += flow.packets;
        for (const DeviceCounter& counter : devices.counters)
            if (counter.fact != CounterFact::other && counter.queue_pairs.empty())
                counted_[{counter.device, counter.port, counter.fact}] += counter.value;
    }
    /// Both ways; of a device that does not count them, those of the capture.
    double packets(const DeviceCounter& counter) const {
        const std::uint64_t packets =
            of(counter, CounterFact::packets_sent) + of(counter, CounterFact::packets_received);
        return static_cast<double>(std::max(packets == 0 ? captured_ : packets, counter.value));
    }
    /// After a packet that found the receive queue empty, the next ones are out of sequence, though none was lost.
    bool follows_from_rnr(const DeviceCounter& counter) const {
        if (counter.fact == CounterFact::out_of_sequence)
            return of(counter, CounterFact::out_of_buffer) >= counter.value;
        if (counter.fact == CounterFact::sequence_naks) return of(counter, CounterFact::rnr_received) >= counter.value;
        return false;
    }

private:
    std::uint64_t of(const DeviceCounter& counter, CounterFact fact) const {
        const auto at = counted_.find({counter.device, counter.port, fact});
        return at == counted_.end() ? 0 : at->second;
    }
    std::map<std::tuple<std::string, std::uint32_t, CounterFact>, std::uint64_t> counted_;
    std::uint64_t captured_ = 0;
};

bool alarms(const Row& row, const DeviceCounter& counter, const Ports& ports) {
    if (ports.follows_from_rnr(counter)) return false;
    const double share = ratio(static_cast<double>(counter.value), ports.packets(counter));
    switch (row.alarm) {
        case Alarm::never: return false;
        case Alarm::any: return true;
        case Alarm::losses: return share >= alarming_loss_share;
        case Alarm::marks: break;
    }
    return share >= marked_share;
}

bool supports(const Row& row, Verdict verdict) {
    return row.verdict == verdict || std::find(row.also.begin(), row.also.end(), verdict) != row.also.end();
}

/// A capture may miss the packets that an adapter handles itself; its counters do not.
constexpr double confidence_of_counters = 0.8;

Answer counter_answer(const Row& row, const DeviceCounter& counter, const Ports& ports) {
    Answer answer;
    answer.question = row.question;
    answer.verdict = *row.verdict;
    answer.summary = fmt::format("This machine's {} counted {} {} ({}): {}", place_of(counter), counter.value,
                                 row.means, counter.name, row.says);
    answer.advice = row.advice;
    answer.confidence = confidence_of_counters;
    answer.severity = ratio(static_cast<double>(counter.value), ports.packets(counter));
    // A port that counts no packets leaves the share open.
    answer.cost = {answer.severity > 0 ? answer.severity : alarming_loss_share, CostBasis::packets};
    const VerdictMeaning* const meaning = meaning_of(answer.question, answer.verdict);
    answer.alarm = meaning != nullptr && meaning->alarm;
    answer.evidence.push_back(evidence_of(counter, row));
    return answer;
}

/// Answers that only counters give, one for each verdict: of the counter with the highest severity, then the others.
class CounterAnswers {
public:
    void add(const Row& row, const DeviceCounter& counter, const Ports& ports) {
        Answer fresh = counter_answer(row, counter, ports);
        const auto known = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& one) {
            return one.question == row.question && one.verdict == row.verdict;
        });
        if (known == answers_.end()) return answers_.push_back(std::move(fresh));
        if (known->severity < fresh.severity) std::swap(*known, fresh);
        for (Evidence& evidence : fresh.evidence) known->evidence.push_back(std::move(evidence));
    }
    std::vector<Answer> take() { return std::move(answers_); }

private:
    std::vector<Answer> answers_;
};

}  // namespace

void add_counters(const Snapshot& snapshot, const DeviceFigures& devices, std::vector<Answer>& answers) {
    const Ports ports(snapshot, devices);
    CounterAnswers own;
    std::vector<bool> supported(answers.size());
    std::vector<std::pair<const Row*, const DeviceCounter*>> rest;
    for (const Row& row : rows)
        for (const DeviceCounter& counter : devices.counters) {
            if (counter.fact != row.fact || counter.value == 0 || !counter.queue_pairs.empty()) continue;
            bool known = false;
            for (std::size_t i = 0; i < answers.size(); ++i) {
                Answer& answer = answers[i];
                if (answer.question != row.question || !supports(row, answer.verdict)) continue;
                // Two ways of measuring that agree leave half of the doubt.
                if (answer.alarm && !supported[i]) answer.confidence += (1 - answer.confidence) / 2;
                supported[i] = true;
                answer.evidence.push_back(evidence_of(counter, row));
                known = known || answer.verdict == row.verdict || answer.alarm;
            }
            if (!known && alarms(row, counter, ports))
                own.add(row, counter, ports);
            else if (!known)
                rest.emplace_back(&row, &counter);
        }
    std::vector<Answer> found = own.take();
    for (Answer& answer : found) {
        for (const auto& [row, counter] : rest)
            if (row->question == answer.question && supports(*row, answer.verdict))
                answer.evidence.push_back(evidence_of(*counter, *row));
        // A question has those that alarm, or else the one that describes.
        std::erase_if(answers, [&](const Answer& one) { return one.question == answer.question && !one.alarm; });
    }
    answers.insert(answers.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

}  // namespace metrics::answers
