#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/snapshot.h"

namespace metrics {

enum class Question : std::uint8_t { bandwidth, latency, qp_cache, congestion, queue_depth };
inline constexpr std::size_t question_count = 5;
inline constexpr std::array<std::string_view, question_count> question_names{"bandwidth", "latency", "qp_cache",
                                                                             "congestion", "queue_depth"};

/// One figure behind an answer, and the frames that show it.
struct Evidence {
    std::string what;  ///< "packets transmitted again"
    double value = 0;
    std::string unit;  ///< "packets", "ns", "bytes", "bytes/s", "share", "" for counts without one
    std::vector<std::uint64_t> frames;
};

/// One finding. A question has at least one; the first is the one that matters most.
struct Answer {
    Question question{};
    std::string verdict;  ///< from `verdicts(question)`: for scripts
    std::string summary;  ///< one plain sentence with the hosts' names
    double confidence = 0;
    Vantage vantage = Vantage::unknown;
    std::vector<std::uint64_t> flows;  ///< ids, the worst first
    std::vector<Evidence> evidence;
    std::string advice;
    double severity = 0;  ///< 0 = all is well, 1 = nothing else matters: by what share of the time or traffic it hurts
    bool alarm = false;   ///< something is wrong, and not merely described
};

struct Verdict {
    std::string_view name;
    std::string_view meaning;
    bool alarm;
};
/// Every verdict that a question can get, in the order of the manual.
const std::vector<Verdict>& verdicts(Question question);

/// How hosts are called in sentences: "storage-3 (192.0.2.2)" where a name is known, else the address.
class HostNames {
public:
    virtual ~HostNames() = default;
    virtual std::string name(const Address& address) const = 0;  ///< empty where none is known
};

/// All answers, the findings that raise an alarm first, worst first, then one for every question that has none.
/// With `flow`, about that flow and its reverse alone.
std::vector<Answer> answer(const Snapshot& snapshot, const HostNames& names, const std::uint64_t* flow = nullptr);

}  // namespace metrics
