#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace exporters::prometheus {

/// The parts of a request that the listener needs: views into the bytes received. RFC 9112.
struct HttpRequest {
    std::string_view method;
    std::string_view path;             ///< without a query
    std::string_view accept_encoding;  ///< empty if absent
};

enum class HttpProgress : std::uint8_t { incomplete, complete, malformed, too_long };
inline constexpr std::size_t longest_request = 8192;  ///< bytes of request line and headers

/// Parses what has been received so far. A body is ignored.
HttpProgress parse_request(std::string_view received, HttpRequest& request);

/// What may stand around a value of a header. RFC 9110, 5.6.3.
inline constexpr std::string_view header_blanks = " \t";

}  // namespace exporters::prometheus
