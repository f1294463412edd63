#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace dissect::filter {

/// A field's value by the name that Wireshark gives it, if ours differs: lines and trees have the short names of the
/// RFCs, filters of Wireshark's users have these.
std::optional<std::uint64_t> value_in_wireshark(std::string_view field, std::string_view name);

}  // namespace dissect::filter
