#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/live/packet_ring.h"
#include "capture/live/ring_thread.h"

namespace capture::inline live {

/// The number of rings of an interface.
struct RingCount {
    unsigned first = 1;  ///< at the beginning
    unsigned most = 1;   ///< more than `first`: as the load demands
};

/// The frames of one interface, by one ring or by several. Several rings share the frames by the pair of hosts
/// (filter/pair_fanout.h), and each has a thread that empties it. Here their frames are put back into the order of
/// time, so that what is measured does not depend on the number of rings.
///
/// A frame waits until every other ring has a later one, or has had nothing for longer than the kernel holds frames
/// back: some 40 ms at the most. Not a Source: Tap has one of these for each interface.
class RingGroup {
public:
    static base::Result<std::unique_ptr<RingGroup>> open(const PacketRingOptions& options, RingCount count);

    /// As PacketRing::next_batch. The first call starts the threads.
    Batch next_batch(std::span<wire::Frame> frames);
    /// Whether next_batch has something to deliver.
    bool ready() const;
    /// When there will be something to deliver without a sign at the descriptor, by the steady clock.
    std::optional<std::int64_t> due_ns() const { return due_ns_; }
    int descriptor() const;
    bool ending() const;
    int interface_index() const;
    const InterfaceInfo& info() const { return info_; }
    bool hardware_timestamps() const;
    const std::vector<std::string>& warnings() const { return warnings_; }
    Statistics statistics() const;
    std::size_t rings() const { return lanes_.size(); }
    /// Of the threads, so far.
    std::int64_t cpu_ns() const;

    base::Result<void> set_filter(const std::string& expression);
    base::Result<void> set_filter(const RdmaFilter& filter);
    base::Result<void> set_snaplen(std::uint32_t snaplen);
    /// Doubles the number of rings, up to the most, if one is more than half full or has lost frames since the last
    /// call. Returns what happened, for the log; no value: nothing.
    std::optional<base::Result<std::size_t>> grow_if_loaded();

private:
    struct Lane {
        std::unique_ptr<RingThread> thread = {};
        std::deque<std::unique_ptr<Parcel>> parcels = {};
        std::int64_t quiet_ns = 0;  ///< steady clock: nothing waited then
        const wire::Frame* head() const { return parcels.empty() ? nullptr : &parcels.front()->head(); }
    };
    struct First {
        Lane* lane = nullptr;
        std::int64_t until_ns = 0;  ///< frames of the lane up to this time come before those of the others
    };

    RingGroup(const PacketRingOptions& options, RingCount count);
    base::Result<void> add_ring();
    base::Result<void> grow_to(std::size_t rings);
    bool is_threaded() const { return lanes_.size() > 1; }
    bool all_started() const;
    void collect();
    First first_lane();
    bool others_are_later(const Parcel& parcel) const;
    std::size_t merge(std::span<wire::Frame> frames);
    void give_back_used();
    template <class Set>
    base::Result<void> set_all(Set&& set);

    PacketRingOptions options_;
    RingCount count_;
    std::int64_t hold_ns_;
    InterfaceInfo info_ = {};
    std::vector<std::string> warnings_ = {};
    std::unique_ptr<Bell> bell_ = {};
    std::vector<Lane> lanes_ = {};
    std::vector<std::pair<RingThread*, std::unique_ptr<Parcel>>> used_ = {};  ///< by frames of the last call
    bool more_ = false;                                                       ///< the last call had no room for all
    std::optional<std::int64_t> due_ns_ = {};
    std::uint64_t dropped_ = 0;
    std::uint64_t frames_ = 0;
};

}  // namespace capture::live
