#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/config/config.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"

namespace service::inline recorder {

/// What triggered the recorder.
struct Incident {
    std::string trigger = {};                ///< its name
    std::string reason = {};                 ///< a sentence with hosts' names and the figure: for the log and the file
    std::vector<std::uint64_t> flows = {};   ///< ids, the worst first; the first few
    std::vector<std::uint64_t> frames = {};  ///< that show it, ascending: they get comments in the file; the first few
};
inline constexpr std::size_t max_incident_flows = 16;
inline constexpr std::size_t max_incident_frames = 64;

/// The compiled conditions of a configuration. `when` compares a flow's figure, by its path in `flows --json`
/// (rdmascope-flows(1)), within one interval: "retransmitted_packets > 100", "latency_ns.write.p99 >= 2ms", "wire_bytes
/// > 1GiB"; joined by `and` (condition.h). `verdict` waits for an alarm of `why` (rdmascope-why(1)).
class Triggers {
public:
    /// Fails with one error for each mistake; for an unknown figure or verdict the error suggests the closest name.
    static base::Result<std::unique_ptr<Triggers>, base::Errors> compile(const std::vector<TriggerConfig>& triggers);
    virtual ~Triggers() = default;

    /// The incidents of this interval, each trigger at most once, in the order of the configuration. `interval` is the
    /// difference of two snapshots. Figures that a difference keeps for the whole of a flow's life (maxima, settings)
    /// are compared with their values of the whole life. `why` is computed only if a trigger needs it; `policy` is what
    /// the policy's rules say of the interval.
    virtual std::vector<Incident> judge(const metrics::Snapshot& interval, const metrics::HostNames& names,
                                        const std::vector<metrics::Answer>& policy = {}) = 0;
};

}  // namespace service::recorder
