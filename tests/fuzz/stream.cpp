/// Fuzz target `stream`: TCP segments of a few connections, whose order, places, flags and cuts the input chooses. It
/// is a row of records: control octet, displacement (a signed octet), length (two octets, little-endian), payload.
/// Control: bits 0-1 connection, bit 2 direction, bit 3 SYN, bit 4 FIN, bit 5 the capture keeps 24 octets less, bit 6
/// the displacement counts 16 MiB, bit 7 RST.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"

namespace {

constexpr std::size_t headers = 40;  // IPv4 and TCP, without options

struct Connection {
    std::array<std::uint32_t, 2> next{0xffffff00, 0x7fffff00};
};

void write_headers(std::byte* packet, std::size_t payload, unsigned connection, bool backwards, std::uint8_t flags,
                   const Connection& state) {
    std::memset(packet, 0, headers);
    packet[0] = std::byte{0x45};
    base::store_be16(packet + 2, static_cast<std::uint16_t>(headers + payload));
    packet[8] = std::byte{64};
    packet[9] = std::byte{6};
    base::store_be32(packet + (backwards ? 16 : 12), 0xc0000201);
    base::store_be32(packet + (backwards ? 12 : 16), 0xc0000202);
    base::store_be16(packet + (backwards ? 22 : 20), static_cast<std::uint16_t>(40000 + connection));
    base::store_be16(packet + (backwards ? 20 : 22), 7174);
    base::store_be32(packet + 28, state.next[backwards ? 0 : 1]);
    packet[32] = std::byte{0x50};
    packet[33] = std::byte{flags};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    dissect::Dissector dissector(fuzz::small_bounds());
    fuzz::CheckingSink sink(true);
    std::array<Connection, 4> connections;
    std::vector<std::byte> packet;
    wire::Frame frame;
    frame.link_type = wire::LinkType::raw;
    while (size >= 4) {
        const std::uint8_t control = data[0];
        const bool far = (control & 0x40) != 0;
        const auto displacement = static_cast<std::int32_t>(static_cast<std::int8_t>(data[1])) * (far ? 1 << 24 : 1);
        const std::size_t payload = std::min<std::size_t>(data[2] | static_cast<std::size_t>(data[3]) << 8, size - 4);
        const bool backwards = (control & 4) != 0;
        const bool syn = (control & 8) != 0;
        Connection& connection = connections[control & 3];
        packet.resize(headers + payload);
        const auto flags = static_cast<std::uint8_t>((syn ? 2 : 0x18) | ((control & 0x10) != 0 ? 1 : 0) |
                                                     (syn && backwards ? 0x10 : 0) | ((control & 0x80) != 0 ? 4 : 0));
        write_headers(packet.data(), payload, control & 3, backwards, flags, connection);
        std::uint32_t& next = connection.next[backwards ? 1 : 0];
        base::store_be32(packet.data() + 24, next + static_cast<std::uint32_t>(displacement));
        if (payload != 0) std::memcpy(packet.data() + headers, data + 4, payload);
        next += static_cast<std::uint32_t>(displacement) + static_cast<std::uint32_t>(payload) + (syn ? 1 : 0);

        const std::size_t cut = (control & 0x20) != 0 ? std::min<std::size_t>(24, payload) : 0;
        frame.bytes = std::span(packet).first(packet.size() - cut);
        frame.wire_length = static_cast<std::uint32_t>(packet.size());
        frame.time_ns += 1000;
        ++frame.number;
        dissector.dissect(frame, sink);
        data += 4 + payload;
        size -= 4 + payload;
    }
    dissector.finish(sink);
    return 0;
}
