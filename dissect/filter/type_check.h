#pragma once
#include <optional>
#include <string_view>

#include "base/result.h"
#include "dissect/filter/syntax.h"

namespace dissect {
class FieldRegistry;
}

namespace dissect::filter {

/// Looks the names up and gives every node its type; a node of literals alone stays untyped.
base::Result<void, SyntaxError> check(Syntax& tree, const FieldRegistry& registry);

/// The type that two sides of a comparison are compared as: one side's own where the other is a literal, bytes where
/// the other is bytes; nullopt where they cannot be compared.
std::optional<Type> common_type(Type left, Type right);

enum class Function : std::uint8_t { length, count, upper, lower, string, largest, smallest, absolute };

struct FunctionInfo {
    std::string_view name;
    Function function;
    unsigned least_arguments;
    unsigned most_arguments;
};

/// nullptr where there is none of that name.
const FunctionInfo* find_function(std::string_view name);

}  // namespace dissect::filter
