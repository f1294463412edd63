#include "daemon/http/access.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <fmt/core.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/open_file.h"

namespace service::http {
namespace {

constexpr std::size_t shortest_token = 16;

/// The bytes of a base64 text; no value if it is invalid. RFC 4648, 4.
std::optional<std::string> from_base64(std::string_view text) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    while (text.ends_with('=')) text.remove_suffix(1);
    std::string out;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char letter : text) {
        const std::size_t value = letters.find(letter);
        if (value == std::string_view::npos) return {};
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out += static_cast<char>(bits >> count & 0xff);
    }
    return out;
}

/// "localhost:14791" -> "localhost", "[::1]:14791" -> "::1". A bracket without its end stays, so that it is no address.
std::string_view without_port(std::string_view host) {
    const std::size_t end = host.starts_with('[') ? host.find(']') : std::string_view::npos;
    if (end != std::string_view::npos) return host.substr(1, end - 1);
    return host.substr(0, host.find(':'));
}

/// Whether a Host header is an address, "localhost" or empty. A page of another host, whose name was made to lead to
/// 127.0.0.1, sends its own name.
bool is_local_name(std::string_view host) {
    const std::string name(without_port(host));
    if (name.empty() || base::same_word(name, "localhost")) return true;
    std::array<unsigned char, sizeof(in6_addr)> address{};
    return inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
           inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

bool is_same_origin(std::string_view origin, std::string_view host) {
    const std::size_t slashes = origin.find("://");
    return slashes != std::string_view::npos && origin.substr(slashes + 3) == host;
}

}  // namespace

bool equal_in_constant_time(std::string_view given, std::string_view secret) {
    unsigned difference = given.size() == secret.size() ? 0 : 1;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const char other = secret.empty() ? '\0' : secret[i % secret.size()];
        difference |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other));
    }
    return difference == 0;
}

std::optional<std::string> secret_of(std::string_view authorization) {
    const std::size_t blank = authorization.find(' ');
    if (blank == std::string_view::npos) return {};
    const std::string_view scheme = authorization.substr(0, blank);
    const std::string_view rest = base::trimmed(authorization.substr(blank + 1));
    if (base::same_word(scheme, "Bearer")) return std::string(rest);
    if (!base::same_word(scheme, "Basic")) return {};
    const auto pair = from_base64(rest);
    if (!pair) return {};
    const std::size_t colon = pair->find(':');
    if (colon == std::string::npos) return {};
    return pair->substr(colon + 1);
}

std::optional<Response> Access::refusal(const Request& request) const {
    if (!token_.empty()) {
        const auto secret = secret_of(request.authorization);
        if (!secret || !equal_in_constant_time(*secret, token_)) {
            Response response = plain(401, "The token of http.token_file is required.\n");
            response.headers.emplace_back("WWW-Authenticate", R"(Basic realm="rdmascope", charset="UTF-8")");
            return response;
        }
    } else if (!request.is_local) {
        return plain(
            403, "Without http.token_file, only this machine sees the page. Other hosts see /metrics and /healthz.\n");
    } else if (!is_local_name(request.host)) {
        return plain(403, "The Host header is not a name of this machine: use 127.0.0.1 or localhost.\n");
    }
    return request.method == "POST" ? refusal_to_write(request) : std::nullopt;
}

/// Another host's page can make a browser send a form, but not with this type, and not with the origin of this page.
std::optional<Response> Access::refusal_to_write(const Request& request) const {
    if (!permits_writes_) return plain(403, "This daemon is read-only: http.writes is false.\n");
    if (!base::same_word(
            base::trimmed(std::string_view(request.content_type).substr(0, request.content_type.find(';'))),
            "application/json"))
        return plain(415, "The type of the body must be application/json.\n");
    if (!request.origin.empty() && !is_same_origin(request.origin, request.host))
        return plain(403, "The request comes from another host's page.\n");
    return std::nullopt;
}

base::Result<std::string> read_token(const std::string& path) {
    const auto file = base::open_regular_file(path);
    if (!file) return base::failure(fmt::format("http.token_file: {}", file.error().reason), path);
    struct stat facts {};
    if (fstat(file->number(), &facts) != 0 || (facts.st_mode & S_IROTH) != 0)
        return base::failure("http.token_file: every user can read it; use chmod o-r", path);
    const std::string text = base::read_file(file->number(), 4096).value_or("");
    std::string token(base::trimmed(std::string_view(text).substr(0, text.find('\n'))));
    if (token.size() < shortest_token)
        return base::failure(fmt::format("http.token_file: the token has {} characters, at least {} are expected; make "
                                         "one with `openssl rand -hex 32`",
                                         token.size(), shortest_token),
                             path);
    return token;
}

}  // namespace service::http
