#include <algorithm>
#include <fmt/core.h>
#include <string>
#include <string_view>

#include "iwarp/rdmap/end_reason.h"
#include "iwarp/rdmap/inbound.h"
#include "wire/terminate.h"

namespace iwarp::rdmap {

namespace {

/// The tables' words are titles; within a sentence only abbreviations keep their capitals.
std::string within_sentence(std::string_view words) {
    std::string text{words};
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        const auto small = [](char c) { return c < 'A' || c > 'Z'; };
        if (!small(text[begin]) && std::all_of(&text[begin] + 1, text.data() + end, small))
            text[begin] = static_cast<char>(text[begin] - 'A' + 'a');
        begin = end + 1;
    }
    return text;
}

std::string_view type_name(std::uint8_t layer, std::uint8_t type) {
    return layer < 3 ? wire::name_of(wire::terminate_type_field(layer).values, type) : std::string_view{};
}

}  // namespace

std::string terminate_text(std::uint8_t layer, std::uint8_t type, std::uint8_t code) {
    const auto type_words = type_name(layer, type);
    std::string text = layer == 2  ? std::string{}
                       : layer < 2 ? fmt::format("{} ", wire::name_of(wire::terminate_layers, layer))
                                   : fmt::format("layer {} ", layer);
    if (layer == 2 && type == 0)
        text += "MPA error";
    else if (layer == 2)
        text += fmt::format("LLP error type {}", type);
    else if (type_words.empty())
        text += fmt::format("error type {}", type);
    else
        text += within_sentence(type_words);
    if (layer < 2 && type == 0) return text;  // has no codes
    const auto code_words = wire::terminate_code_name(layer, type, code);
    return text + ": " + (code_words.empty() ? fmt::format("code 0x{:02x}", code) : within_sentence(code_words));
}

Terminate parse_terminate(base::Bytes body) {
    Terminate result;
    const auto parts = wire::parse_terminate(body);
    if (!parts) {
        result.text = fmt::format("a Terminate of {} bytes, too short to say why", body.size());
        return result;
    }
    result.layer = parts->control.layer;
    result.type = parts->control.type;
    result.code = parts->control.code;
    result.text = terminate_text(result.layer, result.type, result.code);
    explain_terminate(result, body);
    return result;
}

}  // namespace iwarp::rdmap
