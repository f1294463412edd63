#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "metrics/snapshot.h"
#include "metrics/why/answer.h"
#include "wire/result.h"

namespace service {

/// What set a trigger off.
struct Incident {
    std::string trigger;                ///< its name
    std::string reason;                 ///< a sentence with hosts' names and the figure: for the log and the file
    std::vector<std::uint64_t> flows;   ///< ids
    std::vector<std::uint64_t> frames;  ///< that show it: they are commented in the file
};

/// The conditions of a configuration, made ready. `when` compares a flow's figure, by its path in `flows --json`
/// (rdmascope-flows(1)), within one interval: "retransmitted_packets > 100", "latency_ns.write.p99 >= 2ms",
/// "wire_bytes > 1GiB"; joined by `and`.
class Triggers {
public:
    /// Fails with one line a mistake; unknown figures and verdicts with what was probably meant.
    static wire::Result<std::unique_ptr<Triggers>, std::vector<std::string>> compile(
        const std::vector<TriggerConfig>& triggers);
    virtual ~Triggers() = default;

    /// What this interval sets off, each trigger at most once. `why` is only asked where a trigger needs it.
    virtual std::vector<Incident> judge(const metrics::Snapshot& interval, const metrics::HostNames& names) = 0;
};

}  // namespace service
