#include "exporters/filter/column_filter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "base/ascii.h"
#include "dissect/field_collector.h"
#include "dissect/filter/filter.h"
#include "exporters/filter/number_forms.h"

namespace exporters::filter {

namespace {

wire::Kind kind_of(Unit unit) {
    switch (unit) {
        case Unit::text: return wire::Kind::string;
        case Unit::share:
        case Unit::ratio:
        case Unit::time: return wire::Kind::time;
        default: return wire::Kind::uint64;
    }
}

std::vector<dissect::FieldOfTable> table_of(std::span<const FilterColumn> columns) {
    std::vector<dissect::FieldOfTable> table;
    table.reserve(columns.size());
    for (const FilterColumn& column : columns) {
        wire::FieldInfo info;
        info.name = column.name;
        info.label = column.title;
        info.kind = kind_of(column.unit);
        table.push_back({info, form_of(column.unit)});
    }
    return table;
}

/// Brings a figure into the form in which the filter holds it.
class Carrier {
public:
    Carrier(dissect::FieldCollector& collector, const wire::FieldInfo& info) : collector_(collector), info_(info) {}

    void operator()(std::monostate) const {}
    void operator()(bool truth) const { put_text(truth ? "true" : "false"); }
    void operator()(std::uint64_t number) const {
        if (info_.kind == wire::Kind::time) return (*this)(static_cast<double>(number));
        put(number);
    }
    void operator()(std::int64_t time_ns) const { put(static_cast<std::uint64_t>(time_ns)); }
    void operator()(double number) const {
        if (!std::isfinite(number)) return;
        constexpr double most = 0x1p62;
        const double held = info_.kind == wire::Kind::time ? number * decimal_parts : std::max(number, 0.0);
        put(static_cast<std::uint64_t>(std::llround(std::clamp(held, -most, most))));
    }
    void operator()(const std::string& text) const { put_text(text); }
    void operator()(const Frames& frames) const {
        for (const std::uint64_t frame : frames) put(frame);
    }

private:
    void put(std::uint64_t number) const { collector_.field(info_, {number, {}, {}}, {}); }
    void put_text(std::string_view text) const { collector_.field(info_, {0, {}, text}, {}); }

    dissect::FieldCollector& collector_;
    const wire::FieldInfo& info_;
};

/// The word to look for in rows: a single one that no operator is part of and no column is called, or all of a text in
/// quotes. Empty where the text is an expression.
std::string searched_word(std::string_view text, const dissect::FieldRegistry& registry) {
    if (text.size() > 2 && text.front() == '"' && text.find('"', 1) == text.size() - 1 &&
        text.find('\\') == std::string_view::npos)
        return base::lowered(text.substr(1, text.size() - 2));
    if (text.find_first_of(" \t\r\n\f\v\"'()[]{}<>=!&|^~+*%,#$\\") != std::string_view::npos) return {};
    if (text.find("..") != std::string_view::npos || registry.find(text) != nullptr) return {};
    return base::lowered(text);
}

}  // namespace

FilterColumns::FilterColumns(std::span<const FilterColumn> columns)
    : table_(table_of(columns)), registry_(table_, "column") {}

struct ColumnFilter::State {
    explicit State(const FilterColumns& all) : columns(all), collector(all.registry()) {}

    const FilterColumns& columns;
    std::string word = {};  ///< looked for in rows; else `filter` decides
    dissect::FieldCollector collector;
    std::optional<dissect::filter::Filter> filter = {};
    std::vector<std::size_t> wanted = {};  ///< places of the columns that the filter asks for

    const wire::FieldInfo& info(std::size_t place) const { return columns.table()[place].info; }
};

ColumnFilter::ColumnFilter() = default;
ColumnFilter::ColumnFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ColumnFilter::~ColumnFilter() = default;
ColumnFilter::ColumnFilter(ColumnFilter&&) noexcept = default;
ColumnFilter& ColumnFilter::operator=(ColumnFilter&&) noexcept = default;

base::Result<ColumnFilter> ColumnFilter::compile(std::string_view text, const FilterColumns& columns) {
    const std::string_view inside = base::trimmed(text);
    if (inside.empty()) return ColumnFilter{};
    auto state = std::make_unique<State>(columns);
    if (inside.size() <= dissect::filter::Filter::max_length) state->word = searched_word(inside, columns.registry());
    if (!state->word.empty()) return ColumnFilter{std::move(state)};
    auto filter = dissect::filter::Filter::compile(text, columns.registry(), state->collector);
    if (!filter) return base::Failure{base::Error{filter.error().line()}};
    state->filter = std::move(*filter);
    for (std::size_t place = 0; place < columns.table().size(); ++place)
        if (state->collector.wants(state->info(place))) state->wanted.push_back(place);
    return ColumnFilter{std::move(state)};
}

const std::string& ColumnFilter::word() const {
    static const std::string none;
    return state_ == nullptr ? none : state_->word;
}

bool ColumnFilter::matches(const std::function<Value(std::size_t)>& value_of) {
    if (state_ == nullptr) return true;
    if (!state_->filter) {
        for (std::size_t place = 0; place < state_->columns.table().size(); ++place) {
            if (state_->info(place).kind != wire::Kind::string) continue;
            const Value value = value_of(place);
            const auto* text = std::get_if<std::string>(&value);
            if (text != nullptr && holds_word(*text, state_->word)) return true;
        }
        return false;
    }
    state_->collector.begin_frame({});
    for (const std::size_t place : state_->wanted)
        std::visit(Carrier(state_->collector, state_->info(place)), value_of(place));
    return state_->filter->matches(state_->collector);
}

bool holds_word(std::string_view text, std::string_view word) {
    const auto same = [](char a, char b) { return base::lower(a) == b; };
    return word.empty() || std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

}  // namespace exporters::filter
