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
    std::string seen;  ///< "DSCP CS0 (0)", "IPv6", "the flow"
};

/// What became of one rule.
struct RuleOutcome {
    const Rule* rule = nullptr;
    std::uint64_t flows = 0;     ///< that the rule decides about
    std::uint64_t unjudged = 0;  ///< of them, those whose packets have no such property: InfiniBand has no DSCP
    std::vector<Violation> violations = {};  ///< most bytes first
};

struct Compliance {
    std::vector<RuleOutcome> rules;  ///< in the order of the rules
    std::uint64_t unruled = 0;       ///< flows that no rule fits

    bool broken() const;
};

/// Each direction of a connection is a flow of its own, because each sender chooses its class. Rules and snapshot must
/// outlive the result.
Compliance check(const Rules& rules, const metrics::Snapshot& snapshot, const exporters::Context& context);

/// "DSCP AF31 (26)", "IPv4", "no such flow".
std::string expectation_of(const Rule& rule);

/// Commands for the sender's host that give a flow the class of the rule, one on each line.
std::vector<std::string> remedies(const Rule& rule, const metrics::FlowSnapshot& flow);

}  // namespace policy
