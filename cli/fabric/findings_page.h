#pragma once
#include <string>
#include <vector>

#include "fabric/findings/subnet_finding.h"
#include "fabric/node_names.h"
#include "fabric/subnet.h"

namespace cli::fabric {

/// What is wrong with the subnet: one line that sums up, then each finding with its ends and what to do.
std::string findings_page(const std::vector<::fabric::findings::Finding>& problems, const ::fabric::Subnet& subnet,
                          const ::fabric::NodeLabels& labels);
/// The same of what changed; the ends are named after the later subnet, or the earlier one if only that has them.
std::string changes_page(const std::vector<::fabric::findings::Finding>& changes, const ::fabric::Subnet& before,
                         const ::fabric::Subnet& after, const ::fabric::NodeLabels& labels);

}  // namespace cli::fabric
