#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace fabric {

/// A set of link widths, one bit each, as PortInfo has them. IBTA vol. 1, 14.2.5.6.
using WidthMask = std::uint8_t;
/// A set of link speeds, one bit each: LinkSpeedSupported in the low four bits, LinkSpeedExtSupported in the next four.
using SpeedMask = std::uint8_t;

inline constexpr unsigned extended_speed_shift = 4;

/// "4X"; empty for a width that is not known.
std::string_view width_name(WidthMask width);
/// "HDR"; empty for a speed that is not known.
std::string_view speed_name(SpeedMask speed);
/// The bit of a name; 0 if there is no such name.
WidthMask width_of(std::string_view name);
SpeedMask speed_of(std::string_view name);

/// The greatest width or speed of a set; 0 if the set has none that is known.
WidthMask greatest_width(WidthMask widths);
SpeedMask greatest_speed(SpeedMask speeds);

unsigned lanes_of(WidthMask width);
/// Bits per second of data that one lane carries: what remains of the signalling rate after 8b/10b or 64b/66b coding.
double lane_bits_per_sec(SpeedMask speed);

/// What a link is trained to, or could be.
struct LinkRate {
    WidthMask width = 0;
    SpeedMask speed = 0;

    bool known() const { return lanes_of(width) != 0 && lane_bits_per_sec(speed) > 0; }
    double bits_per_sec() const { return lanes_of(width) * lane_bits_per_sec(speed); }
    bool operator==(const LinkRate&) const = default;
};

}  // namespace fabric
