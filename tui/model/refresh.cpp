// What is new of the source goes into the lists.
#include <algorithm>
#include <optional>
#include <tuple>

#include "tui/model/controller.h"

namespace tui::inline model {

namespace {

constexpr std::size_t view_index(View view) { return static_cast<std::size_t>(view); }

bool looks_same(const FeedStatus& a, const FeedStatus& b) {
    const auto all = [](const FeedStatus& s) {
        return std::tie(s.kind, s.name, s.health, s.trouble, s.warnings, s.playable, s.playing, s.at_end, s.speed,
                        s.now_ns, s.begin_ns, s.end_ns, s.share, s.interval_ns, s.has_packets, s.packets_kept,
                        s.first_packet, s.last_packet);
    };
    return all(a) == all(b);
}

/// A jump in time: nothing that was shown before belongs to what is shown now.
void forget_the_past(Controller& controller) {
    controller.state.events.clear();
    controller.state.timeline.clear();
    controller.state.trace.clear();
    controller.state.packets->clear();
    for (const View view : {View::events, View::packets}) {
        controller.held[view_index(view)] = false;
        controller.state.places[view_index(view)] = {};
    }
}

/// When a frame was captured, where the source still has it.
std::optional<std::int64_t> time_of(Feed& feed, std::uint64_t number) {
    std::optional<std::int64_t> time_ns;
    feed.packets(number, 1, [&](const wire::Frame& frame) {
        if (frame.number == number) time_ns = frame.time_ns;
        return false;
    });
    return time_ns;
}

/// Lines come where their time is; the selection stays on its own.
void add_events(Controller& controller, const Reading& reading) {
    const auto& lines = controller.state.events.lines();
    Place& place = controller.state.places[view_index(View::events)];
    const std::uint64_t selected = place.selected < lines.size() ? lines[place.selected].serial : 0;
    const std::size_t below_top = place.selected - std::min(place.top, place.selected);
    const std::uint64_t before = controller.state.events.forgotten();
    controller.state.events.add(reading, controller.state.names,
                                [&controller](std::uint64_t frame) { return time_of(controller.feed, frame); });
    const std::uint64_t gone = controller.state.events.forgotten() - before;
    if (selected == 0) return;
    place.selected -= std::min<std::size_t>(place.selected, gone);
    if (place.selected >= lines.size() || lines[place.selected].serial != selected) {
        const auto found = std::find_if(lines.begin(), lines.end(),
                                        [selected](const EventLine& line) { return line.serial == selected; });
        if (found != lines.end()) place.selected = static_cast<std::size_t>(found - lines.begin());
    }
    place.top = place.selected - std::min(below_top, place.selected);
}

void take(Controller& controller, const std::vector<ReadingPtr>& readings) {
    for (const ReadingPtr& reading : readings) {
        if (reading->restarted) forget_the_past(controller);
        controller.state.timeline.add(*reading);
        add_events(controller, *reading);
        controller.last_serial = std::max(controller.last_serial, reading->serial);
    }
}

/// A capture that has been read to its end is looked at as a whole, unless the user has said otherwise.
bool widen_at_the_end(Controller& controller) {
    if (controller.window_chosen) return false;
    const bool whole =
        controller.state.feed.playable && controller.state.feed.at_end && controller.state.reading != nullptr;
    const Window window = whole ? Window::total : controller.state.settings.window;
    if (controller.state.choice.window == window) return false;
    controller.state.choice.window = window;
    if (whole) controller.say("figures of all of it; t: the last interval");
    return true;
}

bool advance_packets(Controller& controller) {
    const auto& lines = controller.state.packets->lines();
    Place& place = controller.state.places[view_index(View::packets)];
    const std::uint64_t frame = place.selected < lines.size() ? lines[place.selected].frame : 0;
    const std::size_t below_top = place.selected - place.top;
    if (!controller.state.packets->advance(controller.feed)) return false;
    const auto at = std::lower_bound(lines.begin(), lines.end(), frame,
                                     [](const PacketLine& line, std::uint64_t number) { return line.frame < number; });
    if (frame != 0) place.selected = static_cast<std::size_t>(at - lines.begin());
    place.top = place.selected - std::min(below_top, place.selected);
    controller.count_rows();
    return true;
}

/// What is gone through only while it is looked at.
bool advance(Controller& controller) {
    if (controller.state.view == View::packets) return advance_packets(controller);
    if (controller.state.view != View::flow) return false;
    controller.follow_flow();
    if (controller.state.trace.flow() != controller.state.flow_id) return false;
    const std::size_t before = controller.state.trace.points().size();
    const bool more = controller.state.trace.advance(controller.feed);
    return more || controller.state.trace.points().size() != before;
}

}  // namespace

bool Model::refresh(std::int64_t now_ns) {
    Controller& controller = *controller_;
    controller.now_ns = now_ns;
    FeedStatus status = controller.feed.status();
    bool news = !looks_same(status, controller.state.feed);
    controller.state.feed = std::move(status);
    if (controller.state.frozen) return news;
    const std::vector<ReadingPtr> readings = controller.feed.since(controller.last_serial);
    take(controller, readings);
    // Flows of the former reading are what selections are found by: it has to live until then.
    const ReadingPtr former = controller.state.reading;
    if (!readings.empty()) controller.state.reading = readings.back();
    const bool widened = widen_at_the_end(controller);
    if (!readings.empty() || widened) controller.rebuild();
    news = advance(controller) || news;
    return news || !readings.empty() || widened;
}

}  // namespace tui::model
