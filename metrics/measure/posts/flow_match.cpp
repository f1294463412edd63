#include "metrics/measure/posts/flow_match.h"

#include <algorithm>

#include "base/clock.h"

namespace metrics::inline measure::posts {

namespace {

constexpr std::uint8_t type_ud = 4;  // ibv_qp_type

bool known(const Address& address) { return address.family != wire::AddressFamily::none; }
bool agree(const Address& one, const Address& other) {
    if (!known(one) || !known(other)) return true;
    // A link-local GID of RoCEv1, or of InfiniBand, is IPv6 in a record.
    return one.octets == other.octets;
}

/// A server of iWARP makes its queue pair when the stream has begun already.
constexpr std::int64_t setup_ns = 10'000'000'000;

bool lived(const QueuePair& life, const FlowSnapshot& flow, std::int64_t at_ns) {
    const bool tcp = flow.transport == wire::Transport::iwarp;
    if (base::add_ns(at_ns, tcp ? setup_ns : clock_tolerance_ns) < life.begin_ns) return false;
    return !life.ended || at_ns <= base::add_ns(life.last_ns, clock_tolerance_ns);
}

bool fits_iwarp(const QueuePair& life, const FlowSnapshot& flow) {
    const bool ports = (life.local.port == 0 || life.local.port == flow.source.port) && life.peer.port != 0 &&
                       life.peer.port == flow.destination.port;
    return ports && agree(life.local.address, flow.source.address) && known(life.peer.address) &&
           agree(life.peer.address, flow.destination.address);
}

bool fits_infiniband(const QueuePair& life, const FlowSnapshot& flow) {
    if (flow.source.qpn && *flow.source.qpn != life.number) return false;
    const bool datagrams = flow.service == Service::ud;
    if (life.type != 0 && datagrams != (life.type == type_ud)) return false;
    if (!agree(life.local.address, flow.source.address)) return false;
    if (datagrams) return true;  // it sends to whom it likes
    if (life.peer_number != 0 && life.peer_number != flow.destination.qpn) return false;
    // LIDs are in records as GIDs are in packets: neither says anything of the other.
    const bool by_address = flow.destination.address.family != wire::AddressFamily::lid;
    return !by_address ||
           (agree(life.peer_gid, flow.destination.address) && agree(life.peer.address, flow.destination.address));
}

/// The one that fits; of lives of one queue pair of one process, the latest that can be meant.
QueuePairTable::Handle choose(QueuePairTable& table, const std::vector<QueuePairTable::Handle>& handles,
                              const FlowSnapshot& flow, std::int64_t at_ns, const auto& fits) {
    QueuePairTable::Handle chosen = QueuePairTable::none;
    const QueuePair* best = nullptr;
    for (const QueuePairTable::Handle handle : handles) {
        const QueuePair* const life = table.find(handle);
        if (life == nullptr || !lived(*life, flow, at_ns) || !fits(*life)) continue;
        const bool same = best != nullptr && best->process == life->process && best->device == life->device &&
                          best->number == life->number;
        if (best != nullptr && !same) return QueuePairTable::none;
        best = life;
        chosen = handle;
    }
    return chosen;
}

}  // namespace

QueuePairTable::Handle find_owner(QueuePairTable& table, const FlowSnapshot& flow, std::int64_t at_ns) {
    if (flow.transport == wire::Transport::iwarp) {
        if (!flow.source.port || !flow.destination.port) return QueuePairTable::none;
        const auto fits = [&](const QueuePair& life) { return fits_iwarp(life, flow); };
        const auto both = table.by_ports(*flow.source.port, *flow.destination.port);
        if (const auto found = choose(table, both, flow, at_ns, fits); found != QueuePairTable::none) return found;
        // The side that connects may not know its own port.
        return choose(table, table.by_peer_port(*flow.destination.port), flow, at_ns,
                      [&](const QueuePair& life) { return life.local.port == 0 && fits(life); });
    }
    const auto fits = [&](const QueuePair& life) { return fits_infiniband(life, flow); };
    if (flow.service != Service::ud && flow.destination.qpn)
        if (const auto found = choose(table, table.by_peer_number(*flow.destination.qpn), flow, at_ns, fits);
            found != QueuePairTable::none)
            return found;
    return flow.source.qpn ? choose(table, table.by_number(*flow.source.qpn), flow, at_ns, fits) : QueuePairTable::none;
}

}  // namespace metrics::measure::posts
