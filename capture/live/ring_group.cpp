#include "capture/live/ring_group.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/clock.h"

namespace capture::inline live {
namespace {

constexpr std::int64_t ns_of_ms = 1'000'000;
/// What the kernel's timers and the turns of the processors add to the time for which a block is held back.
constexpr std::int64_t hold_slack_ms = 15;
/// While one ring has nothing, frames of the others wait for its block: a short time of holding back keeps that short.
constexpr std::uint32_t block_timeout_of_several_ms = 10;

PacketRingOptions ring_of_several(PacketRingOptions options) {
    options.block_timeout_ms = std::min(options.block_timeout_ms, block_timeout_of_several_ms);
    options.fanout.emplace();
    return options;
}

}  // namespace

RingGroup::RingGroup(const PacketRingOptions& options, RingCount count)
    : options_(count.most > 1 ? ring_of_several(options) : options),
      count_(count),
      hold_ns_((std::max(options_.block_timeout_ms, 1U) + hold_slack_ms) * ns_of_ms),
      bell_(std::make_unique<Bell>()) {}

base::Result<std::unique_ptr<RingGroup>> RingGroup::open(const PacketRingOptions& options, RingCount count) {
    count.first = std::max(count.first, 1U);
    count.most = std::max(count.most, count.first);
    std::unique_ptr<RingGroup> group(new RingGroup(options, count));
    const auto grown = group->grow_to(count.first);
    if (group->lanes_.empty()) return base::Failure{grown.error()};
    if (!grown)
        group->warnings_.push_back(
            fmt::format("{} of {} capture threads: {}", group->lanes_.size(), count.first, grown.error().message));
    return group;
}

base::Result<void> RingGroup::add_ring() {
    if (!lanes_.empty())
        if (auto bell = bell_->open(); !bell) return bell;
    auto opened = PacketRing::open(options_);
    if (!opened) return base::Failure{opened.error()};
    PacketRing& ring = **opened;
    if (lanes_.empty()) {
        info_ = ring.interfaces().front();
        warnings_ = ring.warnings();
        if (options_.fanout) options_.fanout->group = ring.fanout_group();
    } else if (ring.hardware_timestamps() != hardware_timestamps()) {
        return base::Failure{base::Error{.message = "a further ring would have another clock; set capture.threads to a "
                                                    "number, and all rings are opened at the beginning",
                                         .path = options_.interface}};
    }
    lanes_.push_back(
        {.thread = std::make_unique<RingThread>(std::move(opened).value(), options_.buffer_octets, *bell_)});
    return {};
}

/// Rings that cannot be had are no loss: those that there are go on.
base::Result<void> RingGroup::grow_to(std::size_t rings) {
    base::Result<void> added;
    while (lanes_.size() < rings && added) added = add_ring();
    if (lanes_.empty()) return added;
    if (lanes_.size() > 1)
        if (auto dealt = lanes_.front().thread->with_ring(
                [&](PacketRing& ring) { return ring.deal_to(static_cast<unsigned>(lanes_.size())); });
            !dealt)
            return dealt;
    return added;
}

bool RingGroup::all_started() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.thread->started(); });
}

bool RingGroup::ready() const {
    if (!is_threaded()) return lanes_.front().thread->with_ring([](const PacketRing& ring) { return ring.ready(); });
    if (more_ || bell_->rings() || !all_started()) return true;
    return due_ns_ && base::steady_ns() >= *due_ns_;
}

int RingGroup::descriptor() const {
    if (is_threaded()) return bell_->descriptor();
    return lanes_.front().thread->with_ring([](const PacketRing& ring) { return ring.descriptor(); });
}

bool RingGroup::ending() const {
    if (is_threaded())
        return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.thread->has_ended(); });
    return lanes_.front().thread->with_ring([](const PacketRing& ring) { return ring.ending(); });
}

int RingGroup::interface_index() const {
    return lanes_.front().thread->with_ring([](const PacketRing& ring) { return ring.interface_index(); });
}

bool RingGroup::hardware_timestamps() const {
    return lanes_.front().thread->with_ring([](const PacketRing& ring) { return ring.hardware_timestamps(); });
}

/// What the interface lost, each ring counts for itself.
Statistics RingGroup::statistics() const {
    Statistics sum;
    for (const Lane& lane : lanes_) {
        Statistics counted = lane.thread->with_ring([](const PacketRing& ring) { return ring.statistics(0); });
        if (&lane != &lanes_.front()) counted.interface_dropped.reset();
        sum += counted;
    }
    return sum;
}

std::int64_t RingGroup::cpu_ns() const {
    std::int64_t sum = 0;
    for (const Lane& lane : lanes_) sum += lane.thread->cpu_ns();
    return sum;
}

Batch RingGroup::next_batch(std::span<wire::Frame> frames) {
    if (frames.empty()) return {.status = ReadStatus::timeout};
    Batch batch;
    if (is_threaded()) {
        for (Lane& lane : lanes_)
            if (!lane.thread->started()) lane.thread->start();
        give_back_used();
        bell_->silence();
        collect();
        batch.count = merge(frames);
        if (batch.count == 0) batch.status = ending() ? ReadStatus::end : ReadStatus::timeout;
    } else {
        batch = lanes_.front().thread->with_ring([&](PacketRing& ring) { return ring.next_batch(frames); });
    }
    for (wire::Frame& frame : frames.first(batch.count)) frame.number = ++frames_;
    return batch;
}

void RingGroup::give_back_used() {
    for (auto& [thread, parcel] : used_) thread->give_back(std::move(parcel));
    used_.clear();
}

void RingGroup::collect() {
    for (Lane& lane : lanes_) {
        const bool ended = lane.thread->has_ended();  // asked first: then nothing comes after what is taken
        const std::int64_t now = base::steady_ns();
        if (lane.thread->take(lane.parcels) || !lane.parcels.empty()) continue;
        if (ended)
            lane.quiet_ns = base::end_of_time;
        else if (lane.thread->is_quiet())
            lane.quiet_ns = now;
    }
}

RingGroup::First RingGroup::first_lane() {
    First first{.until_ns = base::end_of_time};
    for (Lane& lane : lanes_) {
        const wire::Frame* const head = lane.head();
        if (head == nullptr) continue;
        if (first.lane == nullptr) {
            first.lane = &lane;
        } else if (head->time_ns < first.lane->head()->time_ns) {
            first.until_ns = std::min(first.until_ns, first.lane->head()->time_ns);
            first.lane = &lane;
        } else {
            first.until_ns = std::min(first.until_ns, head->time_ns);
        }
    }
    return first;
}

/// What lanes without frames may still get is later than all of these.
bool RingGroup::others_are_later(const Parcel& parcel) const {
    return std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
        return !lane.parcels.empty() || lane.quiet_ns - hold_ns_ >= parcel.taken_ns;
    });
}

std::size_t RingGroup::merge(std::span<wire::Frame> frames) {
    std::size_t count = 0;
    due_ns_.reset();
    while (count < frames.size()) {
        const First first = first_lane();
        if (first.lane == nullptr) break;
        Parcel& parcel = *first.lane->parcels.front();
        if (!others_are_later(parcel)) {
            due_ns_ = parcel.taken_ns + hold_ns_;
            break;
        }
        do {
            frames[count++] = parcel.frames[parcel.next++];
        } while (count < frames.size() && !parcel.done() && parcel.head().time_ns <= first.until_ns);
        if (!parcel.done()) continue;
        used_.emplace_back(first.lane->thread.get(), std::move(first.lane->parcels.front()));
        first.lane->parcels.pop_front();
    }
    more_ = count == frames.size();
    return count;
}

template <class Set>
base::Result<void> RingGroup::set_all(Set&& set) {
    for (const Lane& lane : lanes_)
        if (auto done = lane.thread->with_ring(set); !done) return done;
    info_ = lanes_.front().thread->with_ring([](const PacketRing& ring) { return ring.interfaces().front(); });
    return {};
}

base::Result<void> RingGroup::set_filter(const std::string& expression) {
    auto done = set_all([&](PacketRing& ring) { return ring.set_filter(expression); });
    if (!done) return done;
    options_.filter = expression;
    options_.rdma.reset();
    return {};
}

base::Result<void> RingGroup::set_filter(const RdmaFilter& filter) {
    auto done = set_all([&](PacketRing& ring) { return ring.set_filter(filter); });
    if (!done) return done;
    options_.filter.clear();
    options_.rdma = filter;
    return {};
}

base::Result<void> RingGroup::set_snaplen(std::uint32_t snaplen) {
    auto done = set_all([&](PacketRing& ring) { return ring.set_snaplen(snaplen); });
    if (done) options_.snaplen = snaplen;
    return done;
}

std::optional<base::Result<std::size_t>> RingGroup::grow_if_loaded() {
    if (lanes_.size() >= count_.most) return std::nullopt;
    const std::uint64_t dropped = statistics().kernel_dropped.value_or(0);
    const bool loses = dropped > std::exchange(dropped_, dropped);
    const bool loaded = loses || std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
                            return lane.thread->with_ring([](const PacketRing& ring) { return ring.half_full(); });
                        });
    if (!loaded) return std::nullopt;
    const auto grown = grow_to(std::min<std::size_t>(lanes_.size() * 2, count_.most));
    if (grown) return lanes_.size();
    count_.most = static_cast<unsigned>(lanes_.size());
    return base::Result<std::size_t>(base::Failure{grown.error()});
}

}  // namespace capture::live
