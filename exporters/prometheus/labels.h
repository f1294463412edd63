#pragma once
#include <string>
#include <string_view>

namespace exporters::prometheus {

/// What a label says of everything that has no value of its own.
inline constexpr std::string_view other = "other";

/// A text as a label value may be: valid UTF-8 (a single other byte would make a server refuse all of a scrape), at
/// most 128 bytes, never `other`.
std::string label_value(std::string_view text);

}  // namespace exporters::prometheus
