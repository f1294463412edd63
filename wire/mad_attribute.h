#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/field.h"

/// The attributes of management datagrams: what lies where in their data. Many are read, few by code, so that they have
/// field tables and no structs.
namespace wire::mad {

/// The first bit of a field, from the start of the attribute.
struct At {
    std::uint16_t octet = 0;
    std::uint16_t bit = 0;
    constexpr At(unsigned o, unsigned b = 0) : octet(static_cast<std::uint16_t>(o)), bit(static_cast<std::uint16_t>(b)) {}
};

namespace detail {
constexpr FieldInfo field(At at, unsigned bits, std::string_view name, std::string_view label, Kind kind) {
    return {name, label, static_cast<std::uint16_t>(at.octet * 8 + at.bit), static_cast<std::uint16_t>(bits), kind};
}
constexpr Kind kind_of(unsigned bits) {
    return bits <= 8 ? Kind::uint8 : bits <= 16 ? Kind::uint16 : bits <= 24 ? Kind::uint24 : bits <= 32 ? Kind::uint32 : Kind::uint64;
}
}  // namespace detail

constexpr FieldInfo decimal(At at, unsigned bits, std::string_view name, std::string_view label, std::span<const ValueName> values = {}) {
    FieldInfo info = detail::field(at, bits, name, label, detail::kind_of(bits));
    info.values = values;
    return info;
}
constexpr FieldInfo hex(At at, unsigned bits, std::string_view name, std::string_view label, std::span<const ValueName> values = {}) {
    FieldInfo info = decimal(at, bits, name, label, values);
    info.base = Base::hex;
    return info;
}
/// Of a wider type than its bits need, as Wireshark declares it.
constexpr FieldInfo as(Kind kind, FieldInfo info) {
    info.kind = kind;
    return info;
}
constexpr FieldInfo octets(At at, unsigned count, std::string_view name, std::string_view label) {
    return detail::field(at, count * 8, name, label, Kind::bytes);
}
constexpr FieldInfo gid(At at, std::string_view name, std::string_view label) {
    return detail::field(at, 128, name, label, Kind::ipv6);
}
/// A text that ends with its first zero octet, or with its last octet.
constexpr FieldInfo text(At at, unsigned count, std::string_view name, std::string_view label) {
    return detail::field(at, count * 8, name, label, Kind::string);
}

/// Fields that lie together in an attribute, once or as the entries of a table.
struct Part {
    std::uint16_t octet = 0;  ///< from the attribute's start
    std::span<const FieldInfo> fields = {};
    std::uint16_t stride = 0;  ///< octets from one entry to the next
    std::uint16_t count = 1;   ///< of entries
};

inline constexpr std::size_t most_parts = 4;

struct Attribute {
    std::uint16_t id;
    std::string_view name;
    std::array<Part, most_parts> parts = {};  ///< as many as have fields

    constexpr std::size_t part_count() const {
        std::size_t count = 0;
        while (count < parts.size() && !parts[count].fields.empty()) ++count;
        return count;
    }
};

/// The fields of all attributes, for the registry.
template <std::size_t Count, std::size_t N>
consteval std::array<std::span<const FieldInfo>, Count> all_fields(const std::array<Attribute, N>& attributes) {
    std::array<std::span<const FieldInfo>, Count> fields{};
    std::size_t at = 0;
    for (const Attribute& attribute : attributes)
        for (std::size_t i = 0; i < attribute.part_count(); ++i) fields[at++] = attribute.parts[i].fields;
    return fields;
}
template <std::size_t N>
consteval std::size_t part_count(const std::array<Attribute, N>& attributes) {
    std::size_t count = 0;
    for (const Attribute& attribute : attributes) count += attribute.part_count();
    return count;
}

}  // namespace wire::mad
