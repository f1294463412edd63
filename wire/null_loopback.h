#pragma once
#include "wire/layout.h"

namespace wire {

/// BSD loopback: an address family, in the byte order of the machine that captured (LINKTYPE_NULL) or of the network
/// (LINKTYPE_LOOP).
struct NullLoopback {
    std::uint32_t family{};
    bool operator==(const NullLoopback&) const = default;
};

template <>
inline constexpr auto layout_of<NullLoopback> =
    layout("null", "Null/Loopback", bits<&NullLoopback::family, 32>("null.family", "Family"));
static_assert(size_of<NullLoopback> == 4);

/// The family in either byte order. Families are small numbers, so the order shows.
constexpr std::uint32_t in_any_order(std::uint32_t family) {
    if ((family & 0xffff0000) == 0) return family;
    return family >> 24 | (family >> 8 & 0xff00) | (family << 8 & 0xff0000) | family << 24;
}

/// AF_INET is 2 everywhere; AF_INET6 is 10 on Linux, 24 on NetBSD and OpenBSD, 28 on FreeBSD, 30 on macOS.
constexpr bool is_inet6(std::uint32_t family) { return family == 10 || family == 24 || family == 28 || family == 30; }

inline constexpr ValueName address_families[] = {{2, "IPv4"}, {10, "IPv6"}, {24, "IPv6"}, {28, "IPv6"}, {30, "IPv6"}};

}  // namespace wire
