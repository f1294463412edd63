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

/// What set a trigger off.
struct Incident {
    std::string trigger = {};                ///< its name
    std::string reason = {};                 ///< a sentence with hosts' names and the figure: for the log and the file
    std::vector<std::uint64_t> flows = {};   ///< ids, the worst first; the first few
    std::vector<std::uint64_t> frames = {};  ///< that show it, ascending: they are commented in the file; the first few
};
inline constexpr std::size_t max_incident_flows = 16;
inline constexpr std::size_t max_incident_frames = 64;

/// The conditions of a configuration, made ready. `when` compares a flow's figure, by its path in `flows --json`
/// (rdmascope-flows(1)), within one interval: "retransmitted_packets > 100", "latency_ns.write.p99 >= 2ms",
/// "wire_bytes > 1GiB"; joined by `and` (condition.h). `verdict` waits for an alarm of `why` (rdmascope-why(1)).
class Triggers {
public:
    /// Fails with one error a mistake; unknown figures and verdicts with what was probably meant.
    static base::Result<std::unique_ptr<Triggers>, base::Errors> compile(const std::vector<TriggerConfig>& triggers);
    virtual ~Triggers() = default;

    /// What this interval sets off, each trigger at most once, in the order of the configuration. `interval` is the
    /// difference of two snapshots; what a difference leaves as it is for the whole of a flow's life (maxima, settings)
    /// is compared as that. `why` is only asked where a trigger needs it.
    virtual std::vector<Incident> judge(const metrics::Snapshot& interval, const metrics::HostNames& names) = 0;
};

}  // namespace service::recorder
