#include "tui/model/packet_list.h"

#include <algorithm>
#include <array>
#include <optional>

#include "dissect/dissector.h"
#include "dissect/filter/filter.h"
#include "dissect/output/analysis_fields.h"
#include "dissect/output/chosen_fields.h"
#include "dissect/output/text_line.h"
#include "dissect/output/tree.h"
#include "wire/aeth.h"

namespace tui::inline model {

namespace {

namespace output = dissect::output;

/// Gathers what the display filter asks for.
class FilterFields final : public output::ChosenFields {
public:
    explicit FilterFields(const dissect::FieldRegistry& registry) : ChosenFields(registry, {}, {}) {}

private:
    void show(const wire::Frame&) override {}
};

/// Frames that may be read before the one whose details are shown.
constexpr std::uint64_t details_reach = 100'000;
/// Frames after the one that is shown among its neighbours.
constexpr std::uint64_t neighbours = 200;

bool is_bad(const dissect::Unit& unit) {
    const dissect::Dissection& d = unit.dissection;
    if (unit.repeats_frame != 0 || d.has(dissect::LayerId::rdmap_terminate)) return true;
    const bool ddp = d.has(dissect::LayerId::ddp_tagged) || d.has(dissect::LayerId::ddp_untagged);
    if (unit.transport == wire::Transport::iwarp) return ddp && d.ddp.crc == dissect::CrcStatus::bad;
    using wire::AethKind;
    const AethKind kind = d.has(dissect::LayerId::aeth) ? wire::kind_of_syndrome(d.bth.syndrome) : AethKind::ack;
    return kind == AethKind::nak || kind == AethKind::rnr_nak || d.bth.icrc == dissect::CrcStatus::bad;
}

}  // namespace

/// The sink of the dissector: frames become lines, where the display filter lets them through.
struct PacketList::State final : dissect::Sink {
    State(const dissect::FieldRegistry& fields, output::HostNames host_names, std::size_t most)
        : registry(fields), names(std::move(host_names)), max_lines(std::max<std::size_t>(most, 1)) {
        restart();
    }

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        bad_parts.clear();
        printer->on_frame(frame, dissection);
        if (filter_fields) filter_fields->on_frame(frame, dissection);
    }
    void on_unit(const dissect::Unit& unit) override {
        if (late) on_frame(unit.frame, unit.frame_dissection);
        bad_parts.push_back(is_bad(unit));
        printer->on_unit(unit);
        if (filter_fields) filter_fields->on_unit(unit);
        if (late) settle(unit.frame.number);
    }
    void on_notice(const dissect::Notice& notice) override {
        if (late) on_frame(notice.frame, notice.frame_dissection);
        bad_parts.push_back(true);
        printer->on_notice(notice);
        if (filter_fields) filter_fields->on_notice(notice);
        if (late) settle(notice.frame.number);
    }

    void restart() {
        output::TextOptions options;
        options.host_names = names;
        if (names)
            options.lid_names = [this](std::string& out, std::uint16_t lid) {
                std::array<std::byte, sizeof lid> octets{};
                base::store_be16(octets.data(), lid);
                return names(out, octets);
            };
        printer.emplace(text, options);
        dissector = std::make_unique<dissect::Dissector>();
        lines.clear();
        passed_over = 0;
        next_frame = 1;
        backlog = 0;
        late = false;
        last_frame.reset();
    }

    bool wanted() {
        if (!printer->has_lines()) return false;
        if (!filter) return true;
        filter_fields->complete();
        return filter->matches(filter_fields->collector());
    }

    /// The frame is complete: adds its lines, if it is shown. Each unit and notice has one line, in their order.
    void settle(std::uint64_t frame) {
        const bool shown = wanted();
        if (filter_fields) filter_fields->end_frame(shown);
        text.clear();
        printer->end_frame(shown);
        std::string_view rest = text;
        for (std::size_t part = 0; !rest.empty(); ++part) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            lines.push_back({frame, std::string(rest.substr(0, end)), part < bad_parts.size() && bad_parts[part]});
            if (lines.size() > max_lines) lines.pop_front();
            rest.remove_prefix(std::min(end + 1, rest.size()));
            came = true;
        }
    }

    void pass_over(const FeedStatus& status, std::size_t most);

    const dissect::FieldRegistry& registry;
    output::HostNames names;
    std::size_t max_lines;
    std::string text = {};
    std::vector<bool> bad_parts = {};
    std::optional<output::TextPrinter> printer = {};
    std::unique_ptr<FilterFields> filter_fields = {};
    std::optional<dissect::filter::Filter> filter = {};
    std::unique_ptr<dissect::Dissector> dissector = {};
    std::deque<PacketLine> lines = {};
    std::uint64_t passed_over = 0;
    std::uint64_t next_frame = 1;
    std::uint64_t backlog = 0;                     ///< frames that the last call left for later
    std::optional<std::uint64_t> last_frame = {};  ///< frames after this one are left alone
    bool late = false;  ///< the source has ended: each unit and notice that still comes is a record of its own
    bool came = false;
};

/// Without a filter, frames that would be pushed out by later ones at once need not be looked at. With one, the oldest
/// may be the one that is sought: they are passed over only where the source outruns us.
void PacketList::State::pass_over(const FeedStatus& status, std::size_t most) {
    const std::uint64_t begin = std::max(next_frame, status.first_packet);
    const std::uint64_t waiting = status.last_packet + 1 > begin ? status.last_packet + 1 - begin : 0;
    const bool outrun = next_frame > 1 && waiting > std::max<std::uint64_t>(backlog, most);
    if (next_frame > 1 && begin > next_frame) passed_over += begin - next_frame;
    next_frame = begin;
    if (waiting <= most || (filter && !outrun)) return;
    passed_over += waiting - most;
    next_frame = status.last_packet + 1 - most;
}

PacketList::PacketList(const dissect::FieldRegistry& registry, output::HostNames names, std::size_t max_lines)
    : state_(std::make_unique<State>(registry, std::move(names), max_lines)) {}
PacketList::~PacketList() = default;

base::Result<void> PacketList::filter(std::string_view expression) {
    if (expression.empty()) {
        state_->filter.reset();
        state_->filter_fields.reset();
        clear();
        return {};
    }
    auto fields = std::make_unique<FilterFields>(state_->registry);
    auto compiled = dissect::filter::Filter::compile(expression, state_->registry, fields->collector());
    if (!compiled) return base::Failure{base::Error{compiled.error().line()}};
    for (const wire::FieldInfo& field : dissect::output::analysis_fields())
        if (fields->wants(field))
            return base::Failure{base::Error{std::string(field.name) +
                                             " is a field of dump and Wireshark: this list does not measure flows"}};
    state_->filter.emplace(std::move(compiled).value());
    state_->filter_fields = std::move(fields);
    clear();
    return {};
}

void PacketList::clear() { state_->restart(); }

void PacketList::read_around(std::uint64_t frame) {
    state_->restart();
    state_->next_frame = frame > details_reach ? frame - details_reach : 1;
    state_->last_frame = frame + neighbours;
}
bool PacketList::stays() const { return state_->last_frame.has_value(); }

bool PacketList::advance(Feed& feed, std::size_t most) {
    State& state = *state_;
    const FeedStatus status = feed.status();
    state.came = false;
    if (!status.has_packets || status.first_packet == 0 || most == 0) return false;
    if (status.last_packet + 1 < state.next_frame) state.restart();  // a jump back in time
    if (state.late) return false;
    if (state.last_frame) {
        if (state.next_frame > *state.last_frame) return false;
        most = static_cast<std::size_t>(*state.last_frame + 1 - state.next_frame);
    } else {
        state.pass_over(status, most);
    }
    feed.packets(state.next_frame, most, [&state](const wire::Frame& frame) {
        if (state.last_frame && frame.number > *state.last_frame) return false;
        // Some went while we were looking.
        if (frame.number > state.next_frame) state.passed_over += frame.number - state.next_frame;
        state.next_frame = frame.number + 1;
        state.dissector->dissect(frame, state);
        state.settle(frame.number);
        return true;
    });
    state.backlog = status.last_packet + 1 > state.next_frame ? status.last_packet + 1 - state.next_frame : 0;
    if (status.at_end && state.backlog == 0 && !state.last_frame) {
        state.late = true;
        state.dissector->finish(state);
    }
    return state.came;
}

const std::deque<PacketLine>& PacketList::lines() const { return state_->lines; }
std::uint64_t PacketList::passed_over() const { return state_->passed_over; }

namespace {

/// Shows one frame alone. Of those before it the printer hears when they were, and the dissector the rest.
class Details final : public dissect::Sink {
public:
    explicit Details(std::uint64_t frame) : wanted_(frame), printer_(text_, {}) {}

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        shows_ = frame.number == wanted_;
        carries_rdma_ = false;
        stub_ = frame;
        stub_.bytes = {};
        if (shows_)
            printer_.on_frame(frame, dissection);
        else
            printer_.on_frame(stub_, nothing_);
    }
    void on_unit(const dissect::Unit& unit) override {
        carries_rdma_ = true;
        if (shows_) printer_.on_unit(unit);
    }
    void on_notice(const dissect::Notice& notice) override {
        carries_rdma_ = true;
        if (shows_) printer_.on_notice(notice);
    }
    void end_frame() {
        text_.clear();
        printer_.end_frame(shows_ || carries_rdma_);
    }
    std::string_view text() const { return shows_ ? text_ : std::string_view{}; }

private:
    std::uint64_t wanted_;
    std::string text_ = {};
    output::TreePrinter printer_;
    wire::Frame stub_ = {};
    dissect::Dissection nothing_ = {};
    bool shows_ = false;
    bool carries_rdma_ = false;
};

}  // namespace

std::vector<std::string> PacketList::details(Feed& feed, std::uint64_t frame) const {
    const FeedStatus status = feed.status();
    std::vector<std::string> lines;
    if (!status.has_packets || frame == 0 || frame < status.first_packet || frame > status.last_packet) return lines;
    const std::uint64_t reach = frame > details_reach ? frame - details_reach : 1;
    const std::uint64_t from = std::max(status.first_packet, reach);
    dissect::Dissector dissector;
    Details details(frame);
    feed.packets(from, static_cast<std::size_t>(frame - from + 1), [&](const wire::Frame& each) {
        dissector.dissect(each, details);
        details.end_frame();
        return each.number < frame;
    });
    std::string_view rest = details.text();
    while (rest.ends_with('\n')) rest.remove_suffix(1);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        lines.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return lines;
}

}  // namespace tui::model
