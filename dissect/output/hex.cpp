#include "dissect/output/hex.h"

#include <algorithm>

#include "base/text_format.h"

namespace dissect::output {

namespace {

constexpr std::size_t octets_per_line = 16;
constexpr std::size_t hex_width = octets_per_line / 2 * 5;

unsigned code(std::byte octet) { return std::to_integer<unsigned>(octet); }
bool is_graphic(std::byte octet) { return code(octet) > 0x20 && code(octet) < 0x7f; }

void append_line(std::string& out, base::Bytes octets, std::size_t offset, bool with_ascii) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += '\t';
    base::append_hex(out, offset, 4);
    out += ": ";
    for (std::size_t i = 0; i < octets.size(); ++i) {
        if (i % 2 == 0) out += ' ';
        out += digits[code(octets[i]) >> 4];
        out += digits[code(octets[i]) & 15];
    }
    if (with_ascii) {
        const std::size_t written = octets.size() * 2 + (octets.size() + 1) / 2;
        out.append(hex_width - written + 2, ' ');
        for (const std::byte octet : octets) out += is_graphic(octet) ? static_cast<char>(octet) : '.';
    }
    out += '\n';
}

void append_ascii(std::string& out, base::Bytes octets) {
    for (std::size_t i = 0; i < octets.size(); ++i) {
        const char c = static_cast<char>(octets[i]);
        if (c == '\r') {
            // One that ends a line is left out; and so, as tcpdump does it, is one among the last two bytes.
            if (i + 2 < octets.size() && static_cast<char>(octets[i + 1]) != '\n') out += '.';
        } else {
            out += is_graphic(octets[i]) || c == '\t' || c == ' ' || c == '\n' ? c : '.';
        }
    }
    out += '\n';
}

bool is_link(LayerId id) {
    switch (id) {
        case LayerId::ethernet:
        case LayerId::linux_sll:
        case LayerId::linux_sll2:
        case LayerId::null_loopback:
        case LayerId::raw_ip:
        case LayerId::ppi:
        case LayerId::erf:
        case LayerId::ipoib:
        case LayerId::vlan:
        case LayerId::llc: return true;
        default: return false;
    }
}

}  // namespace

void append_dump(std::string& out, base::Bytes octets, OctetDump form) {
    if (form == OctetDump::none) return;
    if (form == OctetDump::ascii) return append_ascii(out, octets);
    for (std::size_t at = 0; at < octets.size(); at += octets_per_line)
        append_line(out, octets.subspan(at, std::min(octets_per_line, octets.size() - at)), at,
                    form == OctetDump::hex_ascii);
}

std::uint32_t link_length(const Dissection& dissection) {
    std::uint32_t end = 0;
    for (unsigned i = 0; i < dissection.layer_count && is_link(dissection.layers[i].id); ++i)
        end = dissection.layers[i].offset + dissection.layers[i].length;
    return end;
}

}  // namespace dissect::output
