#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/answers/verdict.h"
#include "metrics/figures/snapshot.h"

namespace metrics::inline answers {

/// What a figure counts or measures.
enum class EvidenceUnit : std::uint8_t {
    none,  ///< a count without a unit
    ns,
    bytes,
    bytes_per_second,
    share,  ///< 1 is all
    packets,
    messages,
    frames,
    fpdus,
    naks,
    acks,
    recoveries,
    times,
    hosts,
    connections,
    requests,
    answers,
    samples,
    queue_pairs,
    keys,
    pages,
    octets,  ///< of a device's counter
    ticks,   ///< of a device's counter; the device defines their length
    commands,
};
std::string_view name_of(EvidenceUnit unit);      ///< "bytes/s", "packets"; "" of `none`
std::string_view singular_of(EvidenceUnit unit);  ///< "packet", "recovery"

/// One figure that supports an answer, and the frames that show it.
struct Evidence {
    std::string what;  ///< "packets transmitted again"
    double value = 0;
    EvidenceUnit unit = EvidenceUnit::none;
    std::vector<std::uint64_t> frames;
};

/// What the cost of a finding is a share of.
enum class CostBasis : std::uint8_t { busy_time, packets, requests, connections, commands, command_time };
std::string_view name_of(CostBasis basis);  ///< "busy_time", ...

/// What a finding costs, at least: 0 is nothing, 1 is all.
struct Cost {
    double share = 0;
    CostBasis basis = CostBasis::busy_time;
};

/// How much a finding, or a whole capture, matters. In ascending order, so that a later one is worse.
enum class Grade : std::uint8_t {
    nothing,    ///< there is nothing to judge
    ok,         ///< a description
    suspected,  ///< something may be wrong, with less than half of the confidence
    minor,      ///< something is wrong, and it costs less than 1 %
    wrong,      ///< something is wrong
};
std::string_view name_of(Grade grade);  ///< "ok", "wrong", ...

/// One finding. A question has at least one; the first is the one that matters most.
struct Answer {
    Question question{};
    Verdict verdict{};    ///< one of `verdicts(question)`
    std::string summary;  ///< one plain sentence with the hosts' names
    double confidence = 0;
    Vantage vantage = Vantage::unknown;
    std::vector<std::uint64_t> flows;  ///< ids, the worst first
    std::vector<Evidence> evidence;
    std::string advice;
    double severity = 0;  ///< the share of the time or traffic that the finding costs, 0 to 1
    Cost cost = {};       ///< of an alarm
    bool alarm = false;   ///< something is wrong, and not merely described
};

/// The grade of one answer; never `nothing`.
Grade grade_of(const Answer& answer);
/// The worst of the answers; `nothing` if the snapshot has no flow and nothing alarms.
Grade grade_of(const Snapshot& snapshot, std::span<const Answer> answers);

/// How hosts are called in sentences: "storage-3 (192.0.2.2)" where a name is known, else the address.
class HostNames {
public:
    virtual ~HostNames() = default;
    virtual std::string name(const Address& address) const = 0;  ///< empty if absent
    /// As people read the address: its name, of a LID with the number ("host01 mlx5_0 (lid 4)"); the address if it has
    /// no name.
    std::string text(const Address& address) const;
    /// Names that a capture has shown. Any thread may call this while others read.
    virtual void learn(std::span<const AddressName>) {}
};
/// The same where names may be absent: null stands for no names.
std::string address_text(const Address& address, const HostNames* names);

/// All answers, the findings that raise an alarm first, worst first, then one for every question that has none.
/// With `flow`, about that flow and its reverse alone.
std::vector<Answer> answer(const Snapshot& snapshot, const HostNames& names, const std::uint64_t* flow = nullptr);

}  // namespace metrics::answers
