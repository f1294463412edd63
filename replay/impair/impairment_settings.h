#pragma once
#include <cstdint>
#include <optional>

namespace replay::inline impair {

/// The impairments of frames, or of the bytes between two endpoints. Shares are of 1, each frame drawn on its own; the
/// same seed gives the same draws.
struct ImpairmentSettings {
    double loss = 0;
    double reorder = 0;
    double duplicate = 0;
    double corrupt = 0;
    double mark = 0;  ///< ECN: Congestion Experienced
    std::uint64_t delay_ns = 0;
    std::uint64_t jitter_ns = 0;  ///< in addition to the delay, from none to this
    std::optional<std::uint64_t> bits_per_sec = {};
    std::uint64_t seed = 1;

    bool any() const {
        return loss > 0 || reorder > 0 || duplicate > 0 || corrupt > 0 || mark > 0 || delay_ns > 0 || jitter_ns > 0 ||
               bits_per_sec.has_value();
    }
};

}  // namespace replay::impair
