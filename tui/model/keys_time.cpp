// Keys of time: pause, refresh, playback, jumps.
#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "base/quantities.h"
#include "tui/model/jump.h"
#include "tui/model/key_row.h"

namespace tui::inline model::time {

namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::array<std::uint64_t, 7> intervals{100 * ms,  200 * ms,  500 * ms,   1000 * ms,
                                                 2000 * ms, 5000 * ms, 10'000 * ms};

/// Beyond the greatest factor there is full speed, which sources call 0.
constexpr double least_speed = 1.0 / 64;
constexpr double most_speed = 1024;

void refresh_every(Controller& controller, std::uint64_t interval_ns) {
    controller.feed.set_interval(interval_ns);
    controller.state.settings.interval_ns = interval_ns;
    controller.state.feed.interval_ns = interval_ns;
    controller.keep();
    controller.say("every " + base::format_duration(interval_ns));
}

bool playable(Controller& controller) {
    if (controller.state.feed.playable) return true;
    controller.say("live traffic cannot be played back; rdmascope top -r FILE and --from TIME can");
    return false;
}

void play_at(Controller& controller, double speed) {
    controller.feed.set_speed(speed);
    controller.state.feed.speed = speed;
    controller.say(speed == 0 ? std::string("full speed") : fmt::format("speed {:g}", speed));
}

void set_playing(Controller& controller, bool playing) {
    controller.feed.play(playing);
    controller.state.feed.playing = playing;
}

/// At full speed, playback would reach the end again before the user sees the place.
void seek(Controller& controller, std::int64_t time_ns) {
    if (controller.state.feed.speed == 0 && controller.state.feed.playing) {
        set_playing(controller, false);
        controller.say("paused; Space goes on, . and , step");
    }
    controller.feed.seek(time_ns);
}

void step(Controller& controller, int intervals_on) {
    if (!playable(controller)) return;
    if (controller.state.feed.playing) set_playing(controller, false);
    controller.feed.step(intervals_on);
}

}  // namespace

void pause(Controller& controller) {
    FeedStatus& feed = controller.state.feed;
    if (!feed.playable) {
        controller.state.frozen = !controller.state.frozen;
        return controller.say(controller.state.frozen ? "frozen; Space goes on" : "goes on");
    }
    if (feed.at_end) {
        controller.feed.seek(feed.begin_ns);
        set_playing(controller, true);
        return controller.say("from the beginning");
    }
    set_playing(controller, !feed.playing);
    controller.say(feed.playing ? "goes on" : "paused; Space goes on, . and , step");
}

void faster_refresh(Controller& controller) {
    const auto at = std::lower_bound(intervals.begin(), intervals.end(), controller.state.feed.interval_ns);
    if (at == intervals.begin()) {
        return controller.say(fmt::format("every {} is the most", base::format_duration(intervals.front())));
    }
    refresh_every(controller, *(at - 1));
}

void slower_refresh(Controller& controller) {
    const auto at = std::upper_bound(intervals.begin(), intervals.end(), controller.state.feed.interval_ns);
    if (at == intervals.end()) {
        return controller.say(fmt::format("every {} is the least", base::format_duration(intervals.back())));
    }
    refresh_every(controller, *at);
}

void slower_playback(Controller& controller) {
    if (!playable(controller)) return;
    const double speed = controller.state.feed.speed;
    play_at(controller, speed == 0 ? most_speed : std::max(speed / 2, least_speed));
}

void faster_playback(Controller& controller) {
    if (!playable(controller)) return;
    const double speed = controller.state.feed.speed;
    play_at(controller, speed == 0 || speed * 2 > most_speed ? 0 : speed * 2);
}

void step_forward(Controller& controller) { step(controller, 1); }
void step_back(Controller& controller) { step(controller, -1); }

void jump(Controller& controller) {
    if (playable(controller)) controller.open_prompt(Prompt::Purpose::jump, {});
}

base::Result<void> jump_to(Controller& controller, const std::string& text) {
    const auto target = jump_target(text, controller.state.feed);
    if (!target) return base::Failure{target.error()};
    seek(controller, *target);
    return {};
}

void jump_to_share(Controller& controller, std::size_t permille) {
    if (!playable(controller)) return;
    const auto target = jump_target(fmt::format("{:.1f}%", static_cast<double>(permille) / 10), controller.state.feed);
    if (!target) return controller.complain(target.error().text());
    seek(controller, *target);
}

}  // namespace tui::model::time
