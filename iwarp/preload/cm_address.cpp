#include <cstring>

#include "iwarp/preload/abi.h"
#include "iwarp/preload/cm_objects.h"
#include "iwarp/preload/local_addresses.h"

/// Which end is where: binding, resolving, listening.
namespace iwarp::preload::cm {
namespace {

using transport::TcpAddress;

template <class Storage>
void put(Storage& storage, const TcpAddress& address) {
    storage = {};
    std::memcpy(&storage, &address.storage, std::min(sizeof storage, std::size_t{address.size}));
}

template <class Storage>
TcpAddress get(const Storage& storage) {
    TcpAddress address;
    std::memcpy(&address.storage, &storage, std::min(sizeof storage, sizeof address.storage));
    address.size = address.family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    return address;
}

/// Whether the device has the address: all of this machine's, or those that the user named.
bool answers_for(const Settings& settings, const TcpAddress& address) {
    if (settings.addresses.empty()) return true;
    for (const LocalAddress& local : local_addresses(settings)) {
        const auto own = transport::address_of(reinterpret_cast<const sockaddr*>(&local.address));
        if (own && transport::same_host(*own, address)) return true;
    }
    return false;
}

/// Takes the address, and a port if none is said. 0 or an errno.
int bind_to(ProgressEngine& engine, Id& id, const TcpAddress& address) {
    if (!transport::is_any(address) && !answers_for(engine.settings(), address)) return ENODEV;
    auto reservation = transport::reserve(address, id.ipv6_only);
    if (!reservation) return errno;
    set_source(id, reservation->address);
    id.reservation = std::move(*reservation);
    id.stage = Stage::bound;
    if (!transport::is_any(address)) attach(engine, id);
    return 0;
}

/// Where the identifier listens: at every address that the device has where it may not take all of the machine's.
std::vector<TcpAddress> places(const Settings& settings, const Id& id) {
    const TcpAddress source = source_of(id);
    if (!transport::is_any(source) || settings.addresses.empty()) return {source};
    std::vector<TcpAddress> result;
    for (const LocalAddress& local : local_addresses(settings)) {
        auto own = transport::address_of(reinterpret_cast<const sockaddr*>(&local.address));
        if (!own) continue;
        if (own->family() != source.family() && (source.family() == AF_INET || id.ipv6_only)) continue;
        transport::set_port(*own, transport::port_of(source));
        result.push_back(*own);
    }
    return result;
}

int listen_on(ProgressEngine& engine, Id& id, int backlog) {
    if (id.stage != Stage::idle && id.stage != Stage::bound) return EINVAL;
    if (id.stage == Stage::idle) {
        TcpAddress any;
        any.storage.ss_family = AF_INET;
        any.size = sizeof(sockaddr_in);
        if (const int failure = bind_to(engine, id, any)) return failure;
    }
    constexpr int most = 1024;  // as the kernel's default for ucma
    backlog = backlog <= 0 ? most : std::min(backlog, most);
    ConnectionOptions options = engine.settings().connection;
    options.ipv6_only = id.ipv6_only;
    options.traffic_class = id.traffic_class;
    std::vector<std::shared_ptr<Listener>> listeners;
    for (const TcpAddress& place : places(engine.settings(), id)) {
        try {
            listeners.push_back(
                engine.device().listen(transport::host_text(place), transport::port_of(place), options, backlog));
        } catch (const Error& error) {
            explain(engine, error.what());
            return EADDRINUSE;
        }
    }
    if (listeners.empty()) return EADDRNOTAVAIL;
    id.reservation.reset();
    id.backlog = static_cast<std::uint32_t>(backlog);
    id.listeners = std::move(listeners);
    id.stage = Stage::listening;
    started_listening(id);
    return 0;
}

/// Where it goes from and to. 0 or an errno; ENODEV and errors of routing are for an event.
int resolve(ProgressEngine& engine, Id& id, const TcpAddress& target) {
    set_destination(id, target);
    if (id.stage == Stage::bound && !transport::is_any(source_of(id))) return 0;
    const std::optional<TcpAddress> route = transport::source_towards(target);
    if (!route) return errno;
    if (!answers_for(engine.settings(), *route)) return ENODEV;
    TcpAddress source = *route;
    if (id.stage == Stage::bound) transport::set_port(source, transport::port_of(source_of(id)));
    set_source(id, source);
    return 0;
}

}  // namespace

TcpAddress source_of(const Id& id) { return get(id.route.addr.src_storage); }
TcpAddress destination_of(const Id& id) { return get(id.route.addr.dst_storage); }
void set_source(Id& id, const TcpAddress& address) { put(id.route.addr.src_storage, address); }
void set_destination(Id& id, const TcpAddress& address) { put(id.route.addr.dst_storage, address); }

void set_ends(Id& id, const std::string& local, const std::string& peer) {
    if (const auto address = transport::address_of(local)) set_source(id, *address);
    if (const auto address = transport::address_of(peer)) set_destination(id, *address);
}

}  // namespace iwarp::preload::cm

using namespace iwarp::preload;
using cm::fail;
using cm::Stage;
using cm::to_id;

RDMA_ABI int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
    if (id == nullptr) return fail(EINVAL);
    const auto wanted = iwarp::transport::address_of(address);
    if (!wanted) return fail(EAFNOSUPPORT);
    const int done = cm::settled("rdma_bind_addr", [&](ProgressEngine& engine) {
        if (to_id(id).stage != Stage::idle) return EINVAL;
        return cm::bind_to(engine, to_id(id), *wanted);
    });
    if (done == 0 && id->verbs != nullptr && id->pd == nullptr) id->pd = cm::default_domain();
    return done;
}

RDMA_ABI int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int) {
    if (id == nullptr) return fail(EINVAL);
    const auto target = iwarp::transport::address_of(destination);
    if (!target) return fail(EAFNOSUPPORT);
    cm::Id& own = to_id(id);
    const int done = cm::settled("rdma_resolve_addr", [&](ProgressEngine& engine) {
        if (own.stage != Stage::idle && own.stage != Stage::bound && own.stage != Stage::resolved) return EINVAL;
        if (source != nullptr) {
            const auto from = iwarp::transport::address_of(source);
            if (!from) return EAFNOSUPPORT;
            if (own.stage != Stage::idle) return EINVAL;
            if (const int failure = cm::bind_to(engine, own, *from)) return failure;
        }
        // Whatever the routes say is reported by an event.
        const int failure = cm::resolve(engine, own, *target);
        if (failure == 0) {
            cm::attach(engine, own);
            own.stage = Stage::resolved;
        }
        cm::deliver(own, failure == 0 ? RDMA_CM_EVENT_ADDR_RESOLVED : RDMA_CM_EVENT_ADDR_ERROR, -failure);
        return 0;
    });
    if (done != 0) return done;
    if (id->verbs != nullptr && id->pd == nullptr) id->pd = cm::default_domain();
    return cm::complete(own);
}

RDMA_ABI int rdma_resolve_route(rdma_cm_id* id, int) {
    if (id == nullptr) return fail(EINVAL);
    cm::Id& own = to_id(id);
    const int done = cm::settled("rdma_resolve_route", [&](ProgressEngine&) {
        if (own.stage != Stage::resolved) return EINVAL;
        own.stage = Stage::routed;  // IP's; there is nothing to ask
        cm::deliver(own, RDMA_CM_EVENT_ROUTE_RESOLVED);
        return 0;
    });
    return done != 0 ? done : cm::complete(own);
}

RDMA_ABI int rdma_listen(rdma_cm_id* id, int backlog) {
    if (id == nullptr) return fail(EINVAL);
    // What comes in has it at once.
    if (cm::default_domain() == nullptr) return -1;
    return cm::settled("rdma_listen",
                       [&](ProgressEngine& engine) { return cm::listen_on(engine, to_id(id), backlog); });
}
