#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "exporters/flow_fields.h"
#include "metrics/figures/snapshot.h"
#include "policy/rules.h"

namespace policy {

/// A flow that a rule does not permit as it is.
struct Violation {
    const metrics::FlowSnapshot* flow = nullptr;
    std::string seen = {};      ///< "DSCP CS0 (0)", "IPv6", "the flow"
    std::uint64_t packets = 0;  ///< of the flow, those that are not as the rule expects
    std::uint64_t wire_bytes = 0;
    std::uint64_t first_frame = 0;  ///< of these packets
    std::int64_t first_ns = 0;
};

/// What became of one rule.
struct RuleOutcome {
    const Rule* rule = nullptr;
    std::uint64_t flows = 0;       ///< that the rule decides about
    std::uint64_t wire_bytes = 0;  ///< of them
    std::uint64_t packets = 0;
    std::uint64_t unjudged = 0;  ///< of them, those whose packets have no such property: InfiniBand has no DSCP
    std::vector<Violation> violations = {};  ///< most bytes first
    std::uint64_t encrypted_frames = 0;      ///< that the rule does not permit

    bool broken() const { return !violations.empty() || encrypted_frames != 0; }
    std::uint64_t broken_bytes() const;
    std::uint64_t broken_packets() const;
};

struct Compliance {
    std::vector<RuleOutcome> rules;  ///< in the order of the rules
    std::uint64_t unruled = 0;       ///< flows that no rule fits
    /// Frames that are encrypted, whether or not a rule is about them.
    std::uint64_t encrypted_frames = 0;
    std::string encrypted = {};  ///< "12 frames of IP protocol 50 (ESP, encrypted)"; empty if there is no such frame

    bool broken() const;
    /// Frames are encrypted, and no rule permits it.
    bool encryption_is_broken() const;
    /// Neither a flow nor an encrypted frame that a rule forbids was seen.
    bool saw_nothing() const;
    /// Of the bytes of flows that rules decide about, those that break one; 1 where encryption is wrong, since what
    /// such frames hold is not known.
    double broken_share() const;
};

/// Each direction of a connection is a flow of its own, because each sender chooses its class. Rules and snapshot must
/// outlive the result.
Compliance check(const Rules& rules, const metrics::Snapshot& snapshot, const exporters::Context& context);

/// The rule that decides about each flow, in the order of the snapshot; the number of rules if none does.
std::vector<std::size_t> deciding_rules(const Rules& rules, const metrics::Snapshot& snapshot,
                                        const exporters::Context& context);

/// "DSCP AF31 (26)", "DSCP AF31 (26) or CS3 (24), VLAN priority 3", "IPv4", "no such flow".
std::string expectation_of(const Rule& rule);

}  // namespace policy
