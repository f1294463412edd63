#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "doctor/output/json.h"

namespace doctor::inline compare {

/// The inventory that another host's `--export` wrote.
base::Result<Json> parse_inventory(std::string_view text);

/// The rows of disagreements; `run` is null.
std::span<const Check> compare_checks();

/// The disagreements of two hosts that should talk to each other. Both as to_json(const Inventory&) has them; `theirs`
/// may be damaged or hostile: a member of the wrong type counts as unknown.
std::vector<Finding> compare_inventories(const Json& ours, const Json& theirs);

}  // namespace doctor::compare
