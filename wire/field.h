#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace wire {

/// What a field's value is. The unsigned kinds name the width that a hexadecimal value is padded to, as Wireshark's
/// FT_ types do; a field may be narrower (`bit_width`).
enum class Kind : std::uint8_t {
    none,     ///< a heading without a value
    boolean,  ///< printed 1 or 0
    uint8,
    uint16,
    uint24,
    uint32,
    uint64,
    bytes,
    ipv4,
    ipv6,
    ether,
    string,
    time,  ///< nanoseconds, printed as seconds with nine decimals
};

enum class Base : std::uint8_t { dec, hex };

/// A value and the word the field's specification has for it.
struct ValueName {
    std::uint64_t value;
    std::string_view text;
};

/// The word for `value`, or an empty view where the table has none.
constexpr std::string_view name_of(std::span<const ValueName> values, std::uint64_t value) {
    for (const auto& known : values)
        if (known.value == value) return known.text;
    return {};
}

/// What is known of a field. Read by the tree, JSON, `-e`, display filters, the plugin and the reference page; the
/// packet path does not use it.
struct FieldInfo {
    std::string_view name;   ///< Wireshark's where it has one (`infiniband.bth.opcode`), else below `rdma.`
    std::string_view label;  ///< as the tree prints it
    std::uint16_t bit_offset = 0;  ///< from the header's first bit; most significant first
    std::uint16_t bit_width = 0;   ///< 0 for what has no fixed place in the header
    Kind kind = Kind::none;
    Base base = Base::dec;
    bool hidden = false;  ///< found by filters and `-e`, not shown in the tree (`ip.addr` next to `ip.src`)
    std::span<const ValueName> values = {};
};

/// A field's value as found in a packet. `number` holds the unsigned kinds, booleans and times; `bytes` holds octets
/// and addresses; `text` holds strings.
struct Value {
    std::uint64_t number = 0;
    base::Bytes bytes = {};
    std::string_view text = {};
};

}  // namespace wire
