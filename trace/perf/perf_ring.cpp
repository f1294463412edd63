#include "trace/perf/perf_ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <linux/perf_event.h>
#include <optional>

namespace trace::inline perf {
namespace {

template <class T>
std::optional<T> take(base::Bytes& from) {
    if (from.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, from.data(), sizeof value);
    from = from.subspan(sizeof value);
    return value;
}

perf_event_mmap_page& places(std::byte* page) { return *reinterpret_cast<perf_event_mmap_page*>(page); }

}  // namespace

PerfRing::PerfRing(std::span<std::byte> area, std::size_t page_octets)
    : page_(area.data()), data_(area.subspan(page_octets)), tail_(places(page_).data_tail) {}

const PerfRecord* PerfRing::peek() {
    while (!loaded_) {
        const std::uint64_t head = std::atomic_ref(places(page_).data_head).load(std::memory_order_acquire);
        const std::uint64_t available = head - tail_;
        if (available == 0) return nullptr;
        perf_event_header header = {};
        std::size_t at = tail_ & (data_.size() - 1);
        // Records are multiples of eight bytes, so that a header never goes round the end.
        if (available < sizeof header || data_.size() - at < sizeof header || available > data_.size()) {
            ++damaged_;
            give_back(head);
            return nullptr;
        }
        std::memcpy(&header, data_.data() + at, sizeof header);
        if (header.size < sizeof header || header.size > available) {
            ++damaged_;
            give_back(head);
            return nullptr;
        }
        base::Bytes record = base::Bytes(data_).subspan(at, std::min<std::size_t>(header.size, data_.size() - at));
        if (record.size() < header.size) {
            joined_.assign(record.begin(), record.end());
            joined_.insert(joined_.end(), data_.begin(),
                           data_.begin() + static_cast<std::ptrdiff_t>(header.size - record.size()));
            record = joined_;
        }
        next_ = tail_ + header.size;
        loaded_ = parse(record.subspan(sizeof header), header.type);
        if (!loaded_) give_back(next_);
    }
    return &current_;
}

// perf_event_open(2), "MMAP layout": PERF_SAMPLE_IDENTIFIER, TID, TIME and RAW, in this order.
bool PerfRing::parse(base::Bytes record, std::uint32_t type) {
    current_ = {};
    if (type == PERF_RECORD_LOST) {
        const auto event = take<std::uint64_t>(record);
        const auto lost = take<std::uint64_t>(record);
        if (!event || !lost) {
            ++damaged_;
            return false;
        }
        current_.kind = PerfRecord::Kind::lost;
        current_.event = *event;
        current_.lost = *lost;
        return true;
    }
    if (type != PERF_RECORD_SAMPLE) return false;
    const auto event = take<std::uint64_t>(record);
    const auto process = take<std::uint32_t>(record);
    const auto thread = take<std::uint32_t>(record);
    const auto time = take<std::uint64_t>(record);
    const auto size = take<std::uint32_t>(record);
    if (!size || *size > record.size()) {
        ++damaged_;
        return false;
    }
    current_.event = *event;
    current_.process = *process;
    current_.thread = *thread;
    current_.time_ns = static_cast<std::int64_t>(*time);
    current_.raw = record.first(*size);
    return true;
}

void PerfRing::pop() {
    if (!loaded_) return;
    loaded_ = false;
    give_back(next_);
}

void PerfRing::give_back(std::uint64_t to) {
    tail_ = to;
    std::atomic_ref(places(page_).data_tail).store(tail_, std::memory_order_release);
}

}  // namespace trace::perf
