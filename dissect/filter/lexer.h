#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dissect::filter {

/// The kinds of tokens. Words that are operators (`eq`, `and`) have the operator's kind.
enum class TokenKind : std::uint8_t {
    end,
    word,       ///< a field's name, a number, an address, a value's name: its meaning depends on its place
    text,       ///< "..." or r"..."
    character,  ///< '.'
    any_eq,
    all_eq,
    any_ne,
    all_ne,
    less,
    less_equal,
    greater,
    greater_equal,
    contains,
    matches,
    in,
    and_,
    or_,
    xor_,
    not_,
    any,
    all,
    ampersand,
    plus,
    minus,
    star,
    slash,
    percent,
    left_parenthesis,
    right_parenthesis,
    left_brace,
    right_brace,
    left_bracket,
    right_bracket,
    comma,
    range,
    hash,
};

struct Token {
    TokenKind kind = TokenKind::end;
    std::uint32_t column = 0;
    std::uint32_t length = 0;
    std::string_view word;  ///< as written, quotes included
    std::string decoded;    ///< text and character: escapes resolved
};

/// A mistake in the expression and its place.
struct SyntaxError {
    std::string message;
    std::uint32_t column = 0;
    std::uint32_t length = 1;
    std::vector<std::string> suggestions = {};
};

/// Cuts an expression into tokens. The expression outlives the lexer and its tokens.
class Lexer {
public:
    explicit Lexer(std::string_view expression) : expression_(expression) {}

    base::Result<Token, SyntaxError> next();

    /// The inside of a slice or layer range, up to `]`, which is consumed. Call this after the token `[`.
    base::Result<Token, SyntaxError> brackets();

    std::string_view expression() const { return expression_; }

private:
    Token make(TokenKind kind, std::size_t first, std::size_t length) const;
    base::Result<Token, SyntaxError> quoted(std::size_t first, char quote, bool raw);
    Token word(std::size_t first);

    std::string_view expression_;
    std::size_t at_ = 0;
};

}  // namespace dissect::filter
