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

/// Beyond the greatest there is "as fast as it goes", which sources call 0.
constexpr double least_speed = 1.0 / 64;
constexpr double most_speed = 1024;

void refresh_every(Workings& w, std::uint64_t interval_ns) {
    w.feed.set_interval(interval_ns);
    w.state.settings.interval_ns = interval_ns;
    w.state.feed.interval_ns = interval_ns;
    w.keep();
    w.say("every " + base::format_duration(interval_ns));
}

bool playable(Workings& w) {
    if (w.state.feed.playable) return true;
    w.say("live traffic cannot be played back; rdmascope top -r FILE and --from TIME can");
    return false;
}

void play_at(Workings& w, double speed) {
    w.feed.set_speed(speed);
    w.state.feed.speed = speed;
    w.say(speed == 0 ? std::string("as fast as it goes") : fmt::format("speed {:g}", speed));
}

void set_playing(Workings& w, bool playing) {
    w.feed.play(playing);
    w.state.feed.playing = playing;
}

/// As fast as it goes, playback would be back at the end before the place was seen.
void seek(Workings& w, std::int64_t time_ns) {
    if (w.state.feed.speed == 0 && w.state.feed.playing) {
        set_playing(w, false);
        w.say("paused; Space goes on, . and , step");
    }
    w.feed.seek(time_ns);
}

void step(Workings& w, int intervals_on) {
    if (!playable(w)) return;
    if (w.state.feed.playing) set_playing(w, false);
    w.feed.step(intervals_on);
}

}  // namespace

void pause(Workings& w) {
    FeedStatus& feed = w.state.feed;
    if (!feed.playable) {
        w.state.frozen = !w.state.frozen;
        return w.say(w.state.frozen ? "frozen; Space goes on" : "goes on");
    }
    if (feed.at_end) {
        w.feed.seek(feed.begin_ns);
        set_playing(w, true);
        return w.say("from the beginning");
    }
    set_playing(w, !feed.playing);
    w.say(feed.playing ? "goes on" : "paused; Space goes on, . and , step");
}

void faster_refresh(Workings& w) {
    const auto at = std::lower_bound(intervals.begin(), intervals.end(), w.state.feed.interval_ns);
    if (at == intervals.begin()) {
        return w.say(fmt::format("every {} is the most", base::format_duration(intervals.front())));
    }
    refresh_every(w, *(at - 1));
}

void slower_refresh(Workings& w) {
    const auto at = std::upper_bound(intervals.begin(), intervals.end(), w.state.feed.interval_ns);
    if (at == intervals.end()) {
        return w.say(fmt::format("every {} is the least", base::format_duration(intervals.back())));
    }
    refresh_every(w, *at);
}

void slower_playback(Workings& w) {
    if (!playable(w)) return;
    const double speed = w.state.feed.speed;
    play_at(w, speed == 0 ? most_speed : std::max(speed / 2, least_speed));
}

void faster_playback(Workings& w) {
    if (!playable(w)) return;
    const double speed = w.state.feed.speed;
    play_at(w, speed == 0 || speed * 2 > most_speed ? 0 : speed * 2);
}

void step_forward(Workings& w) { step(w, 1); }
void step_back(Workings& w) { step(w, -1); }

void jump(Workings& w) {
    if (playable(w)) w.open_prompt(Prompt::Purpose::jump, {});
}

bool jump_to(Workings& w, const std::string& text) {
    const auto target = jump_target(text, w.state.feed);
    if (!target) {
        w.state.prompt.error = target.error();
        return false;
    }
    seek(w, *target);
    return true;
}

void jump_to_share(Workings& w, std::size_t permille) {
    if (!playable(w)) return;
    const auto target = jump_target(fmt::format("{:.1f}%", static_cast<double>(permille) / 10), w.state.feed);
    if (!target) return w.complain(target.error());
    seek(w, *target);
}

}  // namespace tui::model::time
