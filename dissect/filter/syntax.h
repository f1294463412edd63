#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/filter/filter_value.h"
#include "dissect/filter/lexer.h"

namespace dissect {
struct RegisteredField;
}

namespace dissect::filter {

enum class NodeKind : std::uint8_t {
    // tests
    either,
    exclusive,
    both,
    negation,
    comparison,
    membership,
    // values
    bit_and,
    sum,
    difference,
    product,
    quotient,
    remainder,
    negative,
    slice,
    call,
    word,
    text,
    character,
};

constexpr bool is_test(NodeKind kind) { return kind <= NodeKind::membership; }
constexpr bool is_arithmetic(NodeKind kind) { return kind >= NodeKind::bit_and && kind <= NodeKind::negative; }

/// Which of several occurrences have to satisfy a comparison; `usual` is any, except for `!=` and `===`.
enum class Quantifier : std::uint8_t { usual, any, all };

/// `[first:second]`, `[first-second]` or `[first:]`; negative offsets count from the end.
struct Range {
    enum class Second : std::uint8_t { length, last, none } meaning = Second::none;
    std::int32_t first = 0;
    std::int32_t second = 0;
};

using NodeId = std::uint32_t;
inline constexpr NodeId no_node = std::numeric_limits<NodeId>::max();

struct Node {
    NodeKind kind = NodeKind::word;
    std::uint32_t column = 0;
    std::uint32_t length = 0;
    std::string_view word;   ///< of a word, call, text or character, as written
    std::string decoded;     ///< of a text or character
    TokenKind comparison{};  ///< which one
    Quantifier quantifier = Quantifier::usual;
    bool negated = false;       ///< `not in`
    unsigned depth = 0;         ///< of the tree below
    std::vector<Range> ranges;  ///< of a slice; of a word: its layers
    /// Operands. Of a membership: the value, then low and high of every element, high `no_node` for a single one.
    std::vector<NodeId> children;

    // Filled in by the checker.
    const RegisteredField* field = nullptr;
    Type type = Type::untyped;
};

/// An expression's tree, its nodes in one place; children come before their parents.
struct Syntax {
    std::string_view expression;
    std::vector<Node> nodes;
    NodeId root = no_node;
};

}  // namespace dissect::filter
