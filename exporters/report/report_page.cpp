#include "exporters/report/report_page.h"

#include <span>

namespace exporters::report {

/// The page that web/ built, or nothing.
extern const std::span<const unsigned char> page_bytes;

namespace {

/// Stands in the page where the document comes.
constexpr std::string_view place = "@DATA@";

std::string_view page() {
    return {reinterpret_cast<const char*>(page_bytes.data()), page_bytes.size()};  // NOLINT: bytes as characters
}

}  // namespace

bool has_page() { return page().find(place) != std::string_view::npos; }

std::string escaped_for_element(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (const char c : json) {
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

std::string report_page(std::string_view document) {
    const std::size_t at = page().find(place);
    std::string out;
    if (at == std::string_view::npos) return out;
    out.reserve(page().size() + document.size());
    out += page().substr(0, at);
    out += escaped_for_element(document);
    out += page().substr(at + place.size());
    return out;
}

}  // namespace exporters::report
