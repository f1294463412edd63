#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

/// With the lock held.
namespace iwarp::preload {

/// Regions whose work requests do not name memory by its address (ibv_reg_mr_iova, IBV_ACCESS_ZERO_BASED).
class ShiftedRegions {
public:
    static ShiftedRegions& instance();
    void insert(std::uint32_t key, const void* memory, std::uint64_t first_offset);
    void erase(std::uint32_t key) { shifts_.erase(key); }
    std::byte* memory_at(std::uint64_t offset, std::uint32_t key) const {
        if (!shifts_.empty()) {
            const auto found = shifts_.find(key);
            if (found != shifts_.end()) offset += found->second;
        }
        return std::bit_cast<std::byte*>(offset);
    }

private:
    std::unordered_map<std::uint32_t, std::uint64_t> shifts_;  ///< address minus offset, modulo 2^64
};

}  // namespace iwarp::preload
