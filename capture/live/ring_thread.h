#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "capture/live/packet_ring.h"
#include "wire/frame.h"

namespace capture::inline live {

/// Frames of one ring, with their bytes.
struct Parcel {
    std::vector<wire::Frame> frames = {};
    std::vector<std::byte> bytes = {};
    std::int64_t taken_ns = 0;  ///< steady clock: all frames had arrived by then
    std::size_t next = 0;       ///< the first frame that is not delivered yet

    bool done() const { return next == frames.size(); }
    const wire::Frame& head() const { return frames[next]; }
};

/// Readers ring it when they have something.
class Bell {
public:
    /// Call this before the first of the others; a bell that is open stays as it is.
    base::Result<void> open();
    void ring();
    /// Whether it rang since it was silenced.
    bool rings() const { return rung_.load(std::memory_order_acquire); }
    void silence();
    int descriptor() const { return event_.number(); }

private:
    base::Descriptor event_ = {};
    std::atomic<bool> rung_ = false;
};

/// A ring with a thread of its own, which copies the frames out and gives the room back to the kernel at once. All
/// members except start() and the destructor may be called while the thread runs, by one other thread.
class RingThread {
public:
    /// At most about `room_bytes` of frames wait to be taken; of more, the ring itself holds what it has room for.
    RingThread(std::unique_ptr<PacketRing> ring, std::uint64_t room_bytes, Bell& bell);
    ~RingThread();
    RingThread(const RingThread&) = delete;
    RingThread& operator=(const RingThread&) = delete;

    /// Starts the thread, with the rights and system calls of the caller and without its signals.
    void start();
    bool started() const { return thread_.joinable(); }

    /// What has arrived, oldest first. Returns whether there was something.
    bool take(std::deque<std::unique_ptr<Parcel>>& out);
    void give_back(std::unique_ptr<Parcel> parcel);
    /// Whether nothing waits, neither here nor in the ring as far as the kernel has handed frames over.
    bool is_quiet();
    /// The interface is gone, and everything was taken.
    bool has_ended() const { return ended_.load(std::memory_order_acquire); }
    /// Of the thread, so far.
    std::int64_t cpu_ns();

    /// The ring, for as long as the thread does not use it.
    template <class Use>
    decltype(auto) with_ring(Use&& use) {
        const std::lock_guard lock(ring_mutex_);
        return use(*ring_);
    }

private:
    void run();
    bool wait_for_room();
    bool read();
    void wait_for_frames();
    std::unique_ptr<Parcel> empty_parcel();

    std::mutex ring_mutex_ = {};  ///< taken before queue_mutex_
    std::unique_ptr<PacketRing> ring_;
    std::mutex queue_mutex_ = {};
    std::condition_variable room_ = {};
    std::deque<std::unique_ptr<Parcel>> full_ = {};
    std::vector<std::unique_ptr<Parcel>> empty_ = {};
    std::uint64_t held_bytes_ = 0;  ///< of parcels that were not given back
    std::uint64_t room_bytes_;
    Bell& bell_;
    base::Descriptor stop_ = {};  ///< of the thread
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> ended_ = false;
    std::vector<wire::Frame> batch_ = {};
    std::thread thread_ = {};
};

}  // namespace capture::live
