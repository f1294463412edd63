#include "exporters/prometheus/http_request.h"

#include <algorithm>

#include "base/ascii.h"

namespace exporters::prometheus {
namespace {

constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_visible(char c) { return c > ' ' && c < 0x7f; }

/// Takes the next line, without its end, from `rest`. A bare LF ends one, too: RFC 9112, 2.2.
std::string_view take_line(std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
}

/// "/metrics?x=1" and "http://host:9879/metrics" are both /metrics.
std::string_view path_of(std::string_view target) {
    constexpr std::string_view scheme = "http://";
    if (target.starts_with(scheme)) {
        const std::size_t slash = target.find('/', scheme.size());
        target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    }
    return target.substr(0, target.find('?'));
}

bool parse_request_line(std::string_view line, HttpRequest& request) {
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == std::string_view::npos || first == last) return false;
    request.method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, last - first - 1);
    request.path = path_of(target);
    return !request.method.empty() && std::all_of(request.method.begin(), request.method.end(), is_upper) &&
           !target.empty() && std::all_of(target.begin(), target.end(), is_visible) &&
           line.substr(last + 1).starts_with("HTTP/1.");
}

}  // namespace

HttpProgress parse_request(std::string_view received, HttpRequest& request) {
    // An empty line before the request is ignored: RFC 9112, 2.2.
    while (received.starts_with("\r\n")) received.remove_prefix(2);
    const std::string_view in_bounds = received.substr(0, longest_request);
    const bool complete =
        in_bounds.find("\r\n\r\n") != std::string_view::npos || in_bounds.find("\n\n") != std::string_view::npos;
    // What does not begin like a request never becomes one.
    if (!received.empty() && !is_upper(received.front())) return HttpProgress::malformed;
    if (!complete) return received.size() >= longest_request ? HttpProgress::too_long : HttpProgress::incomplete;
    std::string_view rest = in_bounds;
    if (!parse_request_line(take_line(rest), request)) return HttpProgress::malformed;
    while (!rest.empty()) {
        const std::string_view line = take_line(rest);
        if (line.empty()) break;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return HttpProgress::malformed;
        if (base::same_word(line.substr(0, colon), "Accept-Encoding"))
            request.accept_encoding = base::trimmed(line.substr(colon + 1), header_blanks);
    }
    return HttpProgress::complete;
}

}  // namespace exporters::prometheus
