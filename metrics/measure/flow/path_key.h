#pragma once
#include <cstdint>

#include "metrics/figures/path_figures.h"

namespace metrics::inline measure::inline flow {

/// By what a packet's path is known: its entropy, and its hop limit. A mark of four bytes holds them if the packet is
/// one of RoCEv2 over IPv4 without a tunnel; else a number does.
class PathKey {
public:
    constexpr PathKey() = default;
    constexpr PathKey(Entropy entropy, std::uint8_t hop_limit)
        : number_(entropy.number() | std::uint64_t{hop_limit} << Entropy::spare_shift) {
        const PathKey plain = of_plain(entropy.udp_port(), hop_limit);
        if (plain.entropy() == entropy) *this = plain;
    }
    static constexpr PathKey of_plain(std::uint16_t udp_port, std::uint8_t hop_limit) {
        PathKey out;
        out.mark_ = is_mark | std::uint32_t{hop_limit} << hop_shift | udp_port;
        return out;
    }
    /// The key of either its mark or its number.
    static constexpr PathKey of_parts(std::uint32_t mark, std::uint64_t number) {
        PathKey out;
        out.mark_ = mark;
        out.number_ = mark != 0 ? 0 : number;
        return out;
    }

    constexpr Entropy entropy() const {
        return mark_ != 0 ? Entropy::of_udp(static_cast<std::uint16_t>(mark_)) : Entropy(number_);
    }
    constexpr std::uint8_t hop_limit() const {
        return static_cast<std::uint8_t>(mark_ != 0 ? mark_ >> hop_shift : number_ >> Entropy::spare_shift);
    }
    constexpr std::uint32_t mark() const { return mark_; }      ///< 0: the number has all
    constexpr std::uint64_t number() const { return number_; }  ///< 0: the mark has all, or nothing is known
    bool operator==(const PathKey&) const = default;

private:
    static constexpr unsigned hop_shift = 16;
    static constexpr std::uint32_t is_mark = 1u << 24;

    std::uint64_t number_ = 0;
    std::uint32_t mark_ = 0;
};

}  // namespace metrics::measure::flow
