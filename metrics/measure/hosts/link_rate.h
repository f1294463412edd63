#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace metrics::inline measure::inline hosts {

/// Learns a link's rate from how fast frames follow each other where only the link can delay them: inside one message,
/// with nothing else of the host in between. The figure is the tenth percentile of the time that a byte took, so that
/// neither frames that were stamped together in a batch nor waiting times decide.
class LinkRate {
public:
    /// Adds a sample: consecutive frames of `octets` took `ns`.
    void record(std::uint64_t ns, std::uint64_t octets) {
        if (octets == 0) return;
        const std::uint64_t ps = std::clamp<std::uint64_t>(ns * 1000 / octets, least_ps, most_ps);
        std::uint16_t& count = counts_[index_of(ps)];
        ++count;
        ++samples_;
        if (count == 0xffff) [[unlikely]]
            halve();
    }
    std::uint32_t samples() const { return samples_; }

    /// The learnt rate; absent below eight samples.
    std::optional<std::uint64_t> bits_per_sec() const {
        constexpr std::uint32_t least_samples = 8;
        if (samples_ < least_samples) return std::nullopt;
        std::uint32_t rank = (samples_ + 9) / 10;
        for (unsigned i = 0; i < counts_.size(); ++i) {
            if (counts_[i] >= rank) return std::uint64_t{8'000'000'000'000} / middle_of(i);
            rank -= counts_[i];
        }
        return std::nullopt;
    }

private:
    // 8 ps a byte are 1 Tbit/s, 2^22 ps are 1.9 Mbit/s; 32 steps to each power of two are within 1.6 %.
    static constexpr unsigned steps_bits = 5;
    static constexpr unsigned steps = 1u << steps_bits;
    static constexpr unsigned least_bits = 3;
    static constexpr unsigned most_bits = 22;
    static constexpr std::uint64_t least_ps = 1u << least_bits;
    static constexpr std::uint64_t most_ps = (1u << most_bits) - 1;

    static unsigned index_of(std::uint64_t ps) {
        const auto power = static_cast<unsigned>(std::bit_width(ps)) - 1;
        const auto step = static_cast<unsigned>((ps << steps_bits >> power) & (steps - 1));
        return (power - least_bits) * steps + step;
    }
    static std::uint64_t middle_of(unsigned index) {
        const unsigned power = index / steps + least_bits;
        const std::uint64_t lower = (std::uint64_t{steps + index % steps} << power) >> steps_bits;
        const std::uint64_t upper = (std::uint64_t{steps + index % steps + 1} << power) >> steps_bits;
        return std::max<std::uint64_t>((lower + upper) / 2, 1);
    }
    void halve() {
        samples_ = 0;
        for (std::uint16_t& count : counts_) samples_ += count /= 2;
    }

    std::array<std::uint16_t, (most_bits - least_bits) * steps> counts_{};
    std::uint32_t samples_ = 0;
};

}  // namespace metrics::measure::hosts
