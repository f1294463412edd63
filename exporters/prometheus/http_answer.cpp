#include "exporters/prometheus/http_answer.h"

#include <algorithm>
#include <array>
#include <exception>
#include <fmt/core.h>
#include <optional>
#include <zlib.h>

#include "base/ascii.h"

namespace exporters::prometheus {
namespace {

struct Answer {
    int status = 200;
    std::string_view reason = "OK";
    std::string_view type = "text/plain; charset=utf-8";
    std::string body;
    bool may_be_packed = false;
    std::string headers;
};

Answer metrics_page(const Pages& pages) {
    Answer answer;
    answer.type = "text/plain; version=0.0.4; charset=utf-8";
    answer.body = pages.metrics();
    answer.may_be_packed = true;
    return answer;
}
Answer health_page(const Pages& pages) {
    Pages::Health health = pages.health();
    Answer answer;
    if (!health.ok) {
        answer.status = 503;
        answer.reason = "Service Unavailable";
    }
    answer.body = std::move(health.text) + '\n';
    return answer;
}
Answer front_page(const Pages& pages) {
    Answer answer;
    answer.type = "text/html; charset=utf-8";
    answer.headers = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n";
    answer.body = pages.front();
    return answer;
}

struct Page {
    std::string_view path;
    Answer (*make)(const Pages&);
};
constexpr std::array<Page, 3> known_pages{{{"/metrics", metrics_page}, {"/healthz", health_page}, {"/", front_page}}};

Answer answer_to(const HttpRequest& request, const Pages& pages) {
    const auto* page = std::find_if(known_pages.begin(), known_pages.end(),
                                    [&](const Page& known) { return known.path == request.path; });
    Answer answer;
    if (page == known_pages.end()) {
        answer.status = 404;
        answer.reason = "Not Found";
        answer.body = "Not here. There are /metrics, /healthz and /.\n";
        return answer;
    }
    if (request.method != "GET" && request.method != "HEAD") {
        answer.status = 405;
        answer.reason = "Method Not Allowed";
        answer.headers = "Allow: GET, HEAD\r\n";
        answer.body = "This page is for GET and HEAD.\n";
        return answer;
    }
    try {
        return page->make(pages);
    } catch (const std::exception& error) {
        answer.status = 500;
        answer.reason = "Internal Server Error";
        answer.body = fmt::format("The page could not be made: {}\n", error.what());
        return answer;
    }
}

std::optional<std::string> gzip(const std::string& plain) {
    z_stream stream{};
    constexpr int gzip_window = 15 + 16;
    // The fastest level: a scrape is read once, by a machine, every few seconds.
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
    std::string packed(deflateBound(&stream, plain.size()), '\0');
    std::string input = plain;  // zlib's interface is not const
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return done ? std::optional(std::move(packed)) : std::nullopt;
}

/// "q=0", "q=0.0": not accepted at all.
bool is_zero_weight(std::string_view parameter) {
    if (parameter.size() < 3 || !base::same_word(parameter.substr(0, 2), "q=")) return false;
    return parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

std::string whole(const Answer& answer, bool with_body) {
    return fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n{}\r\n{}",
        answer.status, answer.reason, answer.type, answer.body.size(), answer.headers, with_body ? answer.body : "");
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
    while (!accept_encoding.empty()) {
        const std::size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
        const std::string_view item = accept_encoding.substr(0, comma);
        accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
        const std::size_t semicolon = item.find(';');
        if (!base::same_word(base::trimmed(item.substr(0, semicolon), header_blanks), "gzip")) continue;
        return semicolon == std::string_view::npos ||
               !is_zero_weight(base::trimmed(item.substr(semicolon + 1), header_blanks));
    }
    return false;
}

std::string http_answer(const HttpRequest& request, const Pages& pages) {
    Answer answer = answer_to(request, pages);
    if (answer.may_be_packed) {
        answer.headers += "Vary: Accept-Encoding\r\n";
        if (accepts_gzip(request.accept_encoding))
            if (auto packed = gzip(answer.body)) {
                answer.body = std::move(*packed);
                answer.headers += "Content-Encoding: gzip\r\n";
            }
    }
    return whole(answer, request.method != "HEAD");
}

std::string http_refusal(HttpProgress why) {
    Answer answer;
    const bool too_long = why == HttpProgress::too_long;
    answer.status = too_long ? 431 : 400;
    answer.reason = too_long ? "Request Header Fields Too Large" : "Bad Request";
    answer.body = too_long ? "The request is too long.\n" : "This is no HTTP request.\n";
    return whole(answer, true);
}

}  // namespace exporters::prometheus
