#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace trace::inline perf {

/// One record of a perf ring, as the attributes of PerfSource ask for it.
struct PerfRecord {
    enum class Kind : std::uint8_t { sample, lost };
    Kind kind = Kind::sample;
    std::uint64_t event = 0;   ///< PERF_EVENT_IOC_ID
    std::int64_t time_ns = 0;  ///< of the clock that was asked for; 0 of a loss
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    std::uint64_t lost = 0;
    base::Bytes raw = {};  ///< the trace event's record; valid until pop()
};

/// The reader's side of the memory that perf_event_open(2) shares: one page of places, then 2^n pages of records, of
/// which the kernel writes the end and we the beginning.
class PerfRing {
public:
    /// `area` as it is mapped: a page of perf_event_mmap_page, then a power of two of bytes. It must outlive this.
    PerfRing(std::span<std::byte> area, std::size_t page_octets);

    /// The oldest record not yet taken, nullptr if absent. Records of other kinds are passed over; one whose
    /// lengths contradict each other empties the ring and is counted as damaged.
    const PerfRecord* peek();
    /// Gives the oldest record's room back.
    void pop();

    std::uint64_t damaged() const { return damaged_; }

private:
    bool parse(base::Bytes record, std::uint32_t type);
    void give_back(std::uint64_t to);

    std::byte* page_;
    std::span<std::byte> data_;
    std::vector<std::byte> joined_;  // a record that goes round the end, in one piece
    PerfRecord current_ = {};
    std::uint64_t tail_ = 0;
    std::uint64_t next_ = 0;  // tail after pop()
    bool loaded_ = false;
    std::uint64_t damaged_ = 0;
};

}  // namespace trace::perf
