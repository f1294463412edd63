#include "metrics/measure/hosts/sender_table.h"

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"

namespace metrics::inline measure::inline hosts {

namespace {

constexpr std::uint32_t no_entry = SenderWindow::none;

}  // namespace

void SenderTable::note_other(std::uint32_t source, std::uint32_t destination, SenderWindow& to, std::int64_t time_ns,
                             std::uint64_t frame) {
    settle(to);
    std::int64_t now_ns = time_ns;
    if (to.senders != 0 && time_ns < to.newest_ns) [[unlikely]] {
        constexpr std::uint64_t set_back_ns = 1'000'000'000;
        const std::uint64_t late_ns = base::elapsed(time_ns, to.newest_ns);
        if (late_ns >= set_back_ns)
            while (to.oldest != no_entry) remove(to.oldest);
        else if (late_ns >= window_ns)
            return;  // its millisecond has passed
        else
            now_ns = to.newest_ns;
    }
    forget_before(to, now_ns);
    const std::uint32_t place = place_of(source, destination, to, time_ns);
    Entry& entry = entries_[place];
    if (entry.window != nullptr && now_ns == time_ns) [[likely]] {
        unlink(place, to);
        link(place, to.newest, to);
    } else {
        if (entry.window != nullptr && entry.last_ns >= time_ns) return;
        if (entry.window != nullptr) remove(place);
        if (!insert(place, source, to, time_ns)) return;
    }
    entry.last_ns = time_ns;
    if (to.newest == place) {
        to.last_sender = source;
        to.newest_ns = time_ns;
    }
    if (to.senders <= to.senders_max) return;
    to.senders_max = to.senders;
    to.senders_frame = frame;
}

void SenderTable::forget_most(SenderWindow& to) {
    settle(to);
    to.last_sender = no_entry;
    to.senders_max = to.senders_frame = 0;
}

/// Adds to the list the frames that it does not include yet.
void SenderTable::settle(SenderWindow& window) {
    if (window.last_sender != no_entry) entries_[window.newest].last_ns = window.newest_ns;
}

void SenderTable::forget_before(SenderWindow& window, std::int64_t now_ns) {
    while (window.oldest != no_entry && base::elapsed(entries_[window.oldest].last_ns, now_ns) >= window_ns)
        remove(window.oldest);
}

/// The place where the pair is, or may be: the place is free afterwards.
std::uint32_t SenderTable::place_of(std::uint32_t source, std::uint32_t destination, const SenderWindow& to,
                                    std::int64_t time_ns) {
    std::uint64_t hash = (std::uint64_t{destination} << 32 | source) * base::golden;
    hash ^= hash >> 32;
    const auto first = static_cast<std::uint32_t>((hash & (sets - 1)) * ways);
    for (std::uint32_t place = first; place != first + ways; ++place)
        if (entries_[place].window == &to && entries_[place].sender == source) return place;
    // The entry whose time differs most is replaced: an hour in the future is a time from before the clock was set
    // back.
    std::uint32_t furthest = first;
    std::uint64_t distance = 0;
    for (std::uint32_t place = first; place != first + ways; ++place) {
        const Entry& entry = entries_[place];
        if (entry.window == nullptr) return place;
        const SenderWindow& window = *entry.window;
        const std::int64_t last_ns =
            window.newest == place && window.last_sender != no_entry ? window.newest_ns : entry.last_ns;
        const std::uint64_t away = base::elapsed(std::min(last_ns, time_ns), std::max(last_ns, time_ns));
        if (away < distance) continue;
        furthest = place;
        distance = away;
    }
    remove(furthest);
    return furthest;
}

/// Into the list, by time. False where that is too far away from its end: late frames must not cost more than others.
bool SenderTable::insert(std::uint32_t place, std::uint32_t source, SenderWindow& to, std::int64_t time_ns) {
    constexpr unsigned steps_max = 64;
    std::uint32_t older = to.newest;
    for (unsigned steps = 0; older != no_entry && entries_[older].last_ns > time_ns; older = entries_[older].older)
        if (++steps > steps_max) return false;
    entries_[place].window = &to;
    entries_[place].sender = source;
    link(place, older, to);
    ++to.senders;
    return true;
}

void SenderTable::remove(std::uint32_t place) {
    SenderWindow& window = *entries_[place].window;
    if (window.newest == place) window.last_sender = no_entry;
    unlink(place, window);
    --window.senders;
    entries_[place].window = nullptr;
}

/// Inserts after `older`, which may be none.
void SenderTable::link(std::uint32_t place, std::uint32_t older, SenderWindow& window) {
    Entry& entry = entries_[place];
    std::uint32_t& before = older != no_entry ? entries_[older].newer : window.oldest;
    entry.older = older;
    entry.newer = before;
    (entry.newer != no_entry ? entries_[entry.newer].older : window.newest) = place;
    before = place;
}

void SenderTable::unlink(std::uint32_t place, SenderWindow& window) {
    const Entry& entry = entries_[place];
    (entry.older != no_entry ? entries_[entry.older].newer : window.oldest) = entry.newer;
    (entry.newer != no_entry ? entries_[entry.newer].older : window.newest) = entry.older;
}

}  // namespace metrics::measure::hosts
