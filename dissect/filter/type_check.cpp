#include "dissect/filter/type_check.h"

#include <array>
#include <fmt/core.h>
#include <utility>

#include "dissect/output/frame_fields.h"
#include "dissect/registry.h"

namespace dissect::filter {

namespace {
constexpr unsigned any_number = 1000;
constexpr auto functions = std::to_array<FunctionInfo>({
    {"len", Function::length, 1, 1},
    {"count", Function::count, 1, 1},
    {"upper", Function::upper, 1, 1},
    {"lower", Function::lower, 1, 1},
    {"string", Function::string, 1, 1},
    {"max", Function::largest, 1, any_number},
    {"min", Function::smallest, 1, any_number},
    {"abs", Function::absolute, 1, 1},
});

class Checker {
public:
    Checker(Syntax& tree, const FieldRegistry& registry) : tree_(tree), registry_(registry) {}

    base::Result<void, SyntaxError> run() {
        for (Node& node : tree_.nodes) {
            visit(node);
            if (failed_) return base::Failure{*failed_};
        }
        expect_test(tree_.root);
        if (failed_) return base::Failure{*failed_};
        return {};
    }

private:
    void visit(Node& node);
    void visit_word(Node& node);
    void visit_comparison(const Node& node);
    void visit_membership(const Node& node);
    void visit_arithmetic(Node& node);
    void visit_bit_and(Node& node);
    void visit_slice(Node& node);
    void visit_call(Node& node);
    void visit_arguments(Node& node, Function function);
    bool expect_values(const Node& node);
    void expect_test(NodeId id);
    void check_contains(const Node& left, const Node& right);
    void check_matches(const Node& left, const Node& right);

    const Node& at(NodeId id) const { return tree_.nodes[id]; }
    std::string shown(const Node& node) const {
        const auto text = tree_.expression.substr(node.column, node.length);
        return std::string{text.substr(0, 60)} + (text.size() > 60 ? "..." : "");
    }
    void fail(const Node& node, std::string message) {
        if (!failed_) failed_ = SyntaxError{std::move(message), node.column, node.length, {}};
    }
    /// A literal where a field was expected: most often a misspelt name.
    void fail_unknown(const Node& node) {
        fail(node, fmt::format("{} is not a known {}", shown(node), registry_.noun()));
        if (node.kind != NodeKind::word) return;
        for (const auto name : registry_.similar(node.word, 3)) failed_->suggestions.emplace_back(name);
    }

    Syntax& tree_;
    const FieldRegistry& registry_;
    std::optional<SyntaxError> failed_;
};

void Checker::visit(Node& node) {
    switch (node.kind) {
        case NodeKind::either:
        case NodeKind::exclusive:
        case NodeKind::both:
        case NodeKind::negation:
            for (const NodeId child : node.children) expect_test(child);
            break;
        case NodeKind::comparison: visit_comparison(node); break;
        case NodeKind::membership: visit_membership(node); break;
        case NodeKind::bit_and: visit_bit_and(node); break;
        case NodeKind::sum:
        case NodeKind::difference:
        case NodeKind::product:
        case NodeKind::quotient:
        case NodeKind::remainder:
        case NodeKind::negative: visit_arithmetic(node); break;
        case NodeKind::slice: visit_slice(node); break;
        case NodeKind::call: visit_call(node); break;
        case NodeKind::word: visit_word(node); break;
        case NodeKind::text:
        case NodeKind::character: break;
    }
}

void Checker::visit_word(Node& node) {
    const bool marked = node.word.starts_with('.');
    node.field = registry_.find(marked ? node.word.substr(1) : node.word);
    if (node.field != nullptr)
        node.type = type_of(*node.field);
    else if (!node.ranges.empty())
        fail_unknown(node);
}

void Checker::expect_test(NodeId id) {
    const Node& node = at(id);
    if (failed_ || is_test(node.kind) || node.field != nullptr) return;
    if (node.kind == NodeKind::call) return fail(node, "A function's value has to be compared with something");
    if (node.type != Type::untyped) return;
    if (is_arithmetic(node.kind)) return fail(node, "A constant is not a test");
    fail_unknown(node);
}

bool Checker::expect_values(const Node& node) {
    for (const NodeId child : node.children)
        if (child != no_node && is_test(at(child).kind)) {
            fail(at(child), "A test stands where a value is needed");
            return false;
        }
    return true;
}

void Checker::visit_comparison(const Node& node) {
    if (!expect_values(node)) return;
    const Node& left = at(node.children[0]);
    const Node& right = at(node.children[1]);
    if (left.type == Type::untyped && right.type == Type::untyped) return fail_unknown(left);
    if (node.comparison == TokenKind::contains) return check_contains(left, right);
    if (node.comparison == TokenKind::matches) return check_matches(left, right);
    if (!common_type(left.type, right.type))
        fail(right, fmt::format("{} is {} and {} is {}: they cannot be compared", shown(left), name_of(left.type),
                                shown(right), name_of(right.type)));
}

void Checker::check_contains(const Node& left, const Node& right) {
    const auto searchable = [](Type type) { return type == Type::text || type == Type::octets || type == Type::ether; };
    if (!searchable(left.type))
        return fail(
            left, fmt::format("{} is {}, and contains looks into strings and bytes", shown(left), name_of(left.type)));
    if (right.type == Type::untyped ? is_arithmetic(right.kind) : !searchable(right.type))
        fail(right, shown(right) + " is neither a string nor bytes");
}

void Checker::check_matches(const Node& left, const Node& right) {
    if (left.type != Type::text && left.type != Type::octets && left.type != Type::ether)
        return fail(left, fmt::format("{0} is {1}, and matches looks into strings and bytes; write string({0})",
                                      shown(left), name_of(left.type)));
    if (right.kind != NodeKind::text) fail(right, "matches needs a regular expression in double quotes on its right");
}

void Checker::visit_membership(const Node& node) {
    if (!expect_values(node)) return;
    const Node& value = at(node.children[0]);
    if (value.type == Type::untyped) return fail_unknown(value);
    for (std::size_t i = 1; i < node.children.size(); ++i) {
        if (node.children[i] == no_node) continue;
        const Node& element = at(node.children[i]);
        if (!common_type(value.type, element.type))
            return fail(element, fmt::format("{} is {} and cannot be compared with {}", shown(element),
                                             name_of(element.type), name_of(value.type)));
    }
}

void Checker::visit_bit_and(Node& node) {
    if (!expect_values(node)) return;
    const Node& left = at(node.children[0]);
    const Node& right = at(node.children[1]);
    const auto type = common_type(left.type, right.type);
    if (!type || *type == Type::boolean || is_fixed_point(*type) || *type == Type::text)
        return fail(node, "Bitwise and takes two numbers, or bytes and a mask of as many bytes");
    node.type = *type;
}

void Checker::visit_arithmetic(Node& node) {
    if (!expect_values(node)) return;
    for (const NodeId child : node.children) {
        const Node& operand = at(child);
        if (operand.type == Type::untyped) continue;
        const bool additive =
            node.kind == NodeKind::sum || node.kind == NodeKind::difference || node.kind == NodeKind::negative;
        if (operand.type != Type::number && !(is_fixed_point(operand.type) && additive))
            return fail(operand, fmt::format("{} is {}, which arithmetic does not take here", shown(operand),
                                             name_of(operand.type)));
        if (node.type != Type::untyped && node.type != operand.type)
            return fail(node, fmt::format("Arithmetic does not take {} and {} together", name_of(node.type),
                                          name_of(operand.type)));
        node.type = operand.type;
    }
}

void Checker::visit_slice(Node& node) {
    if (!expect_values(node)) return;
    const Node& whole = at(node.children[0]);
    if (whole.type == Type::untyped) return fail_unknown(whole);
    if (is_numeric(whole.type))
        return fail(whole, fmt::format("{} is {}, and slices are cut from bytes and strings", shown(whole),
                                       name_of(whole.type)));
    node.type = Type::octets;
}

void Checker::visit_call(Node& node) {
    if (!expect_values(node)) return;
    const FunctionInfo* info = find_function(node.word);
    if (info == nullptr) {
        fail(node, fmt::format("There is no function {}", node.word.substr(0, 60)));
        for (const auto& known : functions) failed_->suggestions.emplace_back(known.name);
        return;
    }
    const std::size_t count = node.children.size();
    if (count < info->least_arguments || count > info->most_arguments)
        return fail(node,
                    fmt::format("{} takes one argument{}", info->name, info->most_arguments == 1 ? "" : " or more"));
    visit_arguments(node, info->function);
}

void Checker::visit_arguments(Node& node, Function function) {
    const Node* first = nullptr;
    for (const NodeId child : node.children)
        if (first == nullptr && at(child).type != Type::untyped) first = &at(child);
    if (first == nullptr) return fail_unknown(at(node.children[0]));
    switch (function) {
        case Function::length: node.type = Type::number; break;
        case Function::count:
            if (first->field == nullptr) return fail(*first, "count takes the name of a field");
            node.type = Type::number;
            break;
        case Function::upper:
        case Function::lower:
            if (first->type != Type::text)
                return fail(*first, fmt::format("{} is {}, not a string", shown(*first), name_of(first->type)));
            node.type = Type::text;
            break;
        case Function::string: node.type = Type::text; break;
        case Function::absolute:
            if (first->type != Type::number && !is_fixed_point(first->type))
                return fail(*first, "abs takes a number or a time");
            node.type = first->type;
            break;
        case Function::largest:
        case Function::smallest:
            for (const NodeId child : node.children)
                if (at(child).type != Type::untyped && at(child).type != first->type)
                    return fail(at(child), fmt::format("The arguments of {} are not of one type", node.word));
            node.type = first->type;
            break;
    }
}
}  // namespace

base::Result<void, SyntaxError> check(Syntax& tree, const FieldRegistry& registry) {
    return Checker{tree, registry}.run();
}

std::optional<Type> common_type(Type left, Type right) {
    if (left == right) return left;
    if (left == Type::untyped) return right;
    if (right == Type::untyped) return left;
    const bool numbers = !is_fixed_point(left) && !is_fixed_point(right) && is_numeric(left) && is_numeric(right);
    if (numbers) return Type::number;
    const bool sequences = (left == Type::octets || right == Type::octets) && !is_numeric(left) && !is_numeric(right);
    if (sequences) return Type::octets;
    return std::nullopt;
}

Type type_of(const wire::FieldInfo& info) {
    return &info == &output::frame_time_field ? Type::time : type_of(info.kind);
}

Type type_of(const RegisteredField& field) {
    if (field.form != nullptr && field.info->kind == wire::Kind::time) return Type::decimal;
    return type_of(*field.info);
}

const FunctionInfo* find_function(std::string_view name) {
    for (const auto& info : functions)
        if (info.name == name) return &info;
    return nullptr;
}

}  // namespace dissect::filter
