#pragma once
#include <vector>

#include "fabric/findings/subnet_finding.h"

namespace fabric::findings {

/// Adds what the counters of a link's end say.
void judge_counters(const LinkEnd& end, const LinkEnd& peer, std::vector<Finding>& into);
/// Adds what a link's state, width and speed say.
void judge_link(const Link& link, std::vector<Finding>& into);

}  // namespace fabric::findings
