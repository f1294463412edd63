#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace metrics::inline measure::inline hosts {

/// When a key was last used, for a bounded number of keys. Grows by doubling up to its bound; then the oldest of a few
/// neighbours makes room.
class KeyTable {
public:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    explicit KeyTable(std::size_t max_keys) : max_keys_(max_keys < 16 ? 16 : max_keys), slots_(64) {}

    /// Notes a use and returns the clock of the one before. A key is known by its hash alone; 0 stands for no key.
    std::uint64_t use(std::uint64_t hash, std::uint64_t clock) {
        hash |= hash == 0;
        const std::size_t mask = slots_.size() - 1;
        Slot* oldest = nullptr;
        std::size_t i = hash >> 7 & mask;
        for (unsigned probes = 0; slots_[i].hash != 0; ++probes) {
            Slot& slot = slots_[i];
            if (slot.hash == hash) {
                const std::uint64_t before = slot.clock;
                slot.clock = clock;
                return before;
            }
            if (probes < neighbours && (oldest == nullptr || slot.clock < oldest->clock)) oldest = &slot;
            i = (i + 1) & mask;
        }
        if (used_ >= max_keys_) {
            ++evicted_;
            if (oldest == nullptr) return never;
            *oldest = {hash, clock};
            return never;
        }
        slots_[i] = {hash, clock};
        if (++used_ * 2 > slots_.size()) grow();
        return never;
    }
    std::uint64_t evicted() const { return evicted_; }
    std::size_t octets() const { return slots_.capacity() * sizeof(Slot); }

private:
    static constexpr unsigned neighbours = 8;
    struct Slot {
        std::uint64_t hash = 0;
        std::uint64_t clock = 0;
    };
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        const std::size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.hash == 0) continue;
            std::size_t i = slot.hash >> 7 & mask;
            while (slots_[i].hash != 0) i = (i + 1) & mask;
            slots_[i] = slot;
        }
    }

    std::size_t max_keys_;
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    std::uint64_t evicted_ = 0;
};

}  // namespace metrics::measure::hosts
