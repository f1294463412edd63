#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace exporters::prometheus {

/// Of a request, what the listener looks at: views into the octets received. RFC 9112.
struct HttpRequest {
    std::string_view method;
    std::string_view path;             ///< without a query
    std::string_view accept_encoding;  ///< empty where there is none
};

enum class HttpProgress : std::uint8_t { incomplete, complete, malformed, too_long };
inline constexpr std::size_t longest_request = 8192;  ///< octets of request line and headers

/// Takes apart what has been received so far. A body is not looked at.
HttpProgress parse_request(std::string_view received, HttpRequest& request);

/// ASCII letters' case apart, as header names and codings are.
bool same_word(std::string_view a, std::string_view b);
std::string_view trimmed(std::string_view text);  ///< of blanks and tabs

}  // namespace exporters::prometheus
