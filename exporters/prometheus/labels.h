#pragma once
#include <string>
#include <string_view>

namespace exporters::prometheus {

/// The label value for everything without a value of its own.
inline constexpr std::string_view other = "other";

/// A text as a valid label value: UTF-8 (a single other byte would make a server refuse a whole scrape), at most 128
/// bytes, never `other`.
std::string label_value(std::string_view text);

}  // namespace exporters::prometheus
