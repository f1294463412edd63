#pragma once
#include <cstdint>

namespace dissect {

/// TCP's flags as TcpSummary has them. RFC 9293, 3.1; RFC 3168, 6.1.
enum TcpFlag : std::uint8_t {
    tcp_fin = 0x01,
    tcp_syn = 0x02,
    tcp_rst = 0x04,
    tcp_ack = 0x10,
    tcp_ece = 0x40,
    tcp_cwr = 0x80
};

}  // namespace dissect
