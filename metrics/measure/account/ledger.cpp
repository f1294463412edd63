#include "metrics/measure/account/ledger.h"

#include <array>
#include <cstring>
#include <vector>

namespace metrics::inline measure::inline account {

/// Slabs are handed out from their front; when they are used up, larger free rings are cut into smaller ones.
struct LedgerPool::State {
    static constexpr std::array<unsigned, 3> capacities{4, 16, 64};
    static constexpr std::size_t slab_entries = 2048;
    struct Slab {
        std::unique_ptr<OutstandingMessage[]> entries;
        std::size_t size = 0;
        std::size_t handed_out = 0;
    };

    std::size_t max_entries = 0;
    std::size_t entries = 0;  ///< in slabs
    std::size_t used = 0;
    std::vector<Slab> slabs;
    std::array<OutstandingMessage*, capacities.size()> free{};  ///< the first bytes of a free ring hold its successor

    static unsigned class_of(unsigned capacity) { return capacity <= 4 ? 0 : capacity <= 16 ? 1 : 2; }

    void put(OutstandingMessage* ring, unsigned ring_class) {
        std::memcpy(static_cast<void*>(ring), &free[ring_class], sizeof(void*));
        free[ring_class] = ring;
    }
    OutstandingMessage* pop(unsigned ring_class) {
        OutstandingMessage* const ring = free[ring_class];
        if (ring != nullptr) std::memcpy(&free[ring_class], static_cast<void*>(ring), sizeof(void*));
        return ring;
    }
    OutstandingMessage* from_slab(unsigned capacity) {
        if (slabs.empty() || slabs.back().size - slabs.back().handed_out < capacity) {
            if (!slabs.empty()) keep_remainder(slabs.back());
            const std::size_t size = std::min(slab_entries, max_entries - entries);
            if (size < capacity) return nullptr;
            slabs.push_back({std::make_unique<OutstandingMessage[]>(size), size, 0});
            entries += size;
        }
        Slab& slab = slabs.back();
        OutstandingMessage* const ring = slab.entries.get() + slab.handed_out;
        slab.handed_out += capacity;
        return ring;
    }
    void keep_remainder(Slab& slab) {
        for (unsigned ring_class = capacities.size(); ring_class-- > 0;)
            while (slab.size - slab.handed_out >= capacities[ring_class]) {
                put(slab.entries.get() + slab.handed_out, ring_class);
                slab.handed_out += capacities[ring_class];
            }
    }
    /// A free ring of a larger class, cut: its front is handed out, the rest is kept in rings of `ring_class`.
    OutstandingMessage* from_larger(unsigned ring_class) {
        for (unsigned larger = ring_class + 1; larger < capacities.size(); ++larger) {
            OutstandingMessage* const ring = pop(larger);
            if (ring == nullptr) continue;
            for (unsigned at = capacities[ring_class]; at < capacities[larger]; at += capacities[ring_class])
                put(ring + at, ring_class);
            return ring;
        }
        return nullptr;
    }
    OutstandingMessage* take(unsigned capacity) {
        const unsigned ring_class = class_of(capacity);
        OutstandingMessage* ring = pop(ring_class);
        if (ring == nullptr) ring = from_slab(capacity);
        if (ring == nullptr) ring = from_larger(ring_class);
        if (ring != nullptr) used += capacity;
        return ring;
    }
    void give(OutstandingMessage* ring, unsigned capacity) {
        put(ring, class_of(capacity));
        used -= capacity;
    }
};

LedgerPool::LedgerPool(std::size_t max_entries) : state_(std::make_unique<State>()) {
    state_->max_entries = max_entries;
}
LedgerPool::~LedgerPool() = default;

std::size_t LedgerPool::octets() const {
    return sizeof(State) + state_->slabs.capacity() * sizeof(State::Slab) +
           state_->entries * sizeof(OutstandingMessage);
}

std::size_t LedgerPool::used() const { return state_->used; }

bool Ledger::make_room(LedgerPool& pool) {
    if (capacity_ < max_capacity) {
        const unsigned wanted = capacity_ == 0 ? 4 : capacity_ == 4 ? 16 : 64;
        if (OutstandingMessage* const ring = pool.state_->take(wanted); ring != nullptr) {
            for (unsigned i = 0; i < size_; ++i) ring[i] = at(i);
            if (capacity_ != 0) pool.state_->give(ring_, capacity_);
            ring_ = ring;
            capacity_ = static_cast<std::uint8_t>(wanted);
            head_ = 0;
            return true;
        }
        if (capacity_ == 0) return false;
    }
    thin_out();
    return size_ < capacity_;
}

void Ledger::thin_out() {
    // Neighbours are joined up to a size at which a third of the places would hold all: two entries that are left side
    // by side exceed it together. So all entries stand for about the same number, and latencies are sampled evenly. The
    // oldest stays by itself, because its response may be under way; entries that are not counted cannot be joined.
    std::uint64_t all = 0;
    for (unsigned i = 1; i < size_; ++i) all += at(i).messages;
    const std::uint64_t most = (3 * all + size_ - 2u) / (size_ - 1u);
    unsigned kept = 1;
    OutstandingMessage entry = at(1);
    for (unsigned i = 2; i < size_; ++i) {
        const OutstandingMessage& next = at(i);
        if (entry.messages != 0 && next.messages != 0 && std::uint64_t{entry.messages} + next.messages <= most) {
            absorb(entry, next);
        } else {
            at(kept++) = entry;
            entry = next;
        }
    }
    at(kept++) = entry;
    size_ = static_cast<std::uint8_t>(kept);
}

void Ledger::absorb(OutstandingMessage& older, const OutstandingMessage& younger) {
    constexpr std::uint32_t most_messages = UINT16_MAX;
    constexpr std::uint64_t most_bytes = UINT32_MAX;
    const std::uint32_t messages = std::uint32_t{older.messages} + younger.messages;
    const std::uint32_t responses = std::uint32_t{older.responses} + younger.responses;
    const std::uint64_t bytes = std::uint64_t{older.bytes} + younger.bytes;
    const OutstandingMessage former = older;
    older = younger;
    older.merged = 1;
    older.again = former.again | younger.again;
    older.responded = 0;
    older.messages = static_cast<std::uint16_t>(std::min(messages, most_messages));
    older.responses = static_cast<std::uint16_t>(std::min(responses, std::uint32_t{older.messages}));
    older.bytes = static_cast<std::uint32_t>(std::min(bytes, most_bytes));
    messages_ -= messages - older.messages;
    responses_ -= responses - older.responses;
    bytes_ -= bytes - older.bytes;
    // One of each pair loses its latency; of the younger, it was counted when it was merged itself.
    ++merged_;
}

unsigned Ledger::covered(const OutstandingMessage& merged, std::uint64_t position) const {
    const std::uint64_t last = merged.position;
    if (floor_ >= last || position <= floor_ || position >= last) return 0;
    const std::uint64_t part = (position - floor_) * merged.messages / (last - floor_);  // 48 + 16 bits
    return static_cast<unsigned>(std::min<std::uint64_t>(part, merged.messages - 1u));
}

OutstandingMessage Ledger::split(unsigned count) {
    OutstandingMessage& head = ring_[head_];
    const std::uint64_t all = head.messages;
    OutstandingMessage part = head;
    part.messages = static_cast<std::uint16_t>(count);
    part.bytes = static_cast<std::uint32_t>(head.bytes * std::uint64_t{count} / all);
    // The youngest is what remains in the end: it keeps its own response, the others share theirs.
    const std::uint32_t own = wants_response(static_cast<Operation>(head.operation)) && head.responses != 0 ? 1 : 0;
    const std::uint64_t shared = head.responses - own;
    part.responses = static_cast<std::uint16_t>((shared * count + all - 2) / (all - 1));
    if (head.position > floor_) {
        const std::uint64_t step = (head.position - floor_) / all;
        const std::uint64_t rest = (head.position - floor_) % all;
        part.position = (floor_ + step * count + rest * count / all) & max_position;
        floor_ = part.position;
    }
    head.messages = static_cast<std::uint16_t>(all - count);
    head.bytes -= part.bytes;
    head.responses = static_cast<std::uint16_t>(head.responses - part.responses);
    head.responded = 0;
    if (head.messages == 1) head.merged = 0;
    take_out(part);
    return part;
}

std::uint32_t Ledger::kept() const {
    std::uint32_t count = 0;
    for (unsigned i = 0; i < size_; ++i)
        count += std::max<std::uint32_t>(ring_[(head_ + i) & (capacity_ - 1u)].messages, 1);
    return count;
}

OutstandingMessage* Ledger::oldest_response(LedgerPool&, std::uint64_t position) {
    for (unsigned i = 0; i < size_; ++i) {
        OutstandingMessage& message = at(i);
        if (message.responses != 0 && message.position >= position) return &message;
    }
    return nullptr;
}

void Ledger::mark_again(LedgerPool&, std::uint64_t position) {
    for (unsigned i = 0; i < size_; ++i)
        if (at(i).position >= position) at(i).again = 1;
    open_again_ = open_;
}

void Ledger::mark_again(LedgerPool&, std::uint64_t begin, std::uint64_t end) {
    // A message takes the bytes after its predecessor up to its own position.
    std::uint64_t from = floor_ == no_floor ? 0 : floor_;
    for (unsigned i = 0; i < size_; ++i) {
        if (at(i).position > begin && from < end) at(i).again = 1;
        from = at(i).position;
    }
    if (from < end) open_again_ = open_;
}

void Ledger::end_late(std::int64_t now_ns, std::uint64_t position) {
    for (unsigned i = 0; i < size_; ++i) {
        OutstandingMessage& message = at(i);
        if (message.position == position && message.merged == 0) message.last_ns = now_ns;
    }
}

void Ledger::move_newest(std::uint64_t from, std::uint64_t to, bool guessed) {
    if (size_ == 0) return;
    OutstandingMessage& newest = at(size_ - 1u);
    if (newest.position != from) return;
    newest.position = std::min(to, max_position) & max_position;
    if (guessed) newest.mark = std::min<std::uint64_t>(newest.mark + (to - from), most_mark) & most_mark;
}

std::uint64_t Ledger::shorten(std::uint64_t begin) {
    for (unsigned i = 0; i < size_; ++i) {
        OutstandingMessage& message = at(i);
        if (message.position < begin) continue;
        const std::uint64_t taken = message.position - begin + 1;
        if (message.merged != 0 || taken > message.mark) return 0;
        message.mark = (message.mark - taken) & most_mark;
        message.position = (begin - 1) & max_position;
        return begin + taken;
    }
    return 0;
}

void Ledger::give_back(LedgerPool& pool) {
    if (capacity_ == 0) return;
    pool.state_->give(ring_, capacity_);
    ring_ = nullptr;
    capacity_ = head_ = size_ = 0;
}

void Ledger::clear(LedgerPool& pool, std::int64_t now_ns) {
    advance(now_ns);
    give_back(pool);
    messages_ = responses_ = 0;
    bytes_ = open_bytes_ = 0;
    floor_ = no_floor;
    open_ = open_response_ = open_again_ = false;
}

void Ledger::trim(LedgerPool& pool) {
    if (size_ == 0) give_back(pool);
}

Wide Ledger::message_ns(std::int64_t now_ns) const {
    Area area = message_area_;
    area.add(messages_, elapsed_ns(now_ns));
    return area.value();
}

Wide Ledger::byte_ns(std::int64_t now_ns) const {
    Area area = byte_area_;
    area.add(bytes_, elapsed_ns(now_ns));
    return area.value();
}

std::uint64_t Ledger::at_max_ns(std::int64_t now_ns) const {
    if (messages_max_ == 0) return 0;
    return at_max_ns_ + (messages_ == messages_max_ ? elapsed_ns(now_ns) : 0);
}

}  // namespace metrics::measure::account
