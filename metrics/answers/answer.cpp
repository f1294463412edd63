#include "metrics/answers/answer.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "metrics/answers/counters.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/sample.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

struct UnitName {
    EvidenceUnit unit;
    std::string_view name;
    std::string_view singular;
};
constexpr std::array<UnitName, static_cast<std::size_t>(EvidenceUnit::commands) + 1> unit_names{{
    {EvidenceUnit::none, "", ""},
    {EvidenceUnit::ns, "ns", "ns"},
    {EvidenceUnit::bytes, "bytes", "byte"},
    {EvidenceUnit::bytes_per_second, "bytes/s", "bytes/s"},
    {EvidenceUnit::share, "share", "share"},
    {EvidenceUnit::packets, "packets", "packet"},
    {EvidenceUnit::messages, "messages", "message"},
    {EvidenceUnit::frames, "frames", "frame"},
    {EvidenceUnit::fpdus, "FPDUs", "FPDU"},
    {EvidenceUnit::naks, "NAKs", "NAK"},
    {EvidenceUnit::acks, "ACKs", "ACK"},
    {EvidenceUnit::recoveries, "recoveries", "recovery"},
    {EvidenceUnit::times, "times", "time"},
    {EvidenceUnit::hosts, "hosts", "host"},
    {EvidenceUnit::connections, "connections", "connection"},
    {EvidenceUnit::requests, "requests", "request"},
    {EvidenceUnit::answers, "answers", "answer"},
    {EvidenceUnit::samples, "samples", "sample"},
    {EvidenceUnit::queue_pairs, "queue pairs", "queue pair"},
    {EvidenceUnit::keys, "keys", "key"},
    {EvidenceUnit::pages, "pages", "page"},
    {EvidenceUnit::octets, "bytes", "byte"},
    {EvidenceUnit::ticks, "ticks", "tick"},
    {EvidenceUnit::commands, "commands", "command"},
}};
constexpr bool unit_names_follow_the_enumeration() {
    for (std::size_t i = 0; i < unit_names.size(); ++i)
        if (unit_names[i].unit != static_cast<EvidenceUnit>(i)) return false;
    return true;
}
static_assert(unit_names_follow_the_enumeration());

/// What costs nothing is a description, whatever it is called.
void describe_what_is_free(std::vector<Answer>& answers) {
    for (Answer& answer : answers)
        if (answer.cost.share <= 0) answer.alarm = false;
}

/// Of two findings of the same severity, the cause comes before its effect: congestion paces and loses packets.
unsigned precedence(const Answer& answer) {
    if (answer.question == Question::congestion) return 0;
    return 1 + static_cast<unsigned>(answer.question);
}

bool comes_first(const Answer& a, const Answer& b) {
    const Grade grade_a = grade_of(a);
    const Grade grade_b = grade_of(b);
    if (grade_a != grade_b) return grade_a > grade_b;
    if (!a.alarm) return a.question < b.question;
    if (a.severity != b.severity) return a.severity > b.severity;
    if (precedence(a) != precedence(b)) return precedence(a) < precedence(b);
    return a.flows < b.flows;
}

std::vector<Answer> asked(const Snapshot& snapshot, const HostNames& names, const std::uint64_t* flow) {
    const answers::Subject subject(snapshot, names, flow);
    std::vector<Answer> answers;
    answers::ask_bandwidth(subject, answers);
    answers::ask_latency(subject, answers);
    answers::ask_qp_cache(subject, answers);
    answers::ask_congestion(subject, answers);
    answers::ask_queue_depth(subject, answers);
    answers::ask_path(subject, answers);
    answers::ask_commands(subject, answers);
    if (const auto sample = answers::sample_of(snapshot)) answers::withhold_for_sample(*sample, answers);
    describe_what_is_free(answers);
    return answers;
}

}  // namespace

std::string HostNames::text(const Address& address) const {
    std::string known = name(address);
    std::string number = to_text(address);
    if (known.empty()) return number;
    // Counters, forwarding tables and logs of a subnet have the LID, not the name.
    if (address.family == wire::AddressFamily::lid) known += fmt::format(" ({})", number);
    return known;
}

std::string address_text(const Address& address, const HostNames* names) {
    return names == nullptr ? to_text(address) : names->text(address);
}

std::string_view name_of(EvidenceUnit unit) { return unit_names[static_cast<std::size_t>(unit)].name; }
std::string_view singular_of(EvidenceUnit unit) { return unit_names[static_cast<std::size_t>(unit)].singular; }

std::string_view name_of(CostBasis basis) {
    constexpr std::array<std::string_view, 6> names{"busy_time",   "packets",  "requests",
                                                    "connections", "commands", "command_time"};
    return names[static_cast<std::size_t>(basis)];
}

std::string_view name_of(Grade grade) {
    constexpr std::array<std::string_view, 5> names{"nothing", "ok", "suspected", "minor", "wrong"};
    return names[static_cast<std::size_t>(grade)];
}

Grade grade_of(const Answer& answer) {
    if (!answer.alarm) return Grade::ok;
    if (answer.confidence < suspected_confidence) return Grade::suspected;
    return answer.cost.share < minor_cost ? Grade::minor : Grade::wrong;
}

Grade grade_of(const Snapshot& snapshot, std::span<const Answer> answers) {
    Grade worst = snapshot.flows.empty() ? Grade::nothing : Grade::ok;
    for (const Answer& answer : answers)
        if (answer.alarm) worst = std::max(worst, grade_of(answer));
    return worst;
}

void sort(std::vector<Answer>& answers) { std::stable_sort(answers.begin(), answers.end(), comes_first); }

std::vector<Answer> answer(const Snapshot& snapshot, const HostNames& names, const std::uint64_t* flow) {
    std::vector<Answer> answers = asked(snapshot, names, flow);
    answers::sort(answers);
    return answers;
}

std::vector<Answer> answer(const Snapshot& snapshot, const HostNames& names, const DeviceFigures& devices,
                           const std::uint64_t* flow) {
    std::vector<Answer> answers = asked(snapshot, names, flow);
    if (flow == nullptr) answers::add_counters(snapshot, devices, answers);
    answers::sort(answers);
    return answers;
}

}  // namespace metrics::answers
