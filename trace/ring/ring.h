#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>

#include "trace/record.h"
#include "trace/ring/ring_layout.h"

namespace trace::inline ring {

/// A thread's part of its process's ring. A record costs a clock and one cache line.
class Lane {
public:
    /// Call it before the recorded work begins: readers wait for its records before they pass on later ones.
    void begin(std::int64_t now_ns) { busy().store(now_ns, std::memory_order_relaxed); }
    void end() { busy().store(0, std::memory_order_release); }

    /// The place of the next record, to be filled in and then published. Filling it in in place is three times as fast
    /// as copying a record whose small fields have just been written.
    Record& next() {
        // A reader that sees any of what is written now sees the count before it, and so knows that it is new.
        std::atomic_thread_fence(std::memory_order_release);
        return records_[next_ & mask_];
    }
    void publish() { std::atomic_ref<std::uint64_t>(header_->written).store(++next_, std::memory_order_release); }

    void put(const Record& record) {
        next() = record;
        publish();
    }

    std::uint32_t thread() const { return thread_; }
    std::uint64_t written() const { return next_; }

private:
    friend class Ring;
    std::atomic_ref<std::int64_t> busy() const { return std::atomic_ref<std::int64_t>(header_->busy_since_ns); }

    layout::LaneHeader* header_ = nullptr;
    Record* records_ = nullptr;  ///< no code in this process reads them: readers do, by pread(2)
    std::uint64_t mask_ = 0;
    std::uint64_t next_ = 0;
    std::uint32_t thread_ = 0;
    bool has_memory_ = false;
};

/// The ring of this process. For use inside traced programs: needs nothing but libc, throws nothing, and allocates
/// only memory of its own.
class Ring {
public:
    static constexpr std::uint32_t lanes = 64;
    static constexpr std::uint32_t usual_capacity = 1U << 16;

    constexpr Ring() = default;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() = default;  ///< the mapping stays: threads may still record while a program ends

    /// Makes the file in `directory`. Other rings of this process in it, from before an exec(2), are marked as ended;
    /// this user's rings of processes that ended long ago are removed. `capacity` is rounded to a power of two within
    /// bounds. Returns 0, else an errno.
    int open(const char* directory, std::uint32_t capacity, std::uint64_t session);
    bool is_open() const { return header_ != nullptr; }

    /// A lane for the calling thread; null if all are in use, or if there is no memory for one more.
    Lane* claim();
    /// The thread records no more.
    static void give_back(Lane& lane);
    /// Counts a record that found no lane.
    void lose() { std::atomic_ref<std::uint64_t>(header_->unplaced).fetch_add(1, std::memory_order_relaxed); }

    /// The index of a device of this name, which may be new; `unknown_device` if there are too many. Not for two
    /// threads at once.
    std::uint8_t device(const char* name);

    /// After fork(2), in the child: the ring is the parent's.
    void forget();

private:
    bool provide(Lane& lane, std::uint32_t index);
    bool reserve_in_file(std::uint64_t offset, std::uint64_t octets) const;

    layout::Header* header_ = nullptr;
    std::uint64_t octets_ = 0;
    std::uint32_t capacity_ = 0;
    std::uint64_t device_ = 0;  ///< st_dev and st_ino of the file, to recognise it
    std::uint64_t inode_ = 0;
    char path_[4096] = {};
    Lane lanes_[lanes] = {};
};

}  // namespace trace::ring
