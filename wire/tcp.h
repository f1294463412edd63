#pragma once
#include "wire/layout.h"

namespace wire {

/// The fixed part of a TCP header. RFC 9293, 3.1.
struct Tcp {
    std::uint16_t source_port{};
    std::uint16_t destination_port{};
    std::uint32_t sequence{};
    std::uint32_t acknowledgment{};
    std::uint8_t header_words = 5;  ///< in words of four octets, with the options
    std::uint8_t reserved_flags{};
    bool accurate_ecn{};
    bool cwr{};
    bool ece{};
    bool urg{};
    bool ack{};
    bool psh{};
    bool rst{};
    bool syn{};
    bool fin{};
    std::uint16_t window{};
    std::uint16_t checksum{};
    std::uint16_t urgent_pointer{};
    bool operator==(const Tcp&) const = default;
};

template <>
inline constexpr auto layout_of<Tcp> = layout("tcp", "Transmission Control Protocol",
    bits<&Tcp::source_port, 16>("tcp.srcport", "Source port"),
    bits<&Tcp::destination_port, 16>("tcp.dstport", "Destination port"),
    bits<&Tcp::sequence, 32>("tcp.seq_raw", "Sequence number (raw)"),
    bits<&Tcp::acknowledgment, 32>("tcp.ack_raw", "Acknowledgment number (raw)"),
    bits<&Tcp::header_words, 4>("", ""),
    bits<&Tcp::reserved_flags, 3>("tcp.flags.res", "Reserved").as(Kind::boolean),
    bits<&Tcp::accurate_ecn, 1>("tcp.flags.ae", "Accurate ECN"),
    bits<&Tcp::cwr, 1>("tcp.flags.cwr", "Congestion window reduced"),
    bits<&Tcp::ece, 1>("tcp.flags.ece", "ECN echo"),
    bits<&Tcp::urg, 1>("tcp.flags.urg", "Urgent"),
    bits<&Tcp::ack, 1>("tcp.flags.ack", "Acknowledgment"),
    bits<&Tcp::psh, 1>("tcp.flags.push", "Push"),
    bits<&Tcp::rst, 1>("tcp.flags.reset", "Reset"),
    bits<&Tcp::syn, 1>("tcp.flags.syn", "Syn"),
    bits<&Tcp::fin, 1>("tcp.flags.fin", "Fin"),
    bits<&Tcp::window, 16>("tcp.window_size_value", "Window"),
    bits<&Tcp::checksum, 16>("tcp.checksum", "Checksum").hex(),
    bits<&Tcp::urgent_pointer, 16>("tcp.urgent_pointer", "Urgent pointer"));
static_assert(size_of<Tcp> == 20);

/// Option kinds. RFC 9293, 3.2; RFC 7323; RFC 2018; RFC 5482; RFC 6994.
namespace tcp_option {
inline constexpr std::uint8_t end = 0;
inline constexpr std::uint8_t no_operation = 1;
inline constexpr std::uint8_t mss = 2;
inline constexpr std::uint8_t window_scale = 3;
inline constexpr std::uint8_t sack_permitted = 4;
inline constexpr std::uint8_t sack = 5;
inline constexpr std::uint8_t timestamp = 8;
inline constexpr std::uint8_t user_timeout = 28;
inline constexpr std::uint8_t experimental1 = 253;
inline constexpr std::uint8_t experimental2 = 254;
}  // namespace tcp_option

inline constexpr ValueName tcp_options[] = {
    {tcp_option::end, "End of options"}, {tcp_option::no_operation, "No operation"}, {tcp_option::mss, "Maximum segment size"},
    {tcp_option::window_scale, "Window scale"}, {tcp_option::sack_permitted, "SACK permitted"}, {tcp_option::sack, "SACK"},
    {tcp_option::timestamp, "Timestamps"}, {tcp_option::user_timeout, "User timeout"},
    {tcp_option::experimental1, "Experiment 1"}, {tcp_option::experimental2, "Experiment 2"},
};

}  // namespace wire
