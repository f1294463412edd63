#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/field.h"

namespace dissect {
struct RegisteredField;
}

namespace dissect::filter {

/// The types of the language. Headings are the bytes they span.
enum class Type : std::uint8_t {
    untyped,  ///< a literal, whose type follows from what it is compared with
    number,
    boolean,
    time,     ///< nanoseconds
    decimal,  ///< a number with decimals, in parts of 10^-9
    octets,
    ipv4,
    ipv6,
    ether,
    text,
};

constexpr Type type_of(wire::Kind kind) {
    switch (kind) {
        case wire::Kind::none:
        case wire::Kind::bytes: return Type::octets;
        case wire::Kind::boolean: return Type::boolean;
        case wire::Kind::ipv4: return Type::ipv4;
        case wire::Kind::ipv6: return Type::ipv6;
        case wire::Kind::ether: return Type::ether;
        case wire::Kind::string: return Type::text;
        case wire::Kind::time: return Type::time;
        case wire::Kind::uint8:
        case wire::Kind::uint16:
        case wire::Kind::uint24:
        case wire::Kind::uint32:
        case wire::Kind::uint64: break;
    }
    return Type::number;
}

/// A field's type; `frame.time`, a text that carries its nanoseconds, is a time.
Type type_of(const wire::FieldInfo& info);
/// The same, and decimal if the field has a form and is held like a time.
Type type_of(const RegisteredField& field);

constexpr bool is_fixed_point(Type type) { return type == Type::time || type == Type::decimal; }

/// Whether values of the type are held as a number; all others are held as bytes.
constexpr bool is_numeric(Type type) { return type == Type::number || type == Type::boolean || is_fixed_point(type); }

constexpr std::string_view name_of(Type type) {
    switch (type) {
        case Type::untyped: return "a literal";
        case Type::number: return "a number";
        case Type::boolean: return "a boolean";
        case Type::time: return "a time";
        case Type::decimal: return "a number with decimals";
        case Type::octets: return "bytes";
        case Type::ipv4: return "an IPv4 address";
        case Type::ipv6: return "an IPv6 address";
        case Type::ether: return "a MAC address";
        case Type::text: return "a string";
    }
    return {};
}

/// Holds every unsigned 64-bit value and results of arithmetic with a few of them.
__extension__ using Wide = __int128;

/// A value while a filter runs. Bytes belong to the packet, the filter or its scratch space.
struct Operand {
    static constexpr std::uint8_t no_prefix = 255;

    Wide number = 0;
    const char* data = nullptr;
    std::uint32_t size = 0;
    std::uint8_t prefix = no_prefix;  ///< of an address with a prefix length: only this number of bits is compared

    std::string_view octets() const { return {data, size}; }
};

}  // namespace dissect::filter
