#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "fleet/questions/flow_question.h"

namespace fleet::questions {

/// The expression of `flows --filter` as a condition of flow_sums(): comparisons of the columns in flow_figures() with
/// numbers and texts, `contains`, `and`, `or`, `xor`, `not`, parentheses. The whole expression is checked: the
/// statement only holds our columns' names, numbers, and schema::text(). Empty for an empty expression.
base::Result<std::string> having_of(std::string_view expression);
/// The same for the columns in `figures`.
base::Result<std::string> having_of(std::string_view expression, std::span<const Figure> figures);

}  // namespace fleet::questions
