#include "exporters/filter/flow_filter.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

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

/// Every column of flows as a field of the filter's language.
struct Columns {
    std::vector<const FlowField*> fields = {};
    std::vector<dissect::FieldOfTable> table = {};

    Columns() {
        for (const auto* part : {&brief_fields(), &flow_fields(), &interval_fields()})
            for (const FlowField& field : *part) {
                wire::FieldInfo info;
                info.name = field.path;
                info.label = field.title;
                info.kind = kind_of(field.unit);
                fields.push_back(&field);
                table.push_back({info, form_of(field.unit)});
            }
    }
};
const Columns& columns() {
    static const Columns all;
    return all;
}
const dissect::FieldRegistry& registry() {
    static const dissect::FieldRegistry all(columns().table, "column");
    return all;
}

/// A column that the filter asks for.
struct Wanted {
    const FlowField* field;
    const wire::FieldInfo* info;
    bool pace;  ///< columns.h
};

/// Brings a figure into the form in which the filter holds it; text lives in `text`.
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

bool holds(std::string_view text, const std::string& word) {
    return std::search(text.begin(), text.end(), word.begin(), word.end(),
                       [](char a, char b) { return base::lower(a) == b; }) != text.end();
}

/// The word to look for in rows: a single one that no operator is part of and no column is called, or all of a text in
/// quotes. Empty where the text is an expression.
std::string searched_word(std::string_view text) {
    if (text.size() > 2 && text.front() == '"' && text.find('"', 1) == text.size() - 1 &&
        text.find('\\') == std::string_view::npos)
        return base::lowered(text.substr(1, text.size() - 2));
    if (text.find_first_of(" \t\r\n\f\v\"'()[]{}<>=!&|^~+*%,#$\\") != std::string_view::npos) return {};
    if (text.find("..") != std::string_view::npos || registry().find(text) != nullptr) return {};
    return base::lowered(text);
}

}  // namespace

struct FlowFilter::State {
    std::string word = {};  ///< looked for in rows; else `filter` decides
    dissect::FieldCollector collector{registry()};
    std::optional<dissect::filter::Filter> filter = {};
    std::vector<Wanted> wanted = {};

    bool finds_word(const FlowRow& row) const;
};

FlowFilter::FlowFilter() = default;
FlowFilter::FlowFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
FlowFilter::~FlowFilter() = default;
FlowFilter::FlowFilter(FlowFilter&&) noexcept = default;
FlowFilter& FlowFilter::operator=(FlowFilter&&) noexcept = default;

base::Result<FlowFilter> FlowFilter::compile(std::string_view text) {
    const std::string_view inside = base::trimmed(text);
    if (inside.empty()) return FlowFilter{};
    auto state = std::make_unique<State>();
    state->word = inside.size() > dissect::filter::Filter::max_length ? std::string{} : searched_word(inside);
    if (!state->word.empty()) return FlowFilter{std::move(state)};
    auto filter = dissect::filter::Filter::compile(text, registry(), state->collector);
    if (!filter) return base::Failure{base::Error{filter.error().line()}};
    state->filter = std::move(*filter);
    for (std::size_t i = 0; i < columns().fields.size(); ++i)
        if (state->collector.wants(columns().table[i].info))
            state->wanted.push_back({columns().fields[i], &columns().table[i].info, is_pace(*columns().fields[i])});
    return FlowFilter{std::move(state)};
}

bool FlowFilter::everything() const { return state_ == nullptr; }

bool FlowFilter::matches(const FlowRow& row, bool idle) {
    if (state_ == nullptr) return true;
    if (!state_->filter) return state_->finds_word(row);
    state_->collector.begin_frame({});
    for (const Wanted& wanted : state_->wanted)
        if (!idle || !wanted.pace) std::visit(Carrier(state_->collector, *wanted.info), wanted.field->value(row));
    return state_->filter->matches(state_->collector);
}

/// Both ends by name and by address, the kind, the operations, what took the most time, and the id.
bool FlowFilter::State::finds_word(const FlowRow& row) const {
    for (const metrics::Endpoint* end : {&row.flow.source, &row.flow.destination}) {
        if (holds(endpoint_text(*end, row.context.names), word)) return true;
        if (row.context.names != nullptr && holds(endpoint_text(*end, nullptr), word)) return true;
    }
    static const std::vector<const FlowField*> shown = [] {
        std::vector<const FlowField*> fields;
        for (const char* name : {"kind", "operations", "top_state"}) fields.push_back(find_fields(name).front());
        return fields;
    }();
    for (const FlowField* field : shown) {
        const Value value = field->value(row);
        const auto* text = std::get_if<std::string>(&value);
        if (text != nullptr && holds(*text, word)) return true;
    }
    return word == fmt::to_string(row.flow.id);
}

}  // namespace exporters::filter
