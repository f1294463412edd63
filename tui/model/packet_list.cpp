#include "tui/model/packet_list.h"

#include <algorithm>
#include <optional>

#include "dissect/dissector.h"
#include "dissect/filter/filter.h"
#include "dissect/output/fields.h"
#include "dissect/output/text_line.h"
#include "dissect/output/tree.h"

namespace tui {

namespace {

namespace output = dissect::output;

/// Gathers what the display filter asks for.
class FilterFields final : public output::ChosenFields {
public:
    explicit FilterFields(const dissect::FieldRegistry& registry) : ChosenFields(registry, {}, {}) {}

private:
    void show(const wire::Frame&) override {}
};

}  // namespace

/// The sink of the dissector: frames become lines, where the display filter lets them through.
struct PacketList::State final : dissect::Sink {
    State(const dissect::FieldRegistry& fields, output::HostNames host_names, std::size_t most)
        : registry(fields), names(std::move(host_names)), max_lines(std::max<std::size_t>(most, 1)) {
        restart();
    }

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        printer->on_frame(frame, dissection);
        if (filter_fields) filter_fields->on_frame(frame, dissection);
    }
    void on_unit(const dissect::Unit& unit) override {
        printer->on_unit(unit);
        if (filter_fields) filter_fields->on_unit(unit);
    }
    void on_notice(const dissect::Notice& notice) override {
        printer->on_notice(notice);
        if (filter_fields) filter_fields->on_notice(notice);
    }

    void restart() {
        output::TextOptions options;
        options.host_names = names;
        printer.emplace(text, options);
        dissector = std::make_unique<dissect::Dissector>();
        lines.clear();
        passed_over = 0;
        next_frame = 1;
    }

    bool wanted() {
        if (!printer->has_lines()) return false;
        if (!filter) return true;
        filter_fields->complete();
        return filter->matches(filter_fields->collector());
    }

    const dissect::FieldRegistry& registry;
    output::HostNames names;
    std::size_t max_lines;
    std::string text = {};
    std::optional<output::TextPrinter> printer = {};
    std::unique_ptr<FilterFields> filter_fields = {};
    std::optional<dissect::Filter> filter = {};
    std::unique_ptr<dissect::Dissector> dissector = {};
    std::deque<PacketLine> lines = {};
    std::uint64_t passed_over = 0;
    std::uint64_t next_frame = 1;
};

PacketList::PacketList(const dissect::FieldRegistry& registry, output::HostNames names, std::size_t max_lines)
    : state_(std::make_unique<State>(registry, std::move(names), max_lines)) {}
PacketList::~PacketList() = default;

wire::Result<bool, std::string> PacketList::filter(std::string_view expression) {
    if (expression.empty()) {
        state_->filter.reset();
        state_->filter_fields.reset();
        clear();
        return true;
    }
    auto fields = std::make_unique<FilterFields>(state_->registry);
    auto compiled = dissect::Filter::compile(expression, state_->registry, fields->collector());
    if (!compiled) return wire::Failure{compiled.error().text()};
    state_->filter.emplace(std::move(compiled).value());
    state_->filter_fields = std::move(fields);
    clear();
    return true;
}

void PacketList::clear() { state_->restart(); }

bool PacketList::advance(Feed& feed, std::size_t most) {
    (void)feed;
    (void)most;
    return false;
}

const std::deque<PacketLine>& PacketList::lines() const { return state_->lines; }
std::uint64_t PacketList::passed_over() const { return state_->passed_over; }

std::vector<std::string> PacketList::details(Feed& feed, std::uint64_t frame) const {
    (void)feed;
    (void)frame;
    return {};
}

}  // namespace tui
