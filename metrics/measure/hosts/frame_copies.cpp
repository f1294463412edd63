#include "metrics/measure/hosts/frame_copies.h"

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"

namespace metrics::inline measure::inline hosts {

namespace {

/// Packets that are remembered: 6 MiB, and up to 48 MiB where copies come after more packets than that. 2 million are
/// 100 ms at 20 million packets a second.
constexpr std::size_t places_first = std::size_t{1} << 18;
constexpr std::size_t places_most = std::size_t{1} << 21;
constexpr std::size_t places_in_set = 4;
/// A repeat of TCP or of a queue pair can take the same identification after 65,536 packets, not sooner than this.
constexpr std::uint64_t copy_within_ns = 1'000'000'000;
/// Timers of adapters are half a millisecond and more: what comes sooner, of each packet, is no repeat.
constexpr std::uint64_t sooner_than_timers_ns = 500'000;
constexpr std::uint32_t copies_that_decide = 8;
constexpr double nearly_all = 0.9;

std::uint64_t distance_of(std::int64_t one_ns, std::int64_t other_ns) {
    return base::elapsed(std::min(one_ns, other_ns), std::max(one_ns, other_ns));
}

bool is_share(std::size_t part, std::size_t whole, double share) {
    return static_cast<double>(part) >= share * static_cast<double>(whole);
}

/// A packet, and how often it was there.
struct LearntPacket {
    std::int64_t time_ns = 0;
    std::uint64_t lag_ns = 0;  ///< of the second one
    std::uint32_t times = 1;
    std::uint16_t identification = 0;
    std::uint16_t place = 0;
    bool elsewhere = false;  ///< one of them
};

/// The packets of one direction between two hosts.
struct LearntDirection {
    std::vector<LearntPacket> packets;

    // What the packets show; see judge().
    std::size_t eligible = 0;  ///< packets whose copy would have been among the frames
    std::size_t again = 0;     ///< of these, those that were there again
    std::size_t elsewhere = 0;
    std::size_t soon = 0;
    std::uint32_t times = 0;
    std::size_t even = 0;  ///< those that were there `times` times
    bool numbered = false;

    bool all_again() const { return again > 0 && is_share(again, eligible, nearly_all); }
    bool all_elsewhere() const { return again > 0 && is_share(elsewhere, again, nearly_all); }
    bool is_even() const { return times > 1 && is_share(even, eligible, nearly_all); }
    bool all_soon() const { return is_share(soon, again, nearly_all); }

    void judge(std::uint64_t lag_ns, std::int64_t end_ns);
};

void LearntDirection::judge(std::uint64_t lag_ns, std::int64_t end_ns) {
    std::array<std::size_t, 9> by_times{};
    std::size_t identified = 0;
    std::uint16_t last = 0;
    for (const LearntPacket& packet : packets) {
        identified += packet.identification != 0 && packet.identification != last;
        last = packet.identification;
        if (packet.times == 1 && (packet.time_ns >= end_ns || base::elapsed(packet.time_ns, end_ns) < lag_ns)) continue;
        ++eligible;
        again += packet.times > 1;
        elsewhere += packet.elsewhere;
        soon += packet.times > 1 && packet.lag_ns < sooner_than_timers_ns;
        ++by_times[std::min<std::size_t>(packet.times, by_times.size() - 1)];
    }
    numbered = is_share(identified, packets.size(), 0.75);
    const auto most = std::max_element(by_times.begin(), by_times.end());
    times = static_cast<std::uint32_t>(most - by_times.begin());
    even = *most;
}

struct LearntPair {
    std::array<LearntDirection, 2> directions;

    std::uint64_t usual_lag_ns() const {
        std::vector<std::uint64_t> lags;
        for (const LearntDirection& direction : directions)
            for (const LearntPacket& packet : direction.packets)
                if (packet.times > 1) lags.push_back(packet.lag_ns);
        if (lags.empty()) return 0;
        const auto place = lags.begin() + static_cast<std::ptrdiff_t>(lags.size() * 19 / 20);
        std::nth_element(lags.begin(), place, lags.end());
        return *place;
    }
};

/// Whether what came again in a direction is the capture's doing; `both`: so it is in the other direction.
bool is_copied(const LearntDirection& direction, bool both) {
    if (!direction.all_again()) return false;
    if (direction.all_elsewhere()) return direction.numbered || direction.is_even();
    if (direction.numbered) return both;
    return both && direction.is_even() && direction.all_soon();
}

bool is_copied(const LearntPair& pair) {
    const auto& [one, other] = pair.directions;
    if (one.again + other.again < copies_that_decide) return false;
    const bool both = (one.eligible == 0 || one.all_again()) && (other.eligible == 0 || other.all_again());
    const bool one_way = one.eligible == 0 || other.eligible == 0;
    // One direction alone, not numbered: that may be a sender that is not answered.
    if (one_way && !(one.numbered && other.numbered) && !one.all_elsewhere() && !other.all_elsewhere()) return false;
    return is_copied(one, both) || is_copied(other, both);
}

/// The first of the places that a packet may have in a table of that size.
std::size_t set_of(std::uint64_t packet, std::size_t places) {
    return (base::spread(packet) >> 32 & (places / places_in_set - 1)) * places_in_set;
}

using LearntPairs = std::unordered_map<std::uint32_t, LearntPair>;

LearntPairs sort_out(std::span<const FramePrint> prints) {
    struct Place {
        LearntDirection* direction;
        std::size_t index;
    };
    LearntPairs pairs;
    std::unordered_map<std::uint64_t, Place> met;
    for (const FramePrint& print : prints) {
        LearntDirection& direction = pairs[print.pair].directions[print.forward];
        const auto found = met.find(print.packet);
        if (found != met.end()) {
            LearntPacket& packet = found->second.direction->packets[found->second.index];
            const std::uint64_t lag_ns = distance_of(packet.time_ns, print.time_ns);
            if (lag_ns <= copy_within_ns) {
                if (++packet.times == 2) packet.lag_ns = lag_ns;
                packet.elsewhere = packet.elsewhere || packet.place != print.place;
                continue;
            }
        }
        met.insert_or_assign(print.packet, Place{&direction, direction.packets.size()});
        LearntPacket packet;
        packet.time_ns = print.time_ns;
        packet.identification = print.identification;
        packet.place = print.place;
        direction.packets.push_back(packet);
    }
    return pairs;
}

}  // namespace

void FrameCopies::learn(std::span<const FramePrint> prints) {
    if (on_ || prints.empty()) return;
    const std::int64_t end_ns =
        std::max_element(prints.begin(), prints.end(), [](const FramePrint& a, const FramePrint& b) {
            return a.time_ns < b.time_ns;
        })->time_ns;
    LearntPairs learnt = sort_out(prints);
    bool all = true;
    bool any = false;
    for (auto& [key, pair] : learnt) {
        const std::uint64_t lag_ns = pair.usual_lag_ns();
        for (LearntDirection& direction : pair.directions) direction.judge(lag_ns, end_ns);
        const auto& [one, other] = pair.directions;
        Pair& known = pairs_[key];
        known.copied = is_copied(pair);
        known.numbered = {one.numbered, other.numbered};
        any = any || known.copied;
        if (known.copied) {
            known.times = one.again >= other.again ? one.times : other.times;
            others_.times = std::max(others_.times, known.times);
        } else if (one.eligible + other.eligible >= copies_that_decide) {
            all = false;
        } else {
            known = Pair{};  // too little to decide; like the others
            known.times = 0;
        }
    }
    if (!all) others_.times = 0;
    if (any)
        turn_on();
    else
        pairs_.clear();
}

void FrameCopies::turn_on() {
    on_ = true;
    met_.resize(places_first);
    watched_frames_ = {};
}

/// The place where the packet is remembered, or may be: the oldest of a few places is replaced.
FrameCopies::Met& FrameCopies::place_of(const FramePrint& print) {
    Met* const set = &met_[set_of(print.packet, met_.size())];
    Met* oldest = set;
    for (std::size_t i = 0; i < places_in_set; ++i) {
        if (set[i].times != 0 && set[i].packet == print.packet) return set[i];
        if (set[i].times == 0 || (oldest->times != 0 && set[i].time_ns < oldest->time_ns)) oldest = &set[i];
    }
    if (oldest->times != 0 && is_short_of_places(*oldest, print)) [[unlikely]] {
        grow();
        return place_of(print);
    }
    oldest->times = 0;
    return *oldest;
}

/// The packet to be replaced may still get a copy, at the distance of the copies so far.
bool FrameCopies::is_short_of_places(const Met& given_up, const FramePrint& print) const {
    if (met_.size() >= places_most || given_up.times > 1) return false;
    return distance_of(given_up.time_ns, print.time_ns) < lag_ns_.value_or(copy_within_ns);
}

void FrameCopies::grow() {
    std::vector<Met> larger(met_.size() * 2);
    for (const Met& met : met_) {
        if (met.times == 0) continue;
        Met* const set = &larger[set_of(met.packet, larger.size())];
        const auto unused = std::find_if(set, set + places_in_set, [](const Met& place) { return place.times == 0; });
        if (unused != set + places_in_set) *unused = met;
    }
    met_ = std::move(larger);
}

bool FrameCopies::is_copy(const FramePrint& print) {
    const auto known = pairs_.find(print.pair);
    const Pair& pair = known == pairs_.end() ? others_ : known->second;
    if (!pair.copied) return false;
    Met& met = place_of(print);
    const std::uint64_t distance = distance_of(met.time_ns, print.time_ns);
    const bool again = met.times != 0 && distance <= copy_within_ns;
    const bool numbered = print.identification != 0 && pair.numbered[print.forward];
    if (again && (numbered || (pair.times > 1 && met.times % pair.times != 0))) {
        ++met.times;
        ++copies_;
        elsewhere_ += met.place != print.place;
        distance_ns_.record(distance);
        lag_ns_ = distance;
        return true;
    }
    met = {print.packet, print.time_ns, 1, print.place};
    return false;
}

void FrameCopies::watch(const FramePrint& print) {
    // One frame in sixteen is watched: 2 million frames pass before a place is used again, 100 ms at 20 million a
    // second.
    constexpr std::size_t places = std::size_t{1} << 17;
    constexpr std::uint32_t frames_enough = 256;
    if (watched_frames_.empty()) watched_frames_.resize(places);
    Seen& place = watched_frames_[base::spread(print.packet) >> 32 & (places - 1)];
    Watched& direction = watched_[print.forward];
    if (place.packet == print.packet && distance_of(place.time_ns, print.time_ns) <= copy_within_ns) {
        ++direction.again;
    } else {
        ++direction.firsts;
        direction.numbered += direction.identification != print.identification;
        direction.identification = print.identification;
        place = {print.packet, print.time_ns};
    }
    if (++watched_count_ == frames_enough) judge_watched();
}

void FrameCopies::judge_watched() {
    // The copies of the last ones are still to come, and those of the first belong to frames before.
    constexpr double many = 0.8;
    bool copied = true;
    for (const Watched& direction : watched_) {
        if (direction.firsts + direction.again == 0) continue;
        copied = copied && is_share(direction.again, direction.firsts, many) &&
                 is_share(direction.numbered, direction.firsts, 0.75);
    }
    if (copied) turn_on();
    watched_ = {};
    watched_count_ = 0;
}

std::size_t FrameCopies::octets() const {
    return met_.capacity() * sizeof(Met) + watched_frames_.capacity() * sizeof(Seen) +
           pairs_.size() * (sizeof(Pair) + 4 * sizeof(void*)) +
           distance_ns_.buckets().capacity() * sizeof(Histogram::Bucket);
}

}  // namespace metrics::measure::hosts
