#include "replay/impair/frame_line.h"

#include <algorithm>
#include <utility>

#include "replay/impair/mark.h"

namespace replay::inline impair {
namespace {

constexpr unsigned most_passes = 3;
constexpr std::size_t spare_frames = 1024;

}  // namespace

FrameLine::FrameLine(const ImpairmentSettings& settings)
    : settings_(settings),
      loss_(settings.seed, 1),
      duplicate_(settings.seed, 2),
      corrupt_(settings.seed, 3),
      place_(settings.seed, 4),
      mark_(settings.seed, 5),
      jitter_(settings.seed, 6),
      reorder_(settings.seed, 7),
      distance_(settings.seed, 8),
      pace_(settings.bits_per_sec) {}

void FrameLine::put(base::Bytes octets, const FramePlaces& places, std::int64_t now_ns) {
    const std::uint64_t number = ++counters_.frames;
    // Every frame draws for everything, so that one impairment's draws do not depend on another's.
    const bool lost = loss_.chance(settings_.loss);
    const bool marked = mark_.chance(settings_.mark);
    const bool corrupted = corrupt_.chance(settings_.corrupt);
    const bool duplicated = duplicate_.chance(settings_.duplicate);
    const bool held = reorder_.chance(settings_.reorder);
    if (lost) {
        ++counters_.lost;
        return;
    }
    Waiting frame = copy_of(octets, number);
    if (marked) mark(frame.octets, places);
    if (corrupted) corrupt(frame.octets, places);
    if (!duplicated) return schedule(std::move(frame), now_ns, held);
    ++counters_.duplicated;
    Waiting copy = copy_of(frame.octets, number);
    schedule(std::move(frame), now_ns, held);
    schedule(std::move(copy), now_ns, false);
}

FrameLine::Waiting FrameLine::copy_of(base::Bytes octets, std::uint64_t number) {
    Waiting frame;
    frame.number = number;
    if (!spare_.empty()) {
        frame.octets = std::move(spare_.back());
        spare_.pop_back();
    }
    frame.octets.assign(octets.begin(), octets.end());
    waiting_octets_ += octets.size();
    return frame;
}

void FrameLine::mark(std::vector<std::byte>& octets, const FramePlaces& places) {
    Marking done = Marking::no_ip;
    if (places.network && *places.network < octets.size())
        done = mark_congestion(base::MutableBytes{octets}.subspan(*places.network));
    if (done == Marking::marked)
        ++counters_.marked;
    else if (done != Marking::already)
        ++counters_.not_markable;
}

void FrameLine::corrupt(std::vector<std::byte>& octets, const FramePlaces& places) {
    if (places.link_octets >= octets.size()) return;
    const std::uint64_t bit = place_.up_to((octets.size() - places.link_octets) * 8 - 1);
    octets[places.link_octets + bit / 8] ^= std::byte{1} << (bit % 8);
    ++counters_.corrupted;
}

void FrameLine::schedule(Waiting frame, std::int64_t now_ns, bool hold) {
    frame.leaves_ns = pace_.pass(frame.octets.size(), now_ns) + static_cast<std::int64_t>(settings_.delay_ns);
    if (settings_.jitter_ns != 0) frame.leaves_ns += static_cast<std::int64_t>(jitter_.up_to(settings_.jitter_ns));
    frame.leaves_ns = std::max(frame.leaves_ns, last_leaves_ns_);
    if (hold) {
        frame.passes_wanted = 1 + static_cast<unsigned>(distance_.up_to(most_passes - 1));
        held_.push_back(std::move(frame));
        return;
    }
    last_leaves_ns_ = frame.leaves_ns;
    // Those that have waited long enough by then leave before it.
    release_held(frame.leaves_ns);
    const std::int64_t leaves_ns = frame.leaves_ns;
    queue(std::move(frame));
    overtake(leaves_ns);
}

void FrameLine::queue(Waiting frame) {
    frame.order = order_++;
    counters_.reordered += frame.overtaken ? 1 : 0;
    queue_.push_back(std::move(frame));
    std::push_heap(queue_.begin(), queue_.end(), later);
}

/// Releases the held frames whose time was up before `by_ns`, at that time.
void FrameLine::release_held(std::int64_t by_ns) {
    for (std::size_t i = 0; i < held_.size();) {
        if (held_[i].leaves_ns > by_ns - longest_hold_ns) {
            ++i;
            continue;
        }
        held_[i].leaves_ns += longest_hold_ns;
        queue(std::move(held_[i]));
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// One frame leaves at `at_ns`: those held that waited for this one only follow right after.
void FrameLine::overtake(std::int64_t at_ns) {
    for (std::size_t i = 0; i < held_.size();) {
        held_[i].overtaken = true;
        if (--held_[i].passes_wanted != 0) {
            ++i;
            continue;
        }
        held_[i].leaves_ns = std::max(held_[i].leaves_ns, at_ns);
        queue(std::move(held_[i]));
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void FrameLine::end() {
    for (Waiting& frame : held_) {
        frame.leaves_ns = std::max(frame.leaves_ns, last_leaves_ns_);
        queue(std::move(frame));
    }
    held_.clear();
}

std::optional<std::int64_t> FrameLine::next_ns() const {
    std::optional<std::int64_t> next;
    if (!queue_.empty()) next = queue_.front().leaves_ns;
    for (const Waiting& frame : held_) next = std::min(next.value_or(INT64_MAX), frame.leaves_ns + longest_hold_ns);
    return next;
}

std::optional<FrameLine::Leaving> FrameLine::take(std::int64_t now_ns) {
    release_held(now_ns);
    if (queue_.empty() || queue_.front().leaves_ns > now_ns) return std::nullopt;
    recycle(std::move(leaving_));
    std::pop_heap(queue_.begin(), queue_.end(), later);
    Waiting frame = std::move(queue_.back());
    queue_.pop_back();
    waiting_octets_ -= frame.octets.size();
    leaving_ = std::move(frame.octets);
    ++counters_.left;
    return Leaving{frame.leaves_ns, frame.number, leaving_};
}

void FrameLine::recycle(std::vector<std::byte> octets) {
    if (octets.capacity() != 0 && spare_.size() < spare_frames) spare_.push_back(std::move(octets));
}

}  // namespace replay::impair
