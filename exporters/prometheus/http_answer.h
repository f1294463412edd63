#pragma once
#include <string>
#include <string_view>

#include "exporters/prometheus/http_listener.h"
#include "exporters/prometheus/http_request.h"

namespace exporters::prometheus {

/// The whole answer, headers and body (none for HEAD). Exceptions of `pages` become 500.
std::string http_answer(const HttpRequest& request, const Pages& pages);
/// The answer to an invalid request: 400, or 431 if it is too long.
std::string http_refusal(HttpProgress why);

/// Whether an Accept-Encoding header accepts gzip. RFC 9110, 12.5.3.
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace exporters::prometheus
