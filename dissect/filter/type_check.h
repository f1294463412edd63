#pragma once
#include <optional>
#include <string_view>

#include "base/result.h"
#include "dissect/filter/syntax.h"

namespace dissect {
class FieldRegistry;
}

namespace dissect::filter {

/// Looks up the names and gives every node its type; a node that consists of literals stays untyped.
base::Result<void, SyntaxError> check(Syntax& tree, const FieldRegistry& registry);

/// The type in which two sides of a comparison are compared: the type of one side if the other is a literal, bytes if
/// the other is bytes; nullopt if they cannot be compared.
std::optional<Type> common_type(Type left, Type right);

enum class Function : std::uint8_t { length, count, upper, lower, string, largest, smallest, absolute };

struct FunctionInfo {
    std::string_view name;
    Function function;
    unsigned least_arguments;
    unsigned most_arguments;
};

/// nullptr if there is no such function.
const FunctionInfo* find_function(std::string_view name);

}  // namespace dissect::filter
