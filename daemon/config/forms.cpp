#include "daemon/config/forms.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <climits>
#include <string>
#include <sys/un.h>

#include "base/ascii.h"
#include "fleet/client/http_client.h"
#include "fleet/schema/sql.h"
#include "upper/assignment.h"

namespace service::inline config::forms {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_absolute(std::string_view path, std::size_t most) {
    return path.starts_with('/') && path.size() <= most && std::none_of(path.begin(), path.end(), is_control);
}

/// No blank, no slash, no control character: what the kernel takes as a device's name, and patterns of it.
bool is_word(std::string_view word, std::size_t most) {
    return !word.empty() && word.size() <= most && word != "." && word != ".." &&
           std::none_of(word.begin(), word.end(), [](char c) { return is_control(c) || c == ' ' || c == '/'; });
}

bool is_port(std::string_view text) {
    unsigned port = 0;
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, port);
    return code == std::errc{} && stop == end && port <= 65535;
}

bool is_host(std::string_view host) {
    if (host.empty()) return true;
    int family = AF_INET;
    if (host.starts_with('[')) {
        if (!host.ends_with(']')) return false;
        host = host.substr(1, host.size() - 2);
        family = AF_INET6;
    }
    in6_addr address{};
    return inet_pton(family, std::string(host).c_str(), &address) == 1;
}

}  // namespace

bool is_empty_or_absolute(std::string_view path) { return path.empty() || is_absolute(path, PATH_MAX - 1); }

bool is_empty_or_socket(std::string_view path) {
    return path.empty() || (is_absolute(path, sizeof(sockaddr_un::sun_path) - 1) && !path.ends_with('/'));
}

bool is_interface_pattern(std::string_view pattern) {
    // Longer than any name that the kernel has (alternative names have up to 127 bytes).
    return is_word(pattern, 127) && pattern.find(':') == std::string_view::npos;
}

bool is_event_pattern(std::string_view pattern) {
    return is_word(pattern, 127) && pattern.front() != ':' && pattern.back() != ':';
}

bool is_assignment(std::string_view text) { return upper::parse_assignment(std::string(text)).ok(); }

bool is_empty_or_url(std::string_view url) { return url.empty() || fleet::client::is_url(url); }

bool is_database_name(std::string_view name) { return fleet::schema::is_name(name); }

bool is_short_text(std::string_view text) {
    return text.size() <= 255 && std::none_of(text.begin(), text.end(), is_control);
}

bool is_device_name(std::string_view name) { return is_word(name, 63); }

bool is_empty_or_device_name(std::string_view name) { return name.empty() || is_device_name(name); }

bool is_empty_or_listen_address(std::string_view address) {
    if (address.empty()) return true;
    const std::size_t colon = address.rfind(':');
    return colon != std::string_view::npos && is_host(address.substr(0, colon)) && is_port(address.substr(colon + 1));
}

bool is_empty_or_account(std::string_view name) {
    if (name.empty()) return true;
    if (name.size() > 32 || name.front() == '-') return false;
    const bool numeric = std::all_of(name.begin(), name.end(), base::is_digit);
    return !numeric && std::all_of(name.begin(), name.end(),
                                   [](char c) { return base::is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
}

bool is_trigger_name(std::string_view name) {
    return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
        return base::is_alphanumeric(c) || c == '-' || c == '_';
    });
}

}  // namespace service::config::forms
