#include "metrics/measure/hosts/pause_timers.h"

#include <algorithm>

#include "base/clock.h"

namespace metrics::inline measure::inline hosts {

std::uint64_t PauseTimers::held_ns(std::uint64_t ns, std::uint16_t quanta, std::uint64_t bits_per_sec) {
    constexpr std::uint64_t quantum = 512'000'000'000;  // bit times of a nanosecond at 1 bit/s
    return std::min(ns, quanta * quantum / bits_per_sec);
}

void PauseTimers::end(Timer& timer, std::size_t place, std::int64_t now_ns, std::uint64_t bits_per_sec) {
    if (timer.quanta == 0) return;
    const std::uint64_t ns = base::elapsed(timer.since_ns, now_ns);
    if (bits_per_sec != 0)
        ended_[place] += held_ns(ns, timer.quanta, bits_per_sec);
    else if (held_.size() < max_held)
        held_.push_back({ns, timer.quanta, static_cast<std::uint8_t>(place)});
    else
        lost_ = true;
    timer = {};
}

PauseTimers::Sender& PauseTimers::sender_of(std::uint64_t address, std::int64_t now_ns, std::uint64_t bits_per_sec) {
    const auto known = std::ranges::find(senders_, address, &Sender::address);
    if (known != senders_.end()) return *known;
    if (senders_.size() < max_senders) return senders_.emplace_back(Sender{address, now_ns, {}});
    Sender& idlest = *std::ranges::min_element(senders_, {}, &Sender::last_ns);
    for (std::size_t place = 0; place < places; ++place) end(idlest.timers[place], place, now_ns, bits_per_sec);
    idlest = {address, now_ns, {}};
    return idlest;
}

void PauseTimers::note(std::uint64_t sender, std::size_t place, std::uint16_t quanta, std::int64_t now_ns,
                       std::uint64_t bits_per_sec) {
    if (bits_per_sec != 0 && !held_.empty()) {
        for (const Held& held : held_) ended_[held.place] += held_ns(held.ns, held.quanta, bits_per_sec);
        held_ = {};
    }
    Sender& from = sender_of(sender, now_ns, bits_per_sec);
    from.last_ns = now_ns;
    end(from.timers[place], place, now_ns, bits_per_sec);
    from.timers[place] = {now_ns, quanta};
}

std::optional<PauseTimers::Times> PauseTimers::stopped(std::int64_t now_ns, std::uint64_t bits_per_sec) const {
    if (bits_per_sec == 0 || lost_) return std::nullopt;
    Times times = ended_;
    for (const Held& held : held_) times[held.place] += held_ns(held.ns, held.quanta, bits_per_sec);
    for (const Sender& sender : senders_)
        for (std::size_t place = 0; place < places; ++place) {
            const Timer& timer = sender.timers[place];
            times[place] += held_ns(base::elapsed(timer.since_ns, now_ns), timer.quanta, bits_per_sec);
        }
    return times;
}

std::size_t PauseTimers::octets() const {
    return senders_.capacity() * sizeof(Sender) + held_.capacity() * sizeof(Held);
}

}  // namespace metrics::measure::hosts
