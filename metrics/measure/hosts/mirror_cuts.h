#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace metrics::inline measure::inline hosts {

/// Frames that are shorter than their IP headers say, although all of the frame was captured. A mirror or a packet
/// broker that cuts frames leaves the same number of bytes of each long frame, or a few numbers if it cuts after
/// headers of different sizes. Frames of arbitrary lengths were damaged.
class MirrorCuts {
public:
    void add(std::uint32_t left_bytes, std::uint32_t cut_bytes) {
        if (by_size_.empty()) by_size_.resize(sizes);
        ++by_size_[std::min<std::size_t>(left_bytes, sizes - 1)];
        ++frames_;
        cut_bytes_ += cut_bytes;
        longest_ = std::max(longest_, left_bytes);
    }

    /// `longest_frame`: of the whole capture, as it was captured; a mirror leaves no frame longer than its size.
    bool are_of_mirror(std::uint32_t longest_frame) const {
        constexpr std::uint32_t frames_that_show = 4;
        constexpr std::uint64_t few_sizes = 20;
        if (frames_ == 0) return false;
        if (longest_ >= longest_frame && is_one_size()) return true;
        std::uint64_t alike = 0;
        for (const std::uint32_t count : by_size_)
            if (count >= frames_that_show && count * few_sizes >= frames_) alike += count;
        return 2 * alike >= frames_;
    }
    std::uint64_t frames() const { return frames_; }
    std::uint64_t cut_bytes() const { return cut_bytes_; }
    std::size_t octets() const { return by_size_.capacity() * sizeof(std::uint32_t); }

private:
    static constexpr std::size_t sizes = 4096;  ///< mirrors leave headers and little more

    /// Half of the frames or more have the most frequent size.
    bool is_one_size() const {
        return 2 * std::uint64_t{*std::max_element(by_size_.begin(), by_size_.end())} >= frames_;
    }

    std::vector<std::uint32_t> by_size_;  ///< frames, by the bytes that are left; the last also of longer ones
    std::uint64_t frames_ = 0;
    std::uint64_t cut_bytes_ = 0;
    std::uint32_t longest_ = 0;
};

}  // namespace metrics::measure::hosts
