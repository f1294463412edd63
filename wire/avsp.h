#pragma once
#include "wire/ether_type.h"
#include "wire/layout.h"

/// Arista's vendor-specific EtherType: a time stamp between the MAC addresses and the frame's own EtherType. EOS user
/// manual, "Timestamping". Wireshark's name for the protocol is AVSP.
namespace wire {

/// What every sub-type begins with.
struct Avsp {
    std::uint16_t sub_type = 1;
    std::uint16_t version{};
    bool operator==(const Avsp&) const = default;
};

inline constexpr std::uint16_t avsp_time_stamp = 1;

inline constexpr ValueName avsp_sub_types[] = {{avsp_time_stamp, "Time stamp"}};

/// The low byte is the format, the high byte the time scale.
inline constexpr ValueName avsp_versions[] = {
    {0x0010, "64 bits, TAI"}, {0x0110, "64 bits, UTC"}, {0x0020, "48 bits, TAI"}, {0x0120, "48 bits, UTC"},
};

template <>
inline constexpr auto layout_of<Avsp> = layout("avsp", "Arista Vendor Specific Protocol",
    bits<&Avsp::sub_type, 16>("avsp.sub_type", "Sub-type").named(avsp_sub_types),
    bits<&Avsp::version, 16>("avsp.ver", "Version").hex().named(avsp_versions));
static_assert(size_of<Avsp> == 4);

/// Seconds and nanoseconds of 32 bits each, and the EtherType of the frame.
struct AvspTime64 {
    std::uint32_t seconds{};
    std::uint32_t nanoseconds{};
    std::uint16_t type{};
    bool operator==(const AvspTime64&) const = default;
};

template <>
inline constexpr auto layout_of<AvspTime64> = layout("avsp.64ts", "Time stamp",
    bits<&AvspTime64::seconds, 32>("avsp.64sec", "Seconds"),
    bits<&AvspTime64::nanoseconds, 32>("avsp.64ns", "Nanoseconds"),
    bits<&AvspTime64::type, 16>("avsp.etype", "Type").hex().named(ether_type::names));
static_assert(size_of<AvspTime64> == 10);

/// The low 16 bits of the seconds, the nanoseconds, and the EtherType of the frame.
struct AvspTime48 {
    std::uint16_t seconds{};
    std::uint32_t nanoseconds{};
    std::uint16_t type{};
    bool operator==(const AvspTime48&) const = default;
};

template <>
inline constexpr auto layout_of<AvspTime48> = layout("avsp.48ts", "Time stamp",
    bits<&AvspTime48::seconds, 16>("avsp.48sec", "Seconds"),
    bits<&AvspTime48::nanoseconds, 32>("avsp.48ns", "Nanoseconds"),
    bits<&AvspTime48::type, 16>("avsp.etype", "Type").hex().named(ether_type::names));
static_assert(size_of<AvspTime48> == 8);

constexpr bool is_avsp_time64(std::uint16_t version) { return version == 0x0010 || version == 0x0110; }
constexpr bool is_avsp_time48(std::uint16_t version) { return version == 0x0020 || version == 0x0120; }

}  // namespace wire
