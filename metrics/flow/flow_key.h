#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "dissect/dissector.h"
#include "metrics/address.h"

namespace metrics {

/// The transport service of a flow. iWARP's is RC.
enum class Service : std::uint8_t { rc, uc, rd, ud, xrc };
constexpr std::string_view name_of(Service service) {
    constexpr std::array<std::string_view, 5> names{"RC", "UC", "RD", "UD", "XRC"};
    return names[static_cast<std::size_t>(service)];
}
constexpr std::string_view name_of(dissect::Transport transport) {
    constexpr std::array<std::string_view, 4> names{"roce2", "roce1", "infiniband", "iwarp"};
    return names[static_cast<std::size_t>(transport)];
}

/// What tells one direction of a queue pair's conversation from all others: on RoCE and InfiniBand the addresses, the
/// destination QPN (24 bits) and the service; on iWARP the addresses and both ports (source in the upper half).
struct FlowKey {
    Address source;
    Address destination;
    std::uint32_t selector = 0;  ///< destination QPN, or source port << 16 | destination port
    dissect::Transport transport = dissect::Transport::roce2;
    Service service = Service::rc;

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

}  // namespace metrics
