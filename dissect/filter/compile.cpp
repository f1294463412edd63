#include "dissect/filter/compile.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <utility>

#include "dissect/field_collector.h"
#include "dissect/filter/evaluate.h"
#include "dissect/filter/literal.h"
#include "dissect/filter/type_check.h"

namespace dissect::filter {

namespace {

constexpr Comparison comparison_of(TokenKind kind) {
    switch (kind) {
        case TokenKind::all_ne:
        case TokenKind::any_ne: return Comparison::unequal;
        case TokenKind::less: return Comparison::less;
        case TokenKind::less_equal: return Comparison::less_equal;
        case TokenKind::greater: return Comparison::greater;
        case TokenKind::greater_equal: return Comparison::greater_equal;
        default: return Comparison::equal;
    }
}

constexpr Op op_of(NodeKind kind) {
    switch (kind) {
        case NodeKind::sum: return Op::sum;
        case NodeKind::difference: return Op::difference;
        case NodeKind::product: return Op::product;
        case NodeKind::quotient: return Op::quotient;
        case NodeKind::remainder: return Op::remainder;
        default: return Op::bit_and;
    }
}

constexpr std::uint32_t octets_of(wire::Kind kind) {
    switch (kind) {
        case wire::Kind::uint8: return 1;
        case wire::Kind::uint16: return 2;
        case wire::Kind::uint24: return 3;
        case wire::Kind::uint32: return 4;
        default: return 8;
    }
}

bool asks_all(TokenKind kind, Quantifier quantifier) {
    if (quantifier == Quantifier::usual) return kind == TokenKind::all_eq || kind == TokenKind::all_ne;
    return quantifier == Quantifier::all;
}

class Compiler {
public:
    Compiler(const Syntax& tree, FieldCollector& collector) : tree_(tree), collector_(collector) {}

    base::Result<Program, SyntaxError> run() {
        test(tree_.root);
        if (failed_) return base::Failure{*failed_};
        return std::move(program_);
    }

private:
    void test(NodeId id);
    void sequence(const Node& node, Op leave);
    void exclusion(const Node& node);
    void comparison(const Node& node);
    void search(const Node& node);
    void searched(NodeId id, std::uint32_t into, Type wanted);
    void membership(const Node& node);
    void value(NodeId id, std::uint32_t into, Type wanted, const RegisteredField* names);
    void arithmetic(const Node& node, std::uint32_t into);
    void call(const Node& node, std::uint32_t into);
    std::optional<Literal> fold(const Node& node, Type wanted, const RegisteredField* names);
    std::optional<Literal> fold_arithmetic(const Node& node, Type wanted);
    Operand operand(Literal literal);
    std::optional<std::uint32_t> constant(const Node& node, Type wanted, const RegisteredField* names);

    const Node& at(NodeId id) const { return tree_.nodes[id]; }
    void fail(const Node& node, std::string message) {
        if (!failed_) failed_ = SyntaxError{std::move(message), node.column, node.length, {}};
    }
    Instruction& emit(Op op, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
        Instruction instruction;
        instruction.op = op;
        instruction.a = a;
        instruction.b = b;
        instruction.c = c;
        program_.code.push_back(instruction);
        return program_.code.back();
    }
    std::uint32_t here() const { return static_cast<std::uint32_t>(program_.code.size()); }
    void need_register(std::uint32_t number) {
        program_.register_count = std::max(program_.register_count, number + 1);
    }
    std::uint32_t keep_ranges(const std::vector<Range>& ranges) {
        program_.ranges.push_back(ranges);
        return static_cast<std::uint32_t>(program_.ranges.size() - 1);
    }

    const Syntax& tree_;
    FieldCollector& collector_;
    Program program_;
    std::uint32_t kept_ = 0;  ///< flags kept at the present nesting
    std::optional<SyntaxError> failed_;
};

void Compiler::test(NodeId id) {
    if (failed_) return;
    const Node& node = at(id);
    switch (node.kind) {
        case NodeKind::either: return sequence(node, Op::jump_if);
        case NodeKind::both: return sequence(node, Op::jump_unless);
        case NodeKind::exclusive: return exclusion(node);
        case NodeKind::negation:
            test(node.children[0]);
            emit(Op::negate, 0);
            return;
        case NodeKind::comparison:
            if (node.comparison == TokenKind::contains || node.comparison == TokenKind::matches) return search(node);
            return comparison(node);
        case NodeKind::membership: return membership(node);
        default: break;
    }
    if (node.field != nullptr && node.ranges.empty()) {
        emit(Op::has_field, collector_.want(*node.field));
        return;
    }
    value(id, 0, node.type, nullptr);
    emit(is_arithmetic(node.kind) ? Op::has_bits : Op::has_values, 0).type = node.type;
}

/// Operands of `and` or `or`: the first that settles the answer jumps to the end.
void Compiler::sequence(const Node& node, Op leave) {
    std::vector<std::uint32_t> jumps;
    for (const NodeId child : node.children) {
        if (child != node.children.front()) {
            jumps.push_back(here());
            emit(leave, 0);
        }
        test(child);
    }
    for (const std::uint32_t jump : jumps) program_.code[jump].a = here();
}

void Compiler::exclusion(const Node& node) {
    const std::uint32_t place = kept_++;
    program_.kept_count = std::max(program_.kept_count, kept_);
    test(node.children.front());
    for (std::size_t i = 1; i < node.children.size(); ++i) {
        emit(Op::keep, place);
        test(node.children[i]);
        emit(Op::exclude, place);
    }
    --kept_;
}

void Compiler::comparison(const Node& node) {
    const Node& left = at(node.children[0]);
    const Node& right = at(node.children[1]);
    const Type type = *common_type(left.type, right.type);
    const bool all = asks_all(node.comparison, node.quantifier);
    std::uint32_t first = 0;
    std::uint32_t second = 1;
    Op op = Op::compare;
    if (left.field != nullptr && left.ranges.empty() && right.type == Type::untyped) {
        const auto number = constant(right, left.type, left.field);
        if (!number) return;
        op = Op::compare_field;
        first = collector_.want(*left.field);
        second = *number;
    } else {
        value(node.children[0], 0, right.type, right.field);
        value(node.children[1], 1, left.type, left.field);
    }
    Instruction& instruction = emit(op, first, second);
    instruction.comparison = comparison_of(node.comparison);
    instruction.all = all;
    instruction.type = type;
}

void Compiler::search(const Node& node) {
    const Node& left = at(node.children[0]);
    const Node& right = at(node.children[1]);
    searched(node.children[0], 0, left.type);
    std::uint32_t second = 1;
    Op op = Op::contains;
    if (node.comparison == TokenKind::matches) {
        auto expression = Regex::compile(right.decoded);
        if (!expression)
            return fail(right, fmt::format("The regular expression is wrong at byte {}: {}", expression.error().offset,
                                           expression.error().message));
        program_.expressions.push_back(std::move(*expression));
        second = static_cast<std::uint32_t>(program_.expressions.size() - 1);
        op = Op::matches;
    } else {
        searched(node.children[1], 1, left.type == Type::text ? Type::text : Type::octets);
    }
    emit(op, 0, second).all = node.quantifier == Quantifier::all;
}

/// Loads an operand of `contains` or `matches`. Of a protocol they see all up to the end of its packet, though its
/// length and its slices are its header's, as in Wireshark.
void Compiler::searched(NodeId id, std::uint32_t into, Type wanted) {
    value(id, into, wanted, nullptr);
    const RegisteredField* field = at(id).field;
    if (failed_ || field == nullptr || !field->heading || field->info->name != field->protocol) return;
    collector_.want_packets(collector_.want(*field));
    program_.code.back().whole = true;
}

void Compiler::membership(const Node& node) {
    const Node& tested = at(node.children[0]);
    value(node.children[0], 0, tested.type, nullptr);
    Set set;
    std::uint32_t next = 1;
    for (std::size_t i = 1; i + 1 < node.children.size() && !failed_; i += 2) {
        const NodeId low = node.children[i];
        const NodeId high = node.children[i + 1] == no_node ? low : node.children[i + 1];
        if (at(low).type == Type::untyped && at(high).type == Type::untyped) {
            auto from = fold(at(low), tested.type, tested.field);
            auto to = fold(at(high), tested.type, tested.field);
            if (from && to) set.constants.push_back({operand(std::move(*from)), operand(std::move(*to))});
            continue;
        }
        value(low, next, tested.type, tested.field);
        if (high != low) value(high, next + 1, tested.type, tested.field);
        set.registers.push_back({next, high == low ? next : next + 1});
        next += 2;
    }
    if (failed_) return;
    program_.sets.push_back(std::move(set));
    Instruction& instruction = emit(Op::member, 0, static_cast<std::uint32_t>(program_.sets.size() - 1));
    // `not in` denies that any value is in the set, whatever the quantifier, as Wireshark's does.
    instruction.all = node.quantifier == Quantifier::all && !node.negated;
    instruction.type = tested.type;
    if (node.negated) emit(Op::negate, 0);
}

void Compiler::value(NodeId id, std::uint32_t into, Type wanted, const RegisteredField* names) {
    if (failed_) return;
    need_register(into);
    const Node& node = at(id);
    if (node.type == Type::untyped) {
        if (const auto number = constant(node, wanted, names)) emit(Op::load_constant, into, *number);
        return;
    }
    if (node.field != nullptr) {
        const std::uint32_t slot = collector_.want(*node.field);
        if (!node.ranges.empty()) collector_.number_layers();
        Instruction& load = node.ranges.empty() ? emit(Op::load_field, into, slot)
                                                : emit(Op::load_layers, into, slot, keep_ranges(node.ranges));
        load.type = node.type;
        return;
    }
    if (node.kind == NodeKind::slice) {
        value(node.children[0], into, Type::octets, nullptr);
        emit(Op::slice, into, 0, keep_ranges(node.ranges));
        return;
    }
    if (node.kind == NodeKind::call) return call(node, into);
    arithmetic(node, into);
}

void Compiler::arithmetic(const Node& node, std::uint32_t into) {
    value(node.children[0], into, node.type, nullptr);
    if (node.kind == NodeKind::negative) {
        emit(Op::negative, into);
        return;
    }
    value(node.children[1], into + 1, node.type, nullptr);
    emit(op_of(node.kind), into, into, into + 1).type = node.type;
}

void Compiler::call(const Node& node, std::uint32_t into) {
    const Function function = find_function(node.word)->function;
    const Node& argument = at(node.children[0]);
    if (function == Function::largest || function == Function::smallest) {
        const auto count = static_cast<std::uint32_t>(node.children.size());
        for (std::uint32_t i = 0; i < count; ++i) value(node.children[i], into + i, node.type, nullptr);
        emit(function == Function::largest ? Op::largest : Op::smallest, into, into, count).type = node.type;
        return;
    }
    value(node.children[0], into, argument.type, nullptr);
    switch (function) {
        case Function::length: {
            Instruction& length = emit(Op::length, into);
            length.type = argument.type;
            // A number's length is that of its Wireshark type.
            length.c = argument.field == nullptr ? 8 : octets_of(argument.field->info->kind);
            break;
        }
        case Function::count: emit(Op::count, into); break;
        case Function::upper: emit(Op::upper, into); break;
        case Function::lower: emit(Op::lower, into); break;
        case Function::string: emit(Op::string, into).type = argument.type; break;
        default: emit(Op::absolute, into); break;
    }
}

std::optional<Literal> Compiler::fold(const Node& node, Type wanted, const RegisteredField* names) {
    if (failed_) return std::nullopt;
    if (is_arithmetic(node.kind)) return fold_arithmetic(node, wanted);
    auto literal = read_literal(node, wanted, names);
    if (literal) return std::move(literal).value();
    failed_ = literal.error();
    return std::nullopt;
}

std::optional<Literal> Compiler::fold_arithmetic(const Node& node, Type wanted) {
    if (wanted != Type::number && !is_fixed_point(wanted)) {
        fail(node, "Nothing but a number or a time can be compared with this");
        return std::nullopt;
    }
    const auto left = fold(at(node.children[0]), wanted, nullptr);
    if (!left) return std::nullopt;
    if (node.kind == NodeKind::negative) return Literal{-left->number, {}};
    const auto right = fold(at(node.children[1]), wanted, nullptr);
    if (!right) return std::nullopt;
    const auto result = reckon(op_of(node.kind), left->number, right->number);
    if (!result) {
        fail(node, "This has no value");
        return std::nullopt;
    }
    return Literal{*result, {}};
}

Operand Compiler::operand(Literal literal) {
    Operand made;
    made.number = literal.number;
    made.prefix = literal.prefix;
    made.size = static_cast<std::uint32_t>(literal.octets.size());
    program_.octets.push_back(std::move(literal.octets));
    made.data = program_.octets.back().data();
    return made;
}

std::optional<std::uint32_t> Compiler::constant(const Node& node, Type wanted, const RegisteredField* names) {
    auto literal = fold(node, wanted, names);
    if (!literal) return std::nullopt;
    program_.constants.push_back(operand(std::move(*literal)));
    return static_cast<std::uint32_t>(program_.constants.size() - 1);
}

}  // namespace

base::Result<Program, SyntaxError> compile(const Syntax& tree, FieldCollector& collector) {
    return Compiler{tree, collector}.run();
}

}  // namespace dissect::filter
