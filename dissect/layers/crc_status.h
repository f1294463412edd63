#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "dissect/dissection.h"
#include "wire/field.h"

namespace dissect::inline layers {

/// Wireshark's numbers and words for the status of a checksum.
inline constexpr std::array<wire::ValueName, 5> crc_status_names{
    {{0, "Bad"}, {1, "Good"}, {2, "Unverified"}, {3, "Not present"}, {4, "Illegal"}}};

constexpr std::uint64_t number_of(CrcStatus status) {
    switch (status) {
        case CrcStatus::bad: return 0;
        case CrcStatus::good: return 1;
        case CrcStatus::unchecked: return 2;
        case CrcStatus::absent: break;
    }
    return 3;
}

constexpr wire::FieldInfo crc_status_field(std::string_view name, std::string_view label) {
    return {name, label, 0, 0, wire::Kind::uint8, wire::Base::dec, false, crc_status_names};
}

}  // namespace dissect::layers
