#include "metrics/measure/hosts/repeated_frames.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"

namespace metrics::inline measure::inline hosts {

namespace {

constexpr std::uint64_t near_ns = 1'000'000'000;
constexpr std::uint64_t half_ns = near_ns / 2;

bool near(std::int64_t one_ns, std::int64_t other_ns) {
    return base::elapsed(std::min(one_ns, other_ns), std::max(one_ns, other_ns)) <= near_ns;
}
/// Adds one, up to the largest value of the type.
void count_up(std::uint16_t& count) { count += count != std::numeric_limits<std::uint16_t>::max(); }

}  // namespace

bool RepeatedFrames::note_on_another(const Marks& marks, std::uint64_t interface, std::int64_t time_ns) {
    if (next_ == 0) {
        only_interface_ = interface;
        note_on_only(marks, interface, time_ns);
        return false;
    }
    if (ring_.empty()) begin();
    return met(hash_of(marks), name_of(interface), time_ns);
}

void RepeatedFrames::expect_others() {
    if (!ring_.empty() || recent_.size() == recent_expecting) return;
    std::vector<Recent> more(recent_expecting);
    for (std::size_t i = next_ - std::min(next_, recent_.size()); i != next_; ++i)
        more[i & (more.size() - 1)] = recent_[i & recent_mask_];
    recent_ = std::move(more);
    recent_mask_ = recent_.size() - 1;
}

std::size_t RepeatedFrames::octets() const {
    return sizeof *this + recent_.capacity() * sizeof(Recent) + ring_.capacity() * sizeof(Passing) +
           heads_.capacity() * sizeof(std::uint32_t);
}

std::uint64_t RepeatedFrames::hash_of(const Marks& marks) {
    std::uint64_t hash = 0;
    for (const std::uint64_t value : {marks.addresses, marks.first, marks.second}) hash = base::mix(hash, value);
    return hash | (hash == 0);
}

/// Interfaces are numbered from 0, or have an index of the kernel in the upper half: either way, names differ.
std::uint32_t RepeatedFrames::name_of(std::uint64_t interface) {
    const auto name = static_cast<std::uint32_t>((interface + 1) * base::golden >> 32);
    return name | (name == 0);
}

void RepeatedFrames::begin() {
    ring_.resize(size_at_first);
    heads_.resize(size_at_first);
    for (std::size_t i = next_ - std::min(next_, recent_.size()); i != next_; ++i) {
        const Recent& recent = recent_[i & recent_mask_];
        met(hash_of(recent.marks), name_of(only_interface_), recent.time_ns);
    }
    only_interface_ = none;
    recent_ = std::vector<Recent>(1);
    recent_mask_ = 0;
}

bool RepeatedFrames::met(std::uint64_t fingerprint, std::uint32_t interface, std::int64_t time_ns) {
    Passing* const known = find(fingerprint);
    if (known != nullptr && known->renew(time_ns)) {
        if (!known->pass(interface)) return true;
        // A flow of equal frames must not be overwritten as old; but its chain would consist of it alone if it moved
        // every time.
        const std::size_t age = (place_ - 1 - static_cast<std::size_t>(known - ring_.data())) & mask();
        if (age < ring_.size() / 2) return false;
        const Passing moved = *known;
        known->fingerprint = 0;
        append(moved, time_ns);
        return false;
    }
    if (known != nullptr) known->fingerprint = 0;
    Passing fresh;
    fresh.fingerprint = fingerprint;
    fresh.since_ns = time_ns;
    fresh.passages = 1;
    fresh.interfaces[0] = interface;
    append(fresh, time_ns);
    return false;
}

/// Forgets what passed too long ago, by half seconds. False where nothing is left.
bool RepeatedFrames::Passing::renew(std::int64_t now_ns) {
    if (!near(since_ns, now_ns)) return false;
    if (now_ns < since_ns || base::elapsed(since_ns, now_ns) <= half_ns) return true;
    earlier = passages;
    passages = 0;
    since_ns += static_cast<std::int64_t>(half_ns);
    for (std::uint16_t& each : behind) each = std::min(each, earlier);
    return earlier != 0;
}

/// False where one of those that passed elsewhere had yet to pass here. An interface beyond those that there is room
/// for is taken to have met none.
bool RepeatedFrames::Passing::pass(std::uint32_t interface) {
    unsigned place = 0;
    while (place < interfaces_max && interfaces[place] != interface && interfaces[place] != 0) ++place;
    if (place == interfaces_max) return false;
    if (interfaces[place] == 0) {
        interfaces[place] = interface;
        const unsigned all = unsigned{passages} + earlier;
        behind[place] = static_cast<std::uint16_t>(std::min(all, unsigned{std::numeric_limits<std::uint16_t>::max()}));
    }
    if (behind[place] != 0) {
        --behind[place];
        return false;
    }
    count_up(passages);
    for (unsigned other = 0; other < interfaces_max && interfaces[other] != 0; ++other)
        if (other != place) count_up(behind[other]);
    return true;
}

RepeatedFrames::Passing* RepeatedFrames::find(std::uint64_t fingerprint) {
    // By chance no chain is this long; a chain that was made on purpose costs no more than this.
    constexpr unsigned looks_max = 32;
    std::uint32_t distance = place_ - head_of(fingerprint);
    for (unsigned looks = 0; looks < looks_max && distance - 1 < ring_.size(); ++looks) {
        Passing& passing = ring_[(place_ - distance) & mask()];
        if (passing.fingerprint == fingerprint) return &passing;
        if (passing.back == 0) break;
        distance += passing.back;
    }
    return nullptr;
}

void RepeatedFrames::append(const Passing& passing, std::int64_t now_ns) {
    const Passing& oldest = ring_[place_ & mask()];
    if (oldest.fingerprint != 0 && ring_.size() < frames_max && near(oldest.since_ns, now_ns)) grow();
    std::uint32_t& head = head_of(passing.fingerprint);
    Passing& added = ring_[place_ & mask()];
    const std::uint32_t back = place_ - head;
    added = passing;
    added.back = back < ring_.size() ? back : 0;
    head = place_++;
}

void RepeatedFrames::grow() {
    const std::vector<Passing> old = std::exchange(ring_, std::vector<Passing>(ring_.size() * 2));
    heads_.assign(ring_.size(), 0);
    const std::uint32_t oldest = std::exchange(place_, 0);
    for (std::size_t i = 0; i < old.size(); ++i) {
        const Passing& passing = old[(oldest + i) & (old.size() - 1)];
        if (passing.fingerprint != 0) append(passing, passing.since_ns);
    }
}

}  // namespace metrics::measure::hosts
