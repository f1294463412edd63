#pragma once
#include <array>
#include <cstdint>

#include "dissect/dissection.h"
#include "dissect/tcp/connection_state.h"
#include "wire/frame.h"

namespace dissect::tcp {

/// Replaces a frame of the side that sent a unit, if another frame or the capture's end made the unit due. It has the
/// number and time of that frame, and the addresses of this side.
struct StandIn {
    StandIn(const wire::Frame& last, const Endpoint& source, const Endpoint& destination) : frame(last) {
        const bool ipv4 = source.high == 0 && source.low >> 32 == 4;
        const std::uint32_t size = ipv4 ? 4 : 16;
        put(source, ipv4, octets.data());
        put(destination, ipv4, octets.data() + size);
        frame.bytes = base::Bytes{octets}.first(2 * std::size_t{size});
        frame.wire_length = 2 * size;
        dissection.network.family = ipv4 ? Network::Family::ipv4 : Network::Family::ipv6;
        dissection.network.destination_offset = size;
        dissection.tcp = {};
        dissection.present.insert(LayerId::tcp);
        dissection.source_port = static_cast<std::uint16_t>(source.port);
        dissection.destination_port = static_cast<std::uint16_t>(destination.port);
    }
    StandIn(const StandIn&) = delete;
    StandIn& operator=(const StandIn&) = delete;

    std::array<std::byte, 32> octets{};
    wire::Frame frame;
    Dissection dissection;

private:
    static void put(const Endpoint& end, bool ipv4, std::byte* to) {
        if (ipv4) return base::store_be32(to, static_cast<std::uint32_t>(end.low));
        base::store_be64(to, end.high);
        base::store_be64(to + 8, end.low);
    }
};

}  // namespace dissect::tcp
