#include "fabric/width_speed.h"

#include <algorithm>
#include <array>

namespace fabric {

namespace {

struct WidthRow {
    WidthMask bit;
    std::string_view name;
    unsigned lanes;
};
/// In ascending order of lanes.
constexpr std::array width_rows{WidthRow{1, "1X", 1}, WidthRow{16, "2X", 2}, WidthRow{2, "4X", 4}, WidthRow{4, "8X", 8},
                                WidthRow{8, "12X", 12}};

struct SpeedRow {
    SpeedMask bit;
    std::string_view name;
    double signals_per_sec;  ///< of one lane
    double data_share;       ///< what the coding leaves for data
};
constexpr double coding_8b10b = 8.0 / 10;
constexpr double coding_64b66b = 64.0 / 66;
/// In ascending order. The rates of HDR and NDR are those of a lane with PAM4; their coding is part of the rate.
constexpr std::array speed_rows{
    SpeedRow{1, "SDR", 2.5e9, coding_8b10b},
    SpeedRow{2, "DDR", 5e9, coding_8b10b},
    SpeedRow{4, "QDR", 10e9, coding_8b10b},
    SpeedRow{1 << extended_speed_shift, "FDR", 14.0625e9, coding_64b66b},
    SpeedRow{2 << extended_speed_shift, "EDR", 25.78125e9, coding_64b66b},
    SpeedRow{4 << extended_speed_shift, "HDR", 50e9, 1},
    SpeedRow{8 << extended_speed_shift, "NDR", 100e9, 1},
};

template <class Rows, class Mask>
auto find_bit(const Rows& rows, Mask bit) {
    return std::ranges::find_if(rows, [bit](const auto& row) { return row.bit == bit; });
}
template <class Rows>
auto find_name(const Rows& rows, std::string_view name) {
    return std::ranges::find_if(rows, [name](const auto& row) { return row.name == name; });
}

}  // namespace

std::string_view width_name(WidthMask width) {
    const auto row = find_bit(width_rows, width);
    return row == width_rows.end() ? std::string_view{} : row->name;
}

std::string_view speed_name(SpeedMask speed) {
    const auto row = find_bit(speed_rows, speed);
    return row == speed_rows.end() ? std::string_view{} : row->name;
}

WidthMask width_of(std::string_view name) {
    const auto row = find_name(width_rows, name);
    return row == width_rows.end() ? WidthMask{0} : row->bit;
}

SpeedMask speed_of(std::string_view name) {
    const auto row = find_name(speed_rows, name);
    return row == speed_rows.end() ? SpeedMask{0} : row->bit;
}

WidthMask greatest_width(WidthMask widths) {
    WidthMask greatest = 0;
    for (const WidthRow& row : width_rows)
        if ((widths & row.bit) != 0) greatest = row.bit;
    return greatest;
}

SpeedMask greatest_speed(SpeedMask speeds) {
    SpeedMask greatest = 0;
    for (const SpeedRow& row : speed_rows)
        if ((speeds & row.bit) != 0) greatest = row.bit;
    return greatest;
}

unsigned lanes_of(WidthMask width) {
    const auto row = find_bit(width_rows, width);
    return row == width_rows.end() ? 0 : row->lanes;
}

double lane_bits_per_sec(SpeedMask speed) {
    const auto row = find_bit(speed_rows, speed);
    return row == speed_rows.end() ? 0 : row->signals_per_sec * row->data_share;
}

}  // namespace fabric
