#pragma once
#include <string_view>

#include "base/result.h"
#include "dissect/filter/syntax.h"

namespace dissect::filter {

/// Deeper nesting than this is refused: it bounds the stack of everything that walks the tree.
inline constexpr unsigned max_depth = 100;

/// The tree of an expression, or where it is no expression. From loosest to tightest: or, xor, and, not, comparison,
/// bitwise and, sum, product, sign, slice. Names are not looked up yet. The expression outlives the tree.
base::Result<Syntax, SyntaxError> parse(std::string_view expression);

}  // namespace dissect::filter
