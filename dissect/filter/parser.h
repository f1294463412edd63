#pragma once
#include <string_view>

#include "base/result.h"
#include "dissect/filter/syntax.h"

namespace dissect::filter {

/// Deeper nesting is refused: this bounds the stack of everything that walks the tree.
inline constexpr unsigned max_depth = 100;

/// The tree of an expression, or the place of its mistake. From loosest to tightest: or, xor, and, not, comparison,
/// bitwise and, sum, product, sign, slice. Names are not looked up yet. The expression must outlive the tree.
base::Result<Syntax, SyntaxError> parse(std::string_view expression);

}  // namespace dissect::filter
