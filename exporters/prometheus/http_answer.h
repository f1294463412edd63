#pragma once
#include <string>
#include <string_view>

#include "exporters/prometheus/listener.h"

namespace exporters::prometheus {

struct HttpRequest {
    std::string_view method;
    std::string_view path;             ///< without a query
    std::string_view accept_encoding;  ///< empty where there is none
};

/// The whole answer, headers and body (none for HEAD). Exceptions of `pages` become 500.
std::string http_answer(const HttpRequest& request, const Pages& pages);

/// Whether an Accept-Encoding header takes gzip. RFC 9110, 12.5.3.
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace exporters::prometheus
