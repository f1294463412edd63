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

/// librdmacm's objects. As everywhere in the face, the ABI's structure comes first.
///
/// An event belongs to an identifier, `owner`: to the listener, where it brings a new one. It waits in the owner's
/// channel; the program takes it (`Id::reported`), and gives it back (`Id::acknowledged`). An identifier goes only when
/// all that were taken are back.
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
    /// None in a destroyed channel, which is kept for a while for threads of the program that have not heard of it.
    EventQueue<EventBox*> events;
    bool waits = true;  ///< of a destroyed one: who asked for an event would have waited
};
inline EventChannel& to_channel(rdma_event_channel* channel) { return static_cast<EventChannel&>(*channel); }

/// How far an identifier has come. In brackets: what may follow by a call.
enum class Stage : std::uint8_t {
    idle,           ///< [bind_addr, resolve_addr, listen]
    bound,          ///< [resolve_addr, listen]
    resolved,       ///< an address is [resolve_route]
    routed,         ///< [connect]
    connecting,     ///< or accepting
    connected,      ///< [disconnect]
    disconnecting,  ///< this side asked for the end
    over,           ///< the program has the event
    listening,      ///< new ones come
    requested,      ///< came from a listener [accept, reject]
};

struct Id : rdma_cm_id {
    Id() : rdma_cm_id{} {}

    // Guarded by the engine's lock, and by the rule of librdmacm that one thread at a time uses an identifier.
    Stage stage = Stage::idle;
    bool synchronous = false;  ///< has a channel of its own; calls wait for their event
    bool reuse_address = false;
    bool ipv6_only = false;
    std::uint8_t traffic_class = 0;
    std::optional<transport::Reservation> reservation;  ///< from bind_addr on, to connect or listen
    std::shared_ptr<ConnectionRequest> request;         ///< stage requested
    std::vector<std::shared_ptr<Listener>> listeners;   ///< stage listening: one for each address
    std::uint32_t backlog = 0;
    std::uint32_t pending = 0;                     ///< requests that the program has not taken yet
    Qp* pair = nullptr;                            ///< of the connection, the program's or from create_qp
    std::uint8_t offered_responder_resources = 0;  ///< of the request: what accept() answers by default
    std::uint8_t offered_initiator_depth = 0;
    std::uint32_t reported = 0;
    std::vector<std::byte> connect_data;  ///< rdma_addrinfo's, before the program's private data

    // What get_request() makes queue pairs from.
    ibv_pd* passive_pd = nullptr;
    std::optional<ibv_qp_init_attr> passive_attributes;

    std::mutex mutex;
    std::condition_variable came_back;
    std::uint32_t acknowledged = 0;  ///< guarded by `mutex`
};
inline Id& to_id(rdma_cm_id* id) { return static_cast<Id&>(*id); }

/// The greatest read depth of the device, each way.
inline constexpr std::uint8_t max_read_depth = 128;

/// The context that all identifiers have in common; opened with the first. Throws. With the lock held.
Context* default_context(ProgressEngine& engine);
/// The protection domain that all have in common. Without the lock; null and errno where there is none.
ibv_pd* default_domain();
/// The identifier has a device from now on, and the common domain if that was ever asked for. With the lock held.
void attach(ProgressEngine& engine, Id& id);

// Events. With the lock held.

std::unique_ptr<EventBox> make_event(Id& id, rdma_cm_event_type type, int status = 0);
/// Into the owner's channel.
void deliver(std::unique_ptr<EventBox> event);
inline void deliver(Id& id, rdma_cm_event_type type, int status = 0) { deliver(make_event(id, type, status)); }
void put_private_data(EventBox& event, std::span<const std::byte> octets);
/// Events that are not taken, and what they bring.
void drop_events(Id& id);
void move_events(Id& id, EventChannel& to);
/// Whether one waits to be taken.
bool has_event(Id& id, rdma_cm_event_type type);
EventChannel* make_channel(Lock& lock);
/// Of a channel that the program destroys, with the lock held: its events go, and its descriptor as soon as no call
/// reads there. The channel itself is kept until many more have been destroyed.
void retire(EventChannel& channel);
/// Receives news of connections; set with the first identifier.
ConnectionObserver& observer();
/// Requests at its listeners are its own from now on.
void started_listening(Id& id);
void stopped_listening(Id& id);
/// On standard error, where the user asked for it (RDMASCOPE_SOFTWARE_VERBOSE).
void explain(ProgressEngine& engine, const std::string& line);

// Addresses.

transport::TcpAddress source_of(const Id& id);
transport::TcpAddress destination_of(const Id& id);
void set_source(Id& id, const transport::TcpAddress& address);
void set_destination(Id& id, const transport::TcpAddress& address);
/// Both ends as the transport knows them.
void set_ends(Id& id, const std::string& local, const std::string& peer);

/// rdma_destroy_id's work. Waits for acknowledgements; without the lock.
void destroy(Id* id);
/// Of one that came in and that the program never saw. With the lock held.
void discard(Id* id);
/// Makes an identifier, with a channel of its own where `channel` is null. Throws. With the lock held.
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
/// After a call that begins something: on a synchronous identifier waits for its event, and returns as that says.
int complete(Id& id);

}  // namespace iwarp::preload::cm
