#include "daemon/http/gzip.h"

#include <algorithm>
#include <limits>
#include <zlib.h>

#include "base/ascii.h"

namespace service::http {
namespace {

constexpr std::string_view header_blanks = " \t";

/// "q=0", "q=0.0": not accepted at all.
bool is_zero_weight(std::string_view parameter) {
    if (parameter.size() < 3 || !base::same_word(parameter.substr(0, 2), "q=")) return false;
    return parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
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

std::optional<std::string> gzip(const std::string& plain) {
    if (plain.size() > std::numeric_limits<uInt>::max()) return {};
    z_stream stream{};
    constexpr int gzip_window = 15 + 16;
    // The fastest level: an answer is read once, every few seconds.
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

}  // namespace service::http
