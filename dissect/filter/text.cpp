#include "dissect/filter/text.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>

namespace dissect::filter {

namespace {
constexpr std::string_view digits = "0123456789abcdef";

/// Writes `value` backwards from `end`; where it begins.
char* write_decimal(Wide value, char* end) {
    const bool negative = value < 0;
    do {
        const int digit = static_cast<int>(value % 10);
        *--end = digits[static_cast<std::size_t>(negative ? -digit : digit)];
        value /= 10;
    } while (value != 0);
    if (negative) *--end = '-';
    return end;
}

std::string_view time_text(Wide nanoseconds, TextBuffer& buffer) {
    constexpr Wide ns_per_s = 1'000'000'000;
    char* const end = buffer.data() + buffer.size();
    const bool negative = nanoseconds < 0;
    const Wide size = negative ? -nanoseconds : nanoseconds;
    Wide rest = size % ns_per_s;
    char* at = end;
    for (int i = 0; i < 9; ++i) {
        *--at = digits[static_cast<std::size_t>(rest % 10)];
        rest /= 10;
    }
    *--at = '.';
    at = write_decimal(size / ns_per_s, at);
    if (negative) *--at = '-';
    return {at, static_cast<std::size_t>(end - at)};
}

std::string_view ether_text(std::string_view octets, TextBuffer& buffer) {
    char* at = buffer.data();
    for (const char c : octets.substr(0, 6)) {
        const auto octet = static_cast<unsigned char>(c);
        if (at != buffer.data()) *at++ = ':';
        *at++ = digits[octet >> 4];
        *at++ = digits[octet & 15];
    }
    return {buffer.data(), static_cast<std::size_t>(at - buffer.data())};
}
}  // namespace

std::string_view text_of(const Operand& value, Type type, TextBuffer& buffer) {
    char* const end = buffer.data() + buffer.size();
    switch (type) {
        case Type::boolean: return value.number != 0 ? "True" : "False";
        case Type::time:
        case Type::decimal: return time_text(value.number, buffer);
        case Type::ether: return ether_text(value.octets(), buffer);
        case Type::ipv4:
        case Type::ipv6: {
            const std::size_t size = type == Type::ipv4 ? 4 : 16;
            if (value.size != size) return {};
            const char* text = inet_ntop(type == Type::ipv4 ? AF_INET : AF_INET6, value.data, buffer.data(),
                                         static_cast<socklen_t>(buffer.size()));
            return text == nullptr ? std::string_view{} : text;
        }
        default: break;
    }
    const char* first = write_decimal(value.number, end);
    return {first, static_cast<std::size_t>(end - first)};
}

Operand hexadecimal(std::string_view octets, Arena& arena) {
    Operand text;
    char* place = arena.allocate(std::max<std::size_t>(octets.size() * 2, 1));
    if (place == nullptr) return text;
    text.data = place;
    text.size = static_cast<std::uint32_t>(octets.size() * 2);
    for (const char c : octets) {
        *place++ = digits[static_cast<unsigned char>(c) >> 4];
        *place++ = digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

}  // namespace dissect::filter
