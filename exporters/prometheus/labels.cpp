#include "exporters/prometheus/labels.h"

#include <algorithm>
#include <cstddef>

namespace exporters::prometheus {
namespace {
constexpr std::size_t most_octets = 128;

/// How many bytes the well-formed character at `text`'s start takes; 0 if absent. Unicode 15, table 3-7.
std::size_t character_length(std::string_view text) {
    const auto octet = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = octet(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((octet(i) & 0xc0) != 0x80) return 0;
    const bool overlong = (lead == 0xe0 && octet(1) < 0xa0) || (lead == 0xf0 && octet(1) < 0x90);
    const bool surrogate = lead == 0xed && octet(1) >= 0xa0;
    const bool beyond = lead == 0xf4 && octet(1) >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}
}  // namespace

std::string label_value(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (out.size() + std::max<std::size_t>(length, 1) > most_octets) break;
        const auto control = static_cast<unsigned char>(text.front()) < 0x20;
        if (length == 0 || control)
            out += '?';
        else
            out += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out == other ? out + "?" : out;
}

}  // namespace exporters::prometheus
