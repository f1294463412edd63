#include "fleet/questions/having_filter.h"

#include <charconv>
#include <fmt/format.h>

#include "base/ascii.h"
#include "base/similar.h"
#include "dissect/filter/parser.h"
#include "exporters/filter/number_forms.h"
#include "exporters/flow_fields.h"
#include "fleet/questions/flow_question.h"
#include "fleet/schema/sql.h"

namespace fleet::questions {
namespace {

using dissect::filter::Node;
using dissect::filter::NodeId;
using dissect::filter::NodeKind;
using dissect::filter::Syntax;
using dissect::filter::TokenKind;

/// Null if there is no such operator between a column and a value.
const char* operator_of(TokenKind kind, bool swapped) {
    switch (kind) {
        case TokenKind::any_eq:
        case TokenKind::all_eq: return "=";
        case TokenKind::any_ne:
        case TokenKind::all_ne: return "!=";
        case TokenKind::less: return swapped ? ">" : "<";
        case TokenKind::less_equal: return swapped ? ">=" : "<=";
        case TokenKind::greater: return swapped ? "<" : ">";
        case TokenKind::greater_equal: return swapped ? "<=" : ">=";
        default: return nullptr;
    }
}

class Translator {
public:
    Translator(const Syntax& tree, std::span<const Figure> figures) : tree_(tree), figures_(figures) {}

    base::Result<std::string> translate(NodeId id) const {
        const Node& node = tree_.nodes[id];
        switch (node.kind) {
            case NodeKind::either: return joined(node, "OR");
            case NodeKind::both: return joined(node, "AND");
            case NodeKind::exclusive: return joined(node, "!=");
            case NodeKind::negation: {
                auto inside = translate(node.children.front());
                if (!inside) return inside;
                return fmt::format("(NOT {})", *inside);
            }
            case NodeKind::comparison: return comparison(node);
            default: break;
        }
        return refused(node, "a comparison such as 'packets > 10k' is expected");
    }

private:
    base::Failure<base::Error> refused(const Node& node, std::string_view why) const {
        return base::failure(fmt::format("--filter, column {}: {}", node.column + 1, why));
    }

    base::Result<std::string> joined(const Node& node, std::string_view word) const {
        std::string out;
        for (const NodeId child : node.children) {
            auto part = translate(child);
            if (!part) return part;
            out += out.empty() ? *part : fmt::format(" {} {}", word, *part);
        }
        return "(" + out + ")";
    }

    base::Result<std::string> comparison(const Node& node) const {
        const Node* column = &tree_.nodes[node.children[0]];
        const Node* value = &tree_.nodes[node.children[1]];
        const bool swapped = column->kind != NodeKind::word || find_figure(*column) == nullptr;
        if (swapped) std::swap(column, value);
        const Figure* const figure = column->kind == NodeKind::word ? find_figure(*column) : nullptr;
        if (figure == nullptr) return unknown(swapped ? *value : *column);
        if (node.comparison == TokenKind::contains && !swapped && figure->is_text)
            return fmt::format("(position({}, {}) > 0)", figure->column, schema::text(text_of(*value)));
        const char* const sign = operator_of(node.comparison, swapped);
        if (sign == nullptr) return refused(node, "the engine has no such comparison of this column");
        if (figure->is_text) return fmt::format("({} {} {})", figure->column, sign, schema::text(text_of(*value)));
        const auto number = number_of(*figure, *value);
        if (!number) return refused(*value, "a number is expected");
        return fmt::format("({} {} {})", figure->column, sign, *number);
    }

    const Figure* find_figure(const Node& node) const { return questions::find_figure(figures_, node.word); }

    base::Failure<base::Error> unknown(const Node& node) const {
        std::vector<std::string_view> names;
        for (const Figure& figure : figures_) names.push_back(figure.path);
        return refused(node, fmt::format("the engine cannot choose by '{}'{}; it has: {}", node.word,
                                         base::did_you_mean(node.word, names), fmt::join(names, ", ")));
    }

    static std::string text_of(const Node& node) {
        return node.kind == NodeKind::text ? node.decoded : std::string(node.word);
    }

    /// Numbers have the units that `flows` accepts.
    static std::optional<std::uint64_t> number_of(const Figure& figure, const Node& node) {
        if (node.kind != NodeKind::word) return {};
        for (const exporters::FlowField& field : exporters::flow_fields()) {
            if (field.path != figure.path) continue;
            if (const dissect::NumberForm* form = exporters::filter::form_of(field.unit)) return form->read(node.word);
        }
        std::uint64_t number = 0;
        const auto [stop, code] = std::from_chars(node.word.data(), node.word.data() + node.word.size(), number);
        if (code != std::errc{} || stop != node.word.data() + node.word.size()) return {};
        return number;
    }

    const Syntax& tree_;
    std::span<const Figure> figures_;
};

}  // namespace

base::Result<std::string> having_of(std::string_view expression) { return having_of(expression, flow_figures()); }

base::Result<std::string> having_of(std::string_view expression, std::span<const Figure> figures) {
    if (base::trimmed(expression).empty()) return std::string();
    const auto tree = dissect::filter::parse(expression);
    if (!tree)
        return base::failure(fmt::format("--filter, column {}: {}", tree.error().column + 1, tree.error().message));
    return Translator(*tree, figures).translate(tree->root);
}

}  // namespace fleet::questions
