#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

#include "wire/field.h"
#include "wire/layout.h"

namespace wire {

/// A field of an attribute by its name. In a constant expression, a name that the table lacks does not compile.
constexpr FieldInfo field_named(std::span<const FieldInfo> fields, std::string_view name) {
    for (const FieldInfo& field : fields)
        if (field.name == name) return field;
    throw std::invalid_argument("the attribute has no such field");
}

/// The caller has checked that the attribute has the field's bits.
constexpr std::uint64_t read_field(const std::byte* attribute, const FieldInfo& field) {
    return read_bits(attribute, field.bit_offset, field.bit_width);
}

}  // namespace wire
