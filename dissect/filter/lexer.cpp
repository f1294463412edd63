#include "dissect/filter/lexer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"

namespace dissect::filter {

namespace {
struct Spelling {
    std::string_view text;
    TokenKind kind;
};

/// Longest first where one begins another.
constexpr auto symbols = std::to_array<Spelling>({
    {"===", TokenKind::all_eq},
    {"!==", TokenKind::any_ne},
    {"==", TokenKind::any_eq},
    {"!=", TokenKind::all_ne},
    {"~=", TokenKind::any_ne},
    {"<=", TokenKind::less_equal},
    {">=", TokenKind::greater_equal},
    {"&&", TokenKind::and_},
    {"||", TokenKind::or_},
    {"^^", TokenKind::xor_},
    {"..", TokenKind::range},
    {"<", TokenKind::less},
    {">", TokenKind::greater},
    {"!", TokenKind::not_},
    {"~", TokenKind::matches},
    {"&", TokenKind::ampersand},
    {"+", TokenKind::plus},
    {"-", TokenKind::minus},
    {"*", TokenKind::star},
    {"/", TokenKind::slash},
    {"%", TokenKind::percent},
    {"(", TokenKind::left_parenthesis},
    {")", TokenKind::right_parenthesis},
    {"{", TokenKind::left_brace},
    {"}", TokenKind::right_brace},
    {"[", TokenKind::left_bracket},
    {"]", TokenKind::right_bracket},
    {",", TokenKind::comma},
    {"#", TokenKind::hash},
});

constexpr auto keywords = std::to_array<Spelling>({
    {"eq", TokenKind::any_eq},
    {"any_eq", TokenKind::any_eq},
    {"all_eq", TokenKind::all_eq},
    {"ne", TokenKind::all_ne},
    {"all_ne", TokenKind::all_ne},
    {"any_ne", TokenKind::any_ne},
    {"lt", TokenKind::less},
    {"le", TokenKind::less_equal},
    {"gt", TokenKind::greater},
    {"ge", TokenKind::greater_equal},
    {"contains", TokenKind::contains},
    {"matches", TokenKind::matches},
    {"in", TokenKind::in},
    {"and", TokenKind::and_},
    {"or", TokenKind::or_},
    {"xor", TokenKind::xor_},
    {"not", TokenKind::not_},
    {"any", TokenKind::any},
    {"all", TokenKind::all},
    {"bitwise_and", TokenKind::ampersand},
});

bool begins_word(char c) { return base::is_alphanumeric(c) || c == '_' || c == '.' || c == ':'; }
bool is_word(char c) { return begins_word(c) || c == '-'; }

int digit_of(char c) {
    if (base::is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

/// Reads up to `most` digits of the base; their number is returned.
std::size_t read_digits(std::string_view text, int base, std::size_t most, std::uint32_t& value) {
    std::size_t count = 0;
    value = 0;
    while (count < most && count < text.size() && digit_of(text[count]) < base)
        value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit_of(text[count++]));
    return count;
}

/// Resolves the escape that follows a backslash at the start of `rest`. Returns the bytes it takes; 0 if it is not an
/// escape.
std::size_t unescape(std::string_view rest, std::string& out) {
    if (rest.empty()) return 0;
    constexpr std::string_view letters = "abfnrtv'\"\\";
    constexpr std::string_view meant = "\a\b\f\n\r\t\v'\"\\";
    if (const auto at = letters.find(rest[0]); at != std::string_view::npos) {
        out += meant[at];
        return 1;
    }
    std::uint32_t value = 0;
    if (rest[0] == 'x') {
        const std::size_t count = read_digits(rest.substr(1), 16, 2, value);
        if (count == 0) return 0;
        out += static_cast<char>(static_cast<unsigned char>(value));
        return 1 + count;
    }
    if (rest[0] == 'u' || rest[0] == 'U') {
        const std::size_t wanted = rest[0] == 'u' ? 4 : 8;
        if (read_digits(rest.substr(1), 16, wanted, value) != wanted) return 0;
        if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return 0;
        base::append_utf8(out, value);
        return 1 + wanted;
    }
    const std::size_t count = read_digits(rest, 8, 3, value);
    if (count == 0 || value > 0xff) return 0;
    out += static_cast<char>(static_cast<unsigned char>(value));
    return count;
}

/// Whether a number and the sign after it are a percentage, as in `> 5%`: nothing follows that could be a divisor.
bool is_percentage(std::string_view number, std::string_view behind) {
    if (!behind.starts_with('%') || !base::is_digit(number.front())) return false;
    if (number.find_first_not_of("0123456789.") != std::string_view::npos) return false;
    behind.remove_prefix(1);
    while (!behind.empty() && base::is_space(behind.front())) behind.remove_prefix(1);
    if (behind.empty()) return true;
    if (!begins_word(behind.front())) return std::string_view("\"'({-+").find(behind.front()) == std::string_view::npos;
    const auto end = std::find_if_not(behind.begin(), behind.end(), is_word);
    const std::string_view word = behind.substr(0, static_cast<std::size_t>(end - behind.begin()));
    return std::any_of(keywords.begin(), keywords.end(), [&](const Spelling& k) {
        return k.text == word && k.kind != TokenKind::not_ && k.kind != TokenKind::any && k.kind != TokenKind::all;
    });
}

base::Failure<SyntaxError> fail(std::string message, std::size_t column, std::size_t length) {
    return {{std::move(message), static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(length), {}}};
}
}  // namespace

Token Lexer::make(TokenKind kind, std::size_t first, std::size_t length) const {
    Token token;
    token.kind = kind;
    token.column = static_cast<std::uint32_t>(first);
    token.length = static_cast<std::uint32_t>(length);
    token.word = expression_.substr(first, length);
    return token;
}

base::Result<Token, SyntaxError> Lexer::next() {
    while (at_ < expression_.size() && base::is_space(expression_[at_])) ++at_;
    if (at_ == expression_.size()) return make(TokenKind::end, at_, 0);
    const std::string_view rest = expression_.substr(at_);
    if (rest[0] == '"') return quoted(at_, '"', false);
    if (rest[0] == '\'') return quoted(at_, '\'', false);
    if (rest.size() > 1 && (rest[0] == 'r' || rest[0] == 'R') && rest[1] == '"') return quoted(at_, '"', true);
    for (const auto& symbol : symbols) {
        if (!rest.starts_with(symbol.text)) continue;
        Token token = make(symbol.kind, at_, symbol.text.size());
        at_ += symbol.text.size();
        return token;
    }
    if (begins_word(rest[0])) return word(at_);
    if (rest[0] == '=') return fail("A single = has no meaning: == compares", at_, 1);
    if (rest.starts_with("${")) return fail("A field reference needs a selected frame, and there is none here", at_, 2);
    std::size_t length = 1;
    while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xc0) == 0x80) ++length;
    return fail("This character has no meaning in a display filter", at_, length);
}

Token Lexer::word(std::size_t first) {
    const auto ends_at = [&](std::size_t i) {
        return i >= expression_.size() || !is_word(expression_[i]) || expression_.substr(i, 2) == "..";
    };
    std::size_t last = first;
    bool only_digits = true;
    while (!ends_at(last)) {
        only_digits =
            only_digits && (digit_of(expression_[last]) < 16 || expression_[last] == '.' || expression_[last] == ':');
        ++last;
    }
    const std::string_view name = expression_.substr(first, last - first);
    // The prefix length of an address belongs to it; anywhere else the slash divides.
    const bool address = only_digits && (std::count(name.begin(), name.end(), '.') == 3 ||
                                         std::count(name.begin(), name.end(), ':') >= 2);
    if (address && last + 1 < expression_.size() && expression_[last] == '/' && base::is_digit(expression_[last + 1])) {
        ++last;
        while (last < expression_.size() && base::is_digit(expression_[last])) ++last;
    }
    if (is_percentage(name, expression_.substr(last))) ++last;
    at_ = last;
    for (const auto& keyword : keywords)
        if (keyword.text == name) return make(keyword.kind, first, name.size());
    return make(TokenKind::word, first, last - first);
}

base::Result<Token, SyntaxError> Lexer::quoted(std::size_t first, char quote, bool raw) {
    std::string decoded;
    std::size_t at = first + (raw ? 2 : 1);
    while (at < expression_.size() && expression_[at] != quote) {
        if (expression_[at] != '\\') {
            decoded += expression_[at++];
        } else if (raw) {
            // A backslash keeps the quote from ending the text, and both stay.
            decoded += expression_[at++];
            if (at < expression_.size()) decoded += expression_[at++];
        } else {
            const std::size_t taken = unescape(expression_.substr(at + 1), decoded);
            if (taken == 0) return fail("This is no escape sequence; a backslash itself is written \\\\", at, 2);
            at += 1 + taken;
        }
    }
    if (at >= expression_.size()) return fail("The closing quote is missing", first, expression_.size() - first);
    at_ = at + 1;
    Token token = make(quote == '"' ? TokenKind::text : TokenKind::character, first, at_ - first);
    if (quote == '\'' && decoded.size() != 1)
        return fail("A character constant holds one character", first, token.length);
    token.decoded = std::move(decoded);
    return token;
}

base::Result<Token, SyntaxError> Lexer::brackets() {
    const std::size_t first = at_;
    const std::size_t last = expression_.find(']', first);
    if (last == std::string_view::npos) return fail("The closing bracket is missing", first, 1);
    at_ = last + 1;
    return make(TokenKind::word, first, last - first);
}

}  // namespace dissect::filter
