#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <rdma/rdma_cma.h>
#include <string>
#include <vector>

#include "iwarp/iwarp.h"
#include "iwarp/preload/event_queue.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/verbs_objects.h"
#include "iwarp/transport/tcp_probe.h"

/// librdmacm's objects. As everywhere in this library, the ABI's structure comes first.
///
/// An event belongs to an identifier, `owner`: to the listener, if it brings a new one. It waits in the owner's
/// channel; the program takes it (`Id::reported`), and returns it (`Id::acknowledged`). An identifier is freed only
/// when all taken events were returned.
namespace iwarp::preload::cm {

struct Id;

/// What the program gets as rdma_cm_event.
struct EventBox : rdma_cm_event {
    EventBox() : rdma_cm_event{} {}
    Id* owner = nullptr;
    std::array<std::byte, 256> private_data{};  ///< RDMA_MAX_PRIVATE_DATA
};

/// What the program gets as rdma_event_channel.
struct EventChannel : rdma_event_channel {
    explicit EventChannel(Lock& lock) : rdma_event_channel{}, events(lock) {}
    /// Empty in a destroyed channel, which is kept for a while for threads of the program that still use it.
    EventQueue<EventBox*> events;
    bool waits = true;  ///< of a destroyed channel: a thread that asked for an event would have waited
};
inline EventChannel& to_channel(rdma_event_channel* channel) { return static_cast<EventChannel&>(*channel); }

/// The state of an identifier. In brackets: the calls that may follow.
enum class Stage : std::uint8_t {
    idle,           ///< [bind_addr, resolve_addr, listen]
    bound,          ///< [resolve_addr, listen]
    resolved,       ///< an address is known [resolve_route]
    routed,         ///< [connect]
    connecting,     ///< or accepting
    connected,      ///< [disconnect]
    disconnecting,  ///< this side has asked for the end
    over,           ///< the program has the event
    listening,      ///< new ones come
    requested,      ///< came from a listener [accept, reject]
};

struct Id : rdma_cm_id {
    Id() : rdma_cm_id{} {}

    // Guarded by the engine's lock, and by librdmacm's rule that one thread at a time uses an identifier.
    Stage stage = Stage::idle;
    bool synchronous = false;  ///< has a channel of its own; calls wait for their event
    bool reuse_address = false;
    bool ipv6_only = false;
    std::uint8_t traffic_class = 0;
    std::optional<transport::Reservation> reservation;  ///< from bind_addr on, until it connects or listens
    std::shared_ptr<ConnectionRequest> request;         ///< stage requested
    std::vector<std::shared_ptr<Listener>> listeners;   ///< stage listening: one for each address
    std::uint32_t backlog = 0;
    std::uint32_t pending = 0;                     ///< requests that the program has not taken yet
    Qp* pair = nullptr;                            ///< of the connection, the program's or from create_qp
    std::uint8_t offered_responder_resources = 0;  ///< of the request: accept()'s default
    std::uint8_t offered_initiator_depth = 0;
    std::uint32_t reported = 0;
    std::vector<std::byte> connect_data;  ///< rdma_addrinfo's, before the program's private data

    // get_request() makes queue pairs from these.
    ibv_pd* passive_pd = nullptr;
    std::optional<ibv_qp_init_attr> passive_attributes;

    std::mutex mutex;
    std::condition_variable came_back;
    std::uint32_t acknowledged = 0;  ///< guarded by `mutex`
};
inline Id& to_id(rdma_cm_id* id) { return static_cast<Id&>(*id); }

/// The greatest read depth of the device, each way.
inline constexpr std::uint8_t max_read_depth = 128;

/// The common context of all identifiers; opened with the first. Throws. With the lock held.
Context* default_context(ProgressEngine& engine);
/// The common protection domain. Without the lock; null and errno if absent.
ibv_pd* default_domain();
/// Gives the identifier a device, and the common domain if that was ever used. With the lock held.
void attach(ProgressEngine& engine, Id& id);

// Events. With the lock held.

std::unique_ptr<EventBox> make_event(Id& id, rdma_cm_event_type type, int status = 0);
/// Into the owner's channel.
void deliver(std::unique_ptr<EventBox> event);
inline void deliver(Id& id, rdma_cm_event_type type, int status = 0) { deliver(make_event(id, type, status)); }
void put_private_data(EventBox& event, std::span<const std::byte> octets);
/// Drops events that were not taken, and their contents.
void drop_events(Id& id);
void move_events(Id& id, EventChannel& to);
/// Whether an event waits to be taken.
bool has_event(Id& id, rdma_cm_event_type type);
EventChannel* make_channel(Lock& lock);
/// For a channel that the program destroys, with the lock held: drops its events, and closes its descriptor as soon as
/// no call reads it. The channel itself is kept until many more have been destroyed.
void retire(EventChannel& channel);
/// Receives news of connections; set with the first identifier.
ConnectionObserver& observer();
/// Assigns waiting requests at its listeners to the identifier from now on.
void started_listening(Id& id);
void stopped_listening(Id& id);
/// Writes to standard error, if the user asked for it (RDMASCOPE_SOFTWARE_VERBOSE).
void explain(ProgressEngine& engine, const std::string& line);

// Addresses.

transport::TcpAddress source_of(const Id& id);
transport::TcpAddress destination_of(const Id& id);
void set_source(Id& id, const transport::TcpAddress& address);
void set_destination(Id& id, const transport::TcpAddress& address);
/// Both ends as the transport knows them.
void set_ends(Id& id, const std::string& local, const std::string& peer);

/// The work of rdma_destroy_id. Waits for acknowledgements; without the lock.
void destroy(Id* id);
/// For an incoming identifier that the program never saw. With the lock held.
void discard(Id* id);
/// Makes an identifier, with a channel of its own if `channel` is null. Throws. With the lock held.
Id* make_id(ProgressEngine& engine, rdma_event_channel* channel, void* context, rdma_port_space port_space);

/// `performed`, as librdmacm returns: 0, or -1 and errno.
template <class Body>
int settled(const char* function, Body body) {
    const int failure = performed(function, body);
    if (failure == 0) return 0;
    errno = failure;
    return -1;
}
inline int fail(int error) {
    errno = error;
    return -1;
}
/// After a call that begins something: on a synchronous identifier, waits for its event and returns its result.
int complete(Id& id);

}  // namespace iwarp::preload::cm
