#include "dissect/filter/parser.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <optional>
#include <utility>

namespace dissect::filter {

namespace {

bool is_comparison(TokenKind kind) { return kind >= TokenKind::any_eq && kind <= TokenKind::matches; }

std::optional<Range> parse_range(std::string_view text) {
    const auto trim = [&] {
        while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    };
    const auto number = [&](std::int32_t& value) {
        trim();
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{}) return false;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        trim();
        return true;
    };
    Range range;
    trim();
    if (text.starts_with(':')) {
        text.remove_prefix(1);
        range.meaning = Range::Second::length;
        if (!number(range.second)) return std::nullopt;
    } else {
        if (!number(range.first)) return std::nullopt;
        if (text.empty()) {
            range.meaning = Range::Second::length;
            range.second = 1;
        } else if (text == ":") {
            return range;
        } else {
            if (text.front() != ':' && text.front() != '-') return std::nullopt;
            range.meaning = text.front() == ':' ? Range::Second::length : Range::Second::last;
            text.remove_prefix(1);
            if (!number(range.second)) return std::nullopt;
        }
    }
    if (!text.empty()) return std::nullopt;
    if (range.meaning == Range::Second::length && range.second <= 0) return std::nullopt;
    const bool same_end = (range.first < 0) == (range.second < 0);
    if (range.meaning == Range::Second::last && same_end && range.second < range.first) return std::nullopt;
    return range;
}

class Parser {
public:
    explicit Parser(std::string_view expression) : lexer_(expression) { tree_.expression = expression; }

    base::Result<Syntax, SyntaxError> run() {
        advance();
        const NodeId root = disjunction();
        if (!failed_ && token_.kind != TokenKind::end) unexpected();
        if (failed_) return base::Failure{*failed_};
        tree_.root = root;
        return std::move(tree_);
    }

private:
    class Depth;
    NodeId disjunction();
    NodeId exclusion();
    NodeId conjunction();
    NodeId negation();
    NodeId comparison();
    NodeId membership(NodeId value, Quantifier quantifier, bool negated);
    NodeId bitwise();
    NodeId sum();
    NodeId product();
    NodeId sign();
    NodeId postfix();
    NodeId primary();
    NodeId call(const Token& name);
    std::vector<Range> ranges();
    void layers(NodeId word);

    /// Operands joined by one operator become one node, so that a long list of them is not deep.
    template <class Next>
    NodeId list(NodeKind kind, TokenKind joint, Next next) {
        const NodeId first = (this->*next)();
        if (failed_ || token_.kind != joint) return first;
        std::vector<NodeId> operands{first};
        while (accept(joint) && !failed_) operands.push_back((this->*next)());
        return failed_ ? no_node : add(kind, std::move(operands));
    }

    void fail(std::string message, std::uint32_t column, std::uint32_t length) {
        if (!failed_) failed_ = SyntaxError{std::move(message), column, length, {}};
        token_ = {};
    }
    void unexpected() {
        if (failed_) return;
        if (token_.kind == TokenKind::end)
            fail("The expression ends too early", token_.column, 1);
        else
            fail(fmt::format("{} was not expected here", token_.word.substr(0, 40)), token_.column, token_.length);
    }
    void advance() {
        if (failed_) return;
        auto next = lexer_.next();
        if (!next) return fail(next.error().message, next.error().column, next.error().length);
        end_ = token_.column + token_.length;
        token_ = std::move(*next);
    }
    bool accept(TokenKind kind) {
        if (failed_ || token_.kind != kind) return false;
        advance();
        return true;
    }
    bool expect(TokenKind kind) {
        if (accept(kind)) return true;
        unexpected();
        return false;
    }
    NodeId add(Node node) {
        for (const NodeId child : node.children)
            if (child != no_node) node.depth = std::max(node.depth, at(child).depth + 1);
        if (node.depth > max_depth) {
            fail("The expression is nested too deeply", node.column, node.length);
            return no_node;
        }
        tree_.nodes.push_back(std::move(node));
        return static_cast<NodeId>(tree_.nodes.size() - 1);
    }
    /// A node that spans its operands.
    NodeId add(NodeKind kind, std::vector<NodeId> children) {
        if (failed_) return no_node;
        Node node;
        node.kind = kind;
        node.column = at(children.front()).column;
        std::uint32_t end = node.column;
        for (const NodeId child : children)
            if (child != no_node) end = at(child).column + at(child).length;
        node.length = end - node.column;
        node.children = std::move(children);
        return add(std::move(node));
    }
    Node& at(NodeId id) { return tree_.nodes[id]; }

    Lexer lexer_;
    Syntax tree_;
    Token token_;
    std::uint32_t end_ = 0;  ///< where the token before the present one ended
    unsigned depth_ = 0;
    std::optional<SyntaxError> failed_;
};

/// Counts nesting while it lives.
class Parser::Depth {
public:
    explicit Depth(Parser& parser) : parser_(parser) {
        if (++parser_.depth_ > max_depth) parser_.fail("The expression is nested too deeply", parser_.token_.column, 1);
    }
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

private:
    Parser& parser_;
};

NodeId Parser::disjunction() {
    const Depth depth{*this};
    if (failed_) return no_node;
    return list(NodeKind::either, TokenKind::or_, &Parser::exclusion);
}
NodeId Parser::exclusion() { return list(NodeKind::exclusive, TokenKind::xor_, &Parser::conjunction); }
NodeId Parser::conjunction() { return list(NodeKind::both, TokenKind::and_, &Parser::negation); }

NodeId Parser::negation() {
    const std::uint32_t column = token_.column;
    bool negated = false;
    bool any = false;
    while (accept(TokenKind::not_)) {
        negated = !negated;
        any = true;
    }
    const NodeId operand = comparison();
    if (failed_ || !any) return operand;
    NodeId id = add(NodeKind::negation, {operand});
    if (!failed_ && !negated) id = add(NodeKind::negation, {id});
    if (failed_) return no_node;
    at(id).length += at(id).column - column;
    at(id).column = column;
    return id;
}

NodeId Parser::comparison() {
    Quantifier quantifier = Quantifier::usual;
    if (accept(TokenKind::any))
        quantifier = Quantifier::any;
    else if (accept(TokenKind::all))
        quantifier = Quantifier::all;
    NodeId left = bitwise();
    if (failed_) return no_node;
    if (accept(TokenKind::in)) return membership(left, quantifier, false);
    if (token_.kind == TokenKind::not_ && token_.word == "not") {
        advance();
        if (!expect(TokenKind::in)) return no_node;
        return membership(left, quantifier, true);
    }
    if (quantifier != Quantifier::usual && !is_comparison(token_.kind)) unexpected();
    // `a < b < c` is `a < b and b < c`; an operand may have two parents, since a tree is only read from here on.
    std::vector<NodeId> chain;
    while (!failed_ && is_comparison(token_.kind)) {
        const TokenKind op = token_.kind;
        advance();
        const NodeId right = bitwise();
        if (failed_) break;
        const NodeId id = add(NodeKind::comparison, {left, right});
        if (failed_) break;
        at(id).comparison = op;
        at(id).quantifier = quantifier;
        chain.push_back(id);
        left = right;
    }
    if (failed_) return no_node;
    if (chain.empty()) return left;
    return chain.size() == 1 ? chain.front() : add(NodeKind::both, std::move(chain));
}

NodeId Parser::membership(NodeId value, Quantifier quantifier, bool negated) {
    std::vector<NodeId> children{value};
    if (!expect(TokenKind::left_brace)) return no_node;
    do {
        children.push_back(bitwise());
        children.push_back(accept(TokenKind::range) ? bitwise() : no_node);
    } while (!failed_ && accept(TokenKind::comma));
    if (!expect(TokenKind::right_brace)) return no_node;
    const NodeId id = add(NodeKind::membership, std::move(children));
    if (failed_) return no_node;
    at(id).quantifier = quantifier;
    at(id).negated = negated;
    at(id).length = end_ - at(id).column;
    return id;
}

NodeId Parser::bitwise() {
    NodeId left = sum();
    while (!failed_ && accept(TokenKind::ampersand)) {
        const NodeId right = sum();
        if (!failed_) left = add(NodeKind::bit_and, {left, right});
    }
    return left;
}

NodeId Parser::sum() {
    NodeId left = product();
    while (!failed_ && (token_.kind == TokenKind::plus || token_.kind == TokenKind::minus)) {
        const NodeKind kind = token_.kind == TokenKind::plus ? NodeKind::sum : NodeKind::difference;
        advance();
        const NodeId right = product();
        if (!failed_) left = add(kind, {left, right});
    }
    return left;
}

NodeId Parser::product() {
    NodeId left = sign();
    while (!failed_) {
        NodeKind kind{};
        if (token_.kind == TokenKind::star)
            kind = NodeKind::product;
        else if (token_.kind == TokenKind::slash)
            kind = NodeKind::quotient;
        else if (token_.kind == TokenKind::percent)
            kind = NodeKind::remainder;
        else
            break;
        advance();
        const NodeId right = sign();
        if (!failed_) left = add(kind, {left, right});
    }
    return left;
}

NodeId Parser::sign() {
    const Depth depth{*this};
    if (failed_) return no_node;
    const std::uint32_t column = token_.column;
    if (accept(TokenKind::plus)) return sign();
    if (!accept(TokenKind::minus)) return postfix();
    const NodeId operand = sign();
    if (failed_) return no_node;
    const NodeId id = add(NodeKind::negative, {operand});
    if (failed_) return no_node;
    at(id).length += at(id).column - column;
    at(id).column = column;
    return id;
}

NodeId Parser::postfix() {
    NodeId operand = primary();
    while (!failed_ && token_.kind == TokenKind::left_bracket) {
        std::vector<Range> parts = ranges();
        if (failed_) return no_node;
        operand = add(NodeKind::slice, {operand});
        if (failed_) return no_node;
        at(operand).ranges = std::move(parts);
        at(operand).length = end_ - at(operand).column;
    }
    return operand;
}

/// With `[` as the present token: reads up to `]` and beyond.
std::vector<Range> Parser::ranges() {
    auto inside = lexer_.brackets();
    if (!inside) {
        fail(inside.error().message, token_.column, 1);
        return {};
    }
    std::vector<Range> parts;
    std::string_view rest = inside->word;
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        more = comma != std::string_view::npos;
        const auto part = parse_range(rest.substr(0, comma));
        if (!part) {
            const auto column = static_cast<std::uint32_t>(rest.data() - tree_.expression.data());
            const std::size_t length = std::min(comma, rest.size());
            fail("A slice is [first:length], [first-last], [first], [:length] or [first:]", column,
                 static_cast<std::uint32_t>(length == 0 ? 1 : length));
            return {};
        }
        parts.push_back(*part);
        if (more) rest.remove_prefix(comma + 1);
    }
    token_.column = inside->column;
    token_.length = inside->length + 1;
    advance();
    return parts;
}

NodeId Parser::primary() {
    Token token = token_;
    if (accept(TokenKind::left_parenthesis)) {
        const NodeId inner = disjunction();
        return expect(TokenKind::right_parenthesis) ? inner : no_node;
    }
    if (accept(TokenKind::left_brace)) {
        const Depth depth{*this};
        const NodeId inner = failed_ ? no_node : bitwise();
        return expect(TokenKind::right_brace) ? inner : no_node;
    }
    Node node;
    if (accept(TokenKind::word)) {
        if (token_.kind == TokenKind::left_parenthesis) return call(token);
        node.kind = NodeKind::word;
    } else if (accept(TokenKind::text)) {
        node.kind = NodeKind::text;
    } else if (accept(TokenKind::character)) {
        node.kind = NodeKind::character;
    } else {
        unexpected();
    }
    if (failed_) return no_node;
    node.column = token.column;
    node.length = token.length;
    node.word = token.word;
    node.decoded = std::move(token.decoded);
    const NodeId id = add(std::move(node));
    if (token_.kind == TokenKind::hash) layers(id);
    return failed_ ? no_node : id;
}

void Parser::layers(NodeId word) {
    if (at(word).kind != NodeKind::word) return unexpected();
    advance();
    if (failed_) return;
    if (token_.kind == TokenKind::left_bracket) {
        at(word).ranges = ranges();
    } else {
        Range single{Range::Second::length, 0, 1};
        const char* last = token_.word.data() + token_.word.size();
        const auto [end, error] = std::from_chars(token_.word.data(), last, single.first);
        if (error != std::errc{} || end != last || token_.kind != TokenKind::word) return unexpected();
        at(word).ranges = {single};
        advance();
    }
    at(word).length = end_ - at(word).column;
}

NodeId Parser::call(const Token& name) {
    const Depth depth{*this};
    std::vector<NodeId> arguments;
    advance();
    if (token_.kind != TokenKind::right_parenthesis) {
        do {
            arguments.push_back(failed_ ? no_node : bitwise());
        } while (accept(TokenKind::comma));
    }
    if (!expect(TokenKind::right_parenthesis)) return no_node;
    Node node;
    node.kind = NodeKind::call;
    node.column = name.column;
    node.length = end_ - name.column;
    node.word = name.word;
    node.children = std::move(arguments);
    return add(std::move(node));
}

}  // namespace

base::Result<Syntax, SyntaxError> parse(std::string_view expression) { return Parser{expression}.run(); }

}  // namespace dissect::filter
