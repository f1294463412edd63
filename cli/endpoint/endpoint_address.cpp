#include "cli/endpoint/endpoint_address.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>

namespace cli::endpoint {

namespace {

bool take_port(std::string_view text, bool zero, std::uint16_t& into) {
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, into);
    return code == std::errc{} && stop == end && (into != 0 || zero);
}

}  // namespace

std::string take_address(const std::string& text, bool listening, Address& into) {
    std::string wanted = "an address such as 127.0.0.1:7174, [::1]:7174 or server.example:7174";
    const std::string_view all(text);
    Address found;
    std::string_view host = all;
    std::string_view port;
    if (all.starts_with('[')) {
        const std::size_t close = all.find(']');
        if (close == std::string_view::npos) return wanted;
        host = all.substr(1, close - 1);
        port = all.substr(close + 1);
        if (host.empty() || (!port.empty() && port.front() != ':')) return wanted;
    } else if (std::count(all.begin(), all.end(), ':') == 1) {
        host = all.substr(0, all.find(':'));
        port = all.substr(all.find(':'));
    }
    const bool odd = std::any_of(host.begin(), host.end(),
                                 [](unsigned char c) { return c <= ' ' || c == '/' || c == '@' || c == 0x7f; });
    if (all.empty() || odd || (!port.empty() && !take_port(port.substr(1), listening, found.port))) return wanted;
    if (!host.empty()) found.host = host;
    into = found;
    return {};
}

std::string text_of(const Address& address) {
    const bool colons = address.host.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", colons ? "[" : "", address.host, colons ? "]" : "", address.port);
}

bool is_loopback(std::string_view host) {
    return host == "localhost" || host == "ip6-localhost" || host == "::1" || host.starts_with("127.") ||
           host.starts_with("::ffff:127.");
}

}  // namespace cli::endpoint
