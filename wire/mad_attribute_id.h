#pragma once
#include <cstdint>

/// Identifiers of attributes that code asks for, or treats apart. Each management class has its own numbers.
namespace wire::mad {

/// Of all classes. IBTA vol. 1, 13.4.8.
namespace attribute_id {
inline constexpr std::uint16_t class_port_info = 0x01;
inline constexpr std::uint16_t notice = 0x02;
}  // namespace attribute_id

/// Of subnet management. IBTA vol. 1, 14.2.5.
namespace subnet_attribute_id {
inline constexpr std::uint16_t node_description = 0x10;
inline constexpr std::uint16_t node_info = 0x11;
inline constexpr std::uint16_t guid_info = 0x14;
inline constexpr std::uint16_t port_info = 0x15;
inline constexpr std::uint16_t linear_forwarding_table = 0x19;
inline constexpr std::uint16_t sm_info = 0x20;
}  // namespace subnet_attribute_id

/// Of Subnet Administration. IBTA vol. 1, 15.2.5.
namespace record_attribute_id {
inline constexpr std::uint16_t node = 0x11;
inline constexpr std::uint16_t port_info = 0x12;
inline constexpr std::uint16_t sm_info = 0x18;
inline constexpr std::uint16_t guid_info = 0x30;
inline constexpr std::uint16_t path = 0x35;
inline constexpr std::uint16_t multipath = 0x3a;
}  // namespace record_attribute_id

/// Of performance management. IBTA vol. 1, 16.1.3.
namespace performance_attribute_id {
inline constexpr std::uint16_t port_counters = 0x12;
inline constexpr std::uint16_t port_counters_extended = 0x1d;
}  // namespace performance_attribute_id

}  // namespace wire::mad
