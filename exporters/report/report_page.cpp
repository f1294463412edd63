#include "exporters/report/report_page.h"

#include <span>

namespace exporters::report {

/// The page that web/ built, or the sentences of reason_of_no_page().
extern const std::span<const unsigned char> page_bytes;

namespace {

/// Stands in the page where the document comes.
constexpr std::string_view place = "@DATA@";
/// Stands in the page's policy where the hosts come that the page may ask for data.
constexpr std::string_view hosts_place = "@CONNECT@";

std::string_view page() {
    return {reinterpret_cast<const char*>(page_bytes.data()), page_bytes.size()};  // NOLINT: bytes as characters
}

}  // namespace

bool has_page() { return page().find(place) != std::string_view::npos; }

std::string_view reason_of_no_page() { return has_page() ? std::string_view{} : page(); }

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

namespace {

/// The page with a document, and with the hosts that the page may ask.
std::string filled_page(std::string_view hosts, std::string_view document) {
    const std::size_t hosts_at = page().find(hosts_place);
    const std::size_t at = page().find(place);
    std::string out;
    if (at == std::string_view::npos || hosts_at > at) return out;
    const std::size_t after_hosts = hosts_at + hosts_place.size();
    out.reserve(page().size() + document.size());
    out += page().substr(0, hosts_at);
    out += hosts;
    out += page().substr(after_hosts, at - after_hosts);
    out += escaped_for_element(document);
    out += page().substr(at + place.size());
    return out;
}

}  // namespace

std::string report_page(std::string_view document) { return filled_page("'none'", document); }

std::string live_page() { return filled_page("'self'", R"({"live":true})"); }

std::string live_policy() {
    constexpr std::string_view begin = "http-equiv=\"Content-Security-Policy\" content=\"";
    const std::string page = live_page();
    const std::size_t at = page.find(begin);
    if (at == std::string::npos) return "default-src 'none'";
    const std::size_t from = at + begin.size();
    return page.substr(from, page.find('"', from) - from);
}

}  // namespace exporters::report
