#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "metrics/figures/address.h"
#include "wire/transport.h"

namespace metrics::inline figures {

/// The transport service of a flow. iWARP's is RC.
enum class Service : std::uint8_t { rc, uc, rd, ud, xrc };
constexpr std::string_view name_of(Service service) {
    constexpr std::array<std::string_view, 5> names{"RC", "UC", "RD", "UD", "XRC"};
    return names[static_cast<std::size_t>(service)];
}
constexpr std::string_view name_of(wire::Transport transport) {
    constexpr std::array<std::string_view, 4> names{"roce2", "roce1", "infiniband", "iwarp"};
    return names[static_cast<std::size_t>(transport)];
}

/// The identity of one direction of a queue pair's conversation: on RoCE and InfiniBand the addresses, the destination
/// QPN (24 bits) and the service; on iWARP the addresses and both ports (source in the upper half).
struct FlowKey {
    std::uint32_t selector = 0;  ///< destination QPN, or source port << 16 | destination port
    Address source;
    Address destination;
    wire::Transport transport = wire::Transport::roce2;
    Service service = Service::rc;

    /// The other direction of a TCP connection: addresses and ports change places.
    FlowKey reversed() const { return reversed(selector << 16 | selector >> 16); }
    /// The other direction, to the given QPN; on iWARP, between the given ports.
    FlowKey reversed(std::uint32_t reverse_selector) const {
        return {reverse_selector, destination, source, transport, service};
    }

    bool operator==(const FlowKey& other) const {
        const auto same = [](const Address& one, const Address& two) {
            std::array<std::uint64_t, 2> a;
            std::array<std::uint64_t, 2> b;
            std::memcpy(a.data(), one.octets.data(), sizeof a);
            std::memcpy(b.data(), two.octets.data(), sizeof b);
            return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0 && one.family == two.family;
        };
        return selector == other.selector && same(destination, other.destination) && same(source, other.source) &&
               transport == other.transport && service == other.service;
    }
};

/// The key of RoCEv2 over IPv4 in twelve bytes; for any other flow, `service_and_qp` is zero.
struct PlainKey {
    std::uint64_t addresses = 0;       ///< source and destination, in the order of the header
    std::uint32_t service_and_qp = 0;  ///< the service above the QPN, counted from 1

    PlainKey() = default;
    PlainKey(std::uint64_t both, Service service, std::uint32_t qp)
        : addresses(both), service_and_qp((static_cast<std::uint32_t>(service) + 1) << 24 | qp) {}
    explicit PlainKey(const FlowKey& key) {
        constexpr auto ipv4 = wire::AddressFamily::ipv4;
        if (key.transport != wire::Transport::roce2 || key.source.family != ipv4 || key.destination.family != ipv4)
            return;
        std::array<std::uint8_t, 8> both;
        std::memcpy(both.data(), key.source.octets.data(), 4);
        std::memcpy(both.data() + 4, key.destination.octets.data(), 4);
        *this = PlainKey(load(both.data()), key.service, key.selector);
    }
    /// Loads the eight bytes of an IPv4 header that hold the addresses.
    static std::uint64_t load(const void* addresses) {
        std::uint64_t both;
        std::memcpy(&both, addresses, sizeof both);
        return both;
    }
    bool operator==(const PlainKey& other) const {
        return addresses == other.addresses && service_and_qp == other.service_and_qp;
    }
};

}  // namespace metrics::figures
