// What is new of the source goes into the lists.
#include <algorithm>
#include <optional>
#include <tuple>

#include "tui/model/workings.h"

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
void forget_the_past(Workings& w) {
    w.state.events.clear();
    w.state.timeline.clear();
    w.state.trace.clear();
    w.state.packets->clear();
    for (const View view : {View::events, View::packets}) {
        w.held[view_index(view)] = false;
        w.state.places[view_index(view)] = {};
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
void add_events(Workings& w, const Reading& reading) {
    const auto& lines = w.state.events.lines();
    Place& place = w.state.places[view_index(View::events)];
    const std::uint64_t selected = place.selected < lines.size() ? lines[place.selected].serial : 0;
    const std::size_t below_top = place.selected - std::min(place.top, place.selected);
    const std::uint64_t before = w.state.events.forgotten();
    w.state.events.add(reading, w.state.names, [&w](std::uint64_t frame) { return time_of(w.feed, frame); });
    const std::uint64_t gone = w.state.events.forgotten() - before;
    if (selected == 0) return;
    place.selected -= std::min<std::size_t>(place.selected, gone);
    if (place.selected >= lines.size() || lines[place.selected].serial != selected) {
        const auto found = std::find_if(lines.begin(), lines.end(),
                                        [selected](const EventLine& line) { return line.serial == selected; });
        if (found != lines.end()) place.selected = static_cast<std::size_t>(found - lines.begin());
    }
    place.top = place.selected - std::min(below_top, place.selected);
}

void take(Workings& w, const std::vector<ReadingPtr>& readings) {
    for (const ReadingPtr& reading : readings) {
        if (reading->restarted) forget_the_past(w);
        w.state.timeline.add(*reading);
        add_events(w, *reading);
        w.last_serial = std::max(w.last_serial, reading->serial);
    }
}

/// A capture that has been read to its end is looked at as a whole, unless the user has said otherwise.
bool widen_at_the_end(Workings& w) {
    if (w.window_chosen) return false;
    const bool whole = w.state.feed.playable && w.state.feed.at_end && w.state.reading != nullptr;
    const Window window = whole ? Window::total : w.state.settings.window;
    if (w.state.choice.window == window) return false;
    w.state.choice.window = window;
    if (whole) w.say("figures of all of it; t: the last interval");
    return true;
}

bool advance_packets(Workings& w) {
    const auto& lines = w.state.packets->lines();
    Place& place = w.state.places[view_index(View::packets)];
    const std::uint64_t frame = place.selected < lines.size() ? lines[place.selected].frame : 0;
    const std::size_t below_top = place.selected - place.top;
    if (!w.state.packets->advance(w.feed)) return false;
    const auto at = std::lower_bound(lines.begin(), lines.end(), frame,
                                     [](const PacketLine& line, std::uint64_t number) { return line.frame < number; });
    if (frame != 0) place.selected = static_cast<std::size_t>(at - lines.begin());
    place.top = place.selected - std::min(below_top, place.selected);
    w.count_rows();
    return true;
}

/// What is gone through only while it is looked at.
bool advance(Workings& w) {
    if (w.state.view == View::packets) return advance_packets(w);
    if (w.state.view != View::flow) return false;
    w.follow_flow();
    if (w.state.trace.flow() != w.state.flow_id) return false;
    const std::size_t before = w.state.trace.points().size();
    const bool more = w.state.trace.advance(w.feed);
    return more || w.state.trace.points().size() != before;
}

}  // namespace

bool Model::refresh(std::int64_t now_ns) {
    Workings& w = *workings_;
    w.now_ns = now_ns;
    FeedStatus status = w.feed.status();
    bool news = !looks_same(status, w.state.feed);
    w.state.feed = std::move(status);
    if (w.state.frozen) return news;
    const std::vector<ReadingPtr> readings = w.feed.since(w.last_serial);
    take(w, readings);
    // Flows of the former reading are what selections are found by: it has to live until then.
    const ReadingPtr former = w.state.reading;
    if (!readings.empty()) w.state.reading = readings.back();
    const bool widened = widen_at_the_end(w);
    if (!readings.empty() || widened) w.rebuild();
    news = advance(w) || news;
    return news || !readings.empty() || widened;
}

}  // namespace tui::model
