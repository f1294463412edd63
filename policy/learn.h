#pragma once
#include <string>

#include "exporters/flow_fields.h"
#include "metrics/figures/snapshot.h"
#include "policy/rules.h"

namespace policy {

/// Rules that the flows of a snapshot keep to: one for each protocol of an upper layer, one for each port of a service,
/// one for each kind of transport for what is left. No rules if no flow has a known class.
Rules learn(const metrics::Snapshot& snapshot, const exporters::Context& context);

/// The rules as TOML that parse_rules() reads. `origin` says where they come from.
std::string rules_text(const Rules& rules, const std::string& origin);

}  // namespace policy
