#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace dissect {

/// Bytes that stay allocated until `reset`; their places do not move, and memory from the system is reused.
class Arena {
public:
    explicit Arena(std::size_t limit) : limit_(limit) {}

    /// Uninitialised bytes; nullptr if the limit is reached.
    char* allocate(std::size_t size) {
        while (chunk_ < chunks_.size() && chunks_[chunk_].size - used_ < size) {
            ++chunk_;
            used_ = 0;
        }
        if (chunk_ == chunks_.size()) {
            const std::size_t wanted = std::max(size, chunk_size);
            if (wanted > limit_ - held_) return nullptr;
            chunks_.push_back({std::make_unique_for_overwrite<char[]>(wanted), wanted});
            held_ += wanted;
            used_ = 0;
        }
        char* first = chunks_[chunk_].octets.get() + used_;
        used_ += size;
        return first;
    }
    void reset() {
        chunk_ = 0;
        used_ = 0;
    }

private:
    static constexpr std::size_t chunk_size = std::size_t{1} << 14;
    struct Chunk {
        std::unique_ptr<char[]> octets;
        std::size_t size;
    };
    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0;  ///< the present chunk; those before are full
    std::size_t used_ = 0;   ///< of that one
    std::size_t held_ = 0;
    std::size_t limit_;
};

}  // namespace dissect
