#pragma once
#include <string_view>
#include <vector>

#include "dissect/dissector.h"
#include "wire/frame.h"

/// Frames of the capture rxe-rping and others, so that what tshark says of them can stand next to them.
namespace frames {

/// Octets of hexadecimal digits; blanks are passed over.
inline std::vector<std::byte> from_hex(std::string_view digits) {
    std::vector<std::byte> octets;
    unsigned high = 0;
    bool half = false;
    for (const char c : digits) {
        if (c == ' ' || c == '\n') continue;
        const auto nibble = static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
        if (half) octets.push_back(static_cast<std::byte>(high << 4 | nibble));
        high = nibble;
        half = !half;
    }
    return octets;
}

/// Number 20: a SEND Only of 16 octets.
inline constexpr std::string_view send_only =
    "525400000002 525400000001 0800 4500003c0e3e40004011a86fc0000201c0000202 e26812b700280000"
    "0400ffff0000001180646755 00000000000000000000000000000000 43dad73f";
inline constexpr std::int64_t send_only_time_ns = 1795225249'783379000;
/// Number 21: its acknowledgement.
inline constexpr std::string_view acknowledge =
    "525400000001 525400000002 0800 45000030d1b840004011e500c0000202c0000201 e26812b7001c0000"
    "1100ffff0000001100646755 1f000006 e8d80beb";
inline constexpr std::int64_t acknowledge_time_ns = 1795225249'784535000;

inline wire::Frame frame(const std::vector<std::byte>& octets, std::uint64_t number, std::int64_t time_ns) {
    wire::Frame made;
    made.bytes = octets;
    made.wire_length = static_cast<std::uint32_t>(octets.size());
    made.number = number;
    made.time_ns = time_ns;
    return made;
}

/// Shows both frames, as numbers 20 and 21.
template <class Printer>
void show_both(Printer& printer) {
    const auto first = from_hex(send_only);
    const auto second = from_hex(acknowledge);
    dissect::Dissector dissector;
    printer.begin();
    const wire::Frame frames[] = {frame(first, 20, send_only_time_ns), frame(second, 21, acknowledge_time_ns)};
    for (const wire::Frame& each : frames) {
        dissector.dissect(each, printer);
        printer.end_frame(true);
    }
    printer.finish();
}

}  // namespace frames
