#include "dissect/filter/filter.h"

#include <string>
#include <utility>

#include "dissect/field_collector.h"
#include "dissect/filter/compile.h"
#include "dissect/filter/evaluate.h"
#include "dissect/filter/parser.h"
#include "dissect/filter/type_check.h"

namespace dissect::filter {

namespace {
base::Failure<FilterError> failure(std::string_view expression, filter::SyntaxError error) {
    return {
        {std::move(error.message), std::string{expression}, error.column, error.length, std::move(error.suggestions)}};
}
}  // namespace

struct Filter::State {
    explicit State(filter::Program made) : program(std::move(made)), workspace(program) {}

    filter::Program program;
    filter::Workspace workspace;
};

Filter::Filter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

base::Result<Filter, FilterError> Filter::compile(std::string_view expression, const FieldRegistry& registry,
                                                  FieldCollector& collector) {
    if (expression.size() > max_length)
        return failure(expression.substr(0, max_length), {"The filter is longer than 64 KiB", 0, 1, {}});
    if (expression.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos) {
        filter::Program always;
        filter::Instruction negate;
        negate.op = filter::Op::negate;
        always.code.push_back(negate);
        return Filter{std::make_unique<State>(std::move(always))};
    }
    auto tree = filter::parse(expression);
    if (!tree) return failure(expression, tree.error());
    if (const auto checked = filter::check(*tree, registry); !checked) return failure(expression, checked.error());
    auto program = filter::compile(*tree, collector);
    if (!program) return failure(expression, program.error());
    return Filter{std::make_unique<State>(std::move(*program))};
}

bool Filter::matches(const FieldCollector& collector) {
    return filter::evaluate(state_->program, collector, state_->workspace);
}

}  // namespace dissect::filter
