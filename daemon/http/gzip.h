#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace service::http {

/// Whether an Accept-Encoding header accepts gzip. RFC 9110, 12.5.3.
bool accepts_gzip(std::string_view accept_encoding);

/// The text as a gzip file; no value if memory is short, or if the text has 4 GiB or more.
std::optional<std::string> gzip(const std::string& plain);

}  // namespace service::http
