#include "wire/error_text.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/text_format.h"
#include "wire/terminate.h"

namespace wire {
namespace {

constexpr std::string_view nak_words[] = {"PSN sequence error", "invalid request", "remote access error",
                                          "remote operational error", "invalid RD request"};

/// Words in lower case; abbreviations (STag, RDMAP, CRC) keep their capitals.
void append_lower(std::string& out, std::string_view words) {
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    while (!words.empty()) {
        const std::size_t length = std::min(words.find(' '), words.size());
        const std::string_view found = words.substr(0, length);
        const bool one_capital =
            found.size() > 1 && is_capital(found[0]) && std::none_of(found.begin() + 1, found.end(), is_capital);
        out += one_capital ? static_cast<char>(found[0] - 'A' + 'a') : found.empty() ? ' ' : found[0];
        if (!found.empty()) out += found.substr(1);
        words.remove_prefix(length);
        if (!words.empty()) {
            out += ' ';
            words.remove_prefix(1);
        }
    }
}

/// The name in lower case, or the number after its word if there is no name.
void append_name(std::string& out, std::string_view name, std::string_view word, std::uint64_t number,
                 unsigned digits) {
    if (!name.empty()) return append_lower(out, name);
    out += word;
    base::append_hex(out, number, digits);
}

}  // namespace

void append_nak_code(std::string& out, unsigned code) {
    if (code < std::size(nak_words))
        out += nak_words[code];
    else
        out += "code " + std::to_string(code);
}

void append_terminate_reason(std::string& out, std::uint8_t layer, std::uint8_t type, std::uint8_t code) {
    const std::string_view layer_name = name_of(terminate_layers, layer);
    const std::string_view type_name = name_of(terminate_type_field(layer).values, type);
    const std::string_view code_name = terminate_code_name(layer, type, code);
    if (layer == static_cast<std::uint8_t>(TerminateLayer::rdma))
        out += "RDMAP";
    else if (layer_name.empty())
        out += "layer " + std::to_string(layer);
    else
        out += layer_name;
    out += ' ';
    append_name(out, type_name, "type ", type, 1);
    if (code_name == type_name && !code_name.empty()) return;
    out += ": ";
    append_name(out, code_name, "code ", code, 2);
}

}  // namespace wire
