#include "fleet/schema/sql.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/ascii.h"

namespace fleet::schema {

/// Bytes other than printable ASCII are written as \xNN, which every version reads: no byte of a value can end the
/// literal, or be taken as another encoding's quote.
std::string text(std::string_view value) {
    std::string out = "'";
    for (const char c : value) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\\' || c == '\'')
            out.append(1, '\\').append(1, c);
        else if (byte < 0x20 || byte > 0x7e)
            out += fmt::format("\\x{:02X}", byte);
        else
            out += c;
    }
    return out + '\'';
}

bool is_name(std::string_view name) {
    constexpr std::size_t most = 64;
    return !name.empty() && name.size() <= most && !base::is_digit(name.front()) &&
           std::ranges::all_of(name, [](char c) { return base::is_alphanumeric(c) || c == '_'; });
}

}  // namespace fleet::schema
