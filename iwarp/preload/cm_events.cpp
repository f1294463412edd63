#include <algorithm>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <memory>
#include <system_error>
#include <unistd.h>

#include "fmt/core.h"
#include "iwarp/preload/abi.h"
#include "iwarp/preload/cm_objects.h"

/// Event channels, and what the device's events are for identifiers.
namespace iwarp::preload::cm {
namespace {

struct Outcome {
    Failure failure;
    rdma_cm_event_type event;
    int status;  ///< as the kernel's iw_cm has it: 0 or a negative errno
};
constexpr std::array outcomes{
    Outcome{Failure::none, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED},  // by the peer's program
    Outcome{Failure::refused, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED},
    Outcome{Failure::reset, RDMA_CM_EVENT_REJECTED, -ECONNRESET},
    Outcome{Failure::timed_out, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT},
    Outcome{Failure::unreachable, RDMA_CM_EVENT_UNREACHABLE, -EHOSTUNREACH},
    Outcome{Failure::protocol, RDMA_CM_EVENT_CONNECT_ERROR, -EPROTO},
    Outcome{Failure::given_up, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNABORTED},
    Outcome{Failure::other, RDMA_CM_EVENT_CONNECT_ERROR, -EIO},
};

std::uint8_t depth(std::uint16_t of_peer) {
    return static_cast<std::uint8_t>(std::min<std::uint16_t>(of_peer, max_read_depth));
}

/// As the peer gave them to rdma_accept(3) or rdma_reject (rdma_get_cm_event(3): "matches ... specified by the remote
/// node"); where its Reply did not say, the others.
void put_depths(EventBox& box, const Event& event, std::uint8_t resources, std::uint8_t initiator_depth) {
    constexpr std::uint16_t unsaid = 0x3fff;
    box.param.conn.responder_resources = event.ord == unsaid ? resources : depth(event.ord);
    box.param.conn.initiator_depth = event.ird == unsaid ? initiator_depth : depth(event.ird);
}

/// Takes out what waits for `id`, for the caller to keep.
std::vector<std::unique_ptr<EventBox>> withdraw_events(Id& id) {
    std::vector<std::unique_ptr<EventBox>> taken;
    to_channel(id.channel).events.remove([&](EventBox* box) {
        if (box->owner != &id) return false;
        taken.emplace_back(box);
        return true;
    });
    return taken;
}

class Observer final : public ConnectionObserver {
public:
    void connection_requested(const Event& event) override;
    void connection_changed(Qp& qp, const Event& event) override;
    void queue_pair_destroyed(Qp& qp) override;

    std::vector<Id*> listening;

private:
    void on_connect_request(Id& listener, const Event& event);
    void established(Id& id, const Event& event);
    void failed(Id& id, const Event& event);
    void ended(Id& id, const std::string& why);
};

Observer& the_observer() {
    static Observer& observer = *new Observer;  // the service thread may outlive static objects
    return observer;
}

void Observer::connection_requested(const Event& event) {
    const Listener* const listener = event.request->listener();
    for (Id* const id : listening) {
        const bool here = std::ranges::any_of(
            id->listeners, [&](const auto& one) { return listener != nullptr && one.get() == listener; });
        if (!here) continue;
        // Dropping the request rejects it.
        if (id->pending >= id->backlog) return;
        try {
            on_connect_request(*id, event);
        } catch (const std::exception& error) {
            explain(ProgressEngine::instance(),
                    fmt::format("a connection of {} is rejected: {}", event.request->peer(), error.what()));
        }
        return;
    }
}

void Observer::on_connect_request(Id& listener, const Event& event) {
    ProgressEngine& engine = ProgressEngine::instance();
    std::unique_ptr<Id, void (*)(Id*)> id(
        make_id(engine, listener.synchronous ? nullptr : listener.channel, listener.context, listener.ps), &discard);
    id->stage = Stage::requested;
    id->request = event.request;
    id->traffic_class = listener.traffic_class;
    id->offered_responder_resources = depth(event.request->ord());
    id->offered_initiator_depth = depth(event.request->ird());
    attach(engine, *id);
    set_ends(*id, event.request->local(), event.request->peer());
    auto box = make_event(listener, RDMA_CM_EVENT_CONNECT_REQUEST);
    box->id = id.get();
    box->listen_id = &listener;
    box->param.conn.responder_resources = id->offered_responder_resources;
    box->param.conn.initiator_depth = id->offered_initiator_depth;
    put_private_data(*box, event.request->private_data());
    ++listener.pending;
    deliver(std::move(box));
    id.release();  // the program's
}

void Observer::connection_changed(Qp& qp, const Event& event) {
    if (qp.cm == nullptr) return;
    Id& id = *static_cast<Id*>(qp.cm);
    switch (event.kind) {
        case Event::Kind::established: established(id, event); return;
        case Event::Kind::rejected:
        case Event::Kind::connect_failed: failed(id, event); return;
        case Event::Kind::disconnected: ended(id, event.text); return;
        default: return;  // terminated: disconnected follows
    }
}

void Observer::established(Id& id, const Event& event) {
    if (id.stage != Stage::connecting) return;
    id.stage = Stage::connected;
    id.reservation.reset();
    set_ends(id, event.queue_pair->local(), event.queue_pair->peer());
    auto box = make_event(id, RDMA_CM_EVENT_ESTABLISHED);
    if (const auto agreement = event.queue_pair->agreement()) {
        put_depths(*box, event, depth(agreement->ird), depth(agreement->ord));
        if (id.pair != nullptr) {
            id.pair->responder_resources = depth(agreement->ird);
            id.pair->initiator_depth = depth(agreement->ord);
        }
    }
    put_private_data(*box, event.private_data);
    deliver(std::move(box));
}

void Observer::failed(Id& id, const Event& event) {
    if (id.stage != Stage::connecting && id.stage != Stage::disconnecting) return;
    id.stage = Stage::over;
    if (id.pair != nullptr) id.pair->cm = nullptr;  // it can be connected by another
    id.pair = nullptr;
    explain(ProgressEngine::instance(), event.text);
    const auto outcome =
        std::ranges::find_if(outcomes, [&](const Outcome& one) { return one.failure == event.failure; });
    auto box = make_event(id, outcome->event, outcome->status);
    put_depths(*box, event, 0, 0);
    put_private_data(*box, event.private_data);
    deliver(std::move(box));
}

void Observer::ended(Id& id, const std::string& why) {
    if (id.stage != Stage::connected && id.stage != Stage::disconnecting) return;
    id.stage = Stage::over;
    if (!why.empty()) explain(ProgressEngine::instance(), "disconnected: " + why);
    deliver(id, RDMA_CM_EVENT_DISCONNECTED);
}

void Observer::queue_pair_destroyed(Qp& qp) {
    Id* const id = static_cast<Id*>(qp.cm);
    qp.cm = nullptr;
    if (id == nullptr || id->pair != &qp) return;
    id->pair = nullptr;
    // Its end is no longer observed; the program may be waiting for it.
    if (id->stage == Stage::connected || id->stage == Stage::disconnecting) ended(*id, {});
}

}  // namespace

ConnectionObserver& observer() { return the_observer(); }

void started_listening(Id& id) { the_observer().listening.push_back(&id); }
void stopped_listening(Id& id) { std::erase(the_observer().listening, &id); }

void explain(ProgressEngine& engine, const std::string& line) {
    if (engine.settings().telling == Settings::Telling::all) say(line);
}

std::unique_ptr<EventBox> make_event(Id& id, rdma_cm_event_type type, int status) {
    auto box = std::make_unique<EventBox>();
    box->owner = &id;
    box->id = &id;
    box->event = type;
    box->status = status;
    return box;
}

void put_private_data(EventBox& event, std::span<const std::byte> octets) {
    // The ABI counts them in 8 bits; MPA has up to 512.
    const std::size_t size = std::min<std::size_t>(octets.size(), 255);
    std::copy_n(octets.begin(), size, event.private_data.begin());
    event.param.conn.private_data = size == 0 ? nullptr : event.private_data.data();
    event.param.conn.private_data_len = static_cast<std::uint8_t>(size);
}

void deliver(std::unique_ptr<EventBox> event) {
    EventChannel& channel = to_channel(event->owner->channel);
    channel.events.push(event.get());
    event.release();
}

void drop_events(Id& id) {
    for (const auto& box : withdraw_events(id))
        if (box->event == RDMA_CM_EVENT_CONNECT_REQUEST) discard(&to_id(box->id));
}

void move_events(Id& id, EventChannel& to) {
    for (auto& box : withdraw_events(id)) {
        if (box->event == RDMA_CM_EVENT_CONNECT_REQUEST && !to_id(box->id).synchronous) box->id->channel = &to;
        to.events.push(box.release());
    }
}

bool has_event(Id& id, rdma_cm_event_type type) {
    bool found = false;
    to_channel(id.channel).events.remove([&](const EventBox* box) {
        found = found || (box->owner == &id && box->event == type);
        return false;
    });
    return found;
}

EventChannel* make_channel(Lock& lock) {
    auto channel = std::make_unique<EventChannel>(lock);
    if (!channel->events.good()) throw std::system_error(errno, std::generic_category(), "no event channel");
    channel->fd = channel->events.descriptor();
    return channel.release();
}

void retire(EventChannel& channel) {
    constexpr std::size_t most = 64;
    static auto& kept = *new std::deque<std::unique_ptr<EventChannel>>;
    if (!channel.events) return;
    channel.events.remove([](EventBox* box) {
        delete box;
        return true;
    });
    const int flags = fcntl(channel.events.descriptor(), F_GETFL);
    channel.waits = flags >= 0 && (flags & O_NONBLOCK) == 0;
    channel.events = {};
    kept.emplace_back(&channel);
    if (kept.size() > most) kept.pop_front();
}

int complete(Id& id) {
    if (!id.synchronous) return 0;
    if (id.event != nullptr) rdma_ack_cm_event(id.event);
    id.event = nullptr;
    if (rdma_get_cm_event(id.channel, &id.event) != 0) return -1;
    if (id.event->status == 0) return 0;
    return fail(id.event->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : std::abs(id.event->status));
}

}  // namespace iwarp::preload::cm

using namespace iwarp::preload;

RDMA_ABI rdma_event_channel* rdma_create_event_channel() {
    return made("rdma_create_event_channel", [](ProgressEngine& engine) { return cm::make_channel(engine.lock()); });
}

RDMA_ABI void rdma_destroy_event_channel(rdma_event_channel* channel) {
    performed("rdma_destroy_event_channel", [&](ProgressEngine&) {
        cm::retire(cm::to_channel(channel));
        return 0;
    });
}

RDMA_ABI int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
    if (channel == nullptr || event == nullptr) return cm::fail(EINVAL);
    EventQueue<cm::EventBox*> events;
    const int failure = performed("rdma_get_cm_event", [&](ProgressEngine& engine) {
        const cm::EventChannel& ours = cm::to_channel(channel);
        if (!ours.events) return ours.waits ? EINPROGRESS : EBADF;
        events = ours.events;  // the program may destroy the channel meanwhile
        engine.yield_driving();
        return 0;
    });
    // A thread that is a moment late waits with those that were in time: rping continues to poll while it cleans up,
    // and would treat an error as its own.
    while (failure == EINPROGRESS) pause();
    if (failure != 0) return cm::fail(failure);
    const auto taken = events.take([](cm::EventBox* box) {
        ++box->owner->reported;
        if (box->event == RDMA_CM_EVENT_CONNECT_REQUEST) --box->owner->pending;
    });
    if (!taken) return -1;
    *event = *taken;
    return 0;
}

RDMA_ABI int rdma_ack_cm_event(rdma_cm_event* event) {
    if (event == nullptr) return cm::fail(EINVAL);
    cm::EventBox* const box = static_cast<cm::EventBox*>(event);
    {
        // Notified with the mutex held: the identifier may go as soon as it is let go.
        const std::lock_guard<std::mutex> hold(box->owner->mutex);
        ++box->owner->acknowledged;
        box->owner->came_back.notify_all();
    }
    delete box;
    return 0;
}

RDMA_ABI const char* rdma_event_str(rdma_cm_event_type event) {
    switch (event) {
        case RDMA_CM_EVENT_ADDR_RESOLVED: return "RDMA_CM_EVENT_ADDR_RESOLVED";
        case RDMA_CM_EVENT_ADDR_ERROR: return "RDMA_CM_EVENT_ADDR_ERROR";
        case RDMA_CM_EVENT_ROUTE_RESOLVED: return "RDMA_CM_EVENT_ROUTE_RESOLVED";
        case RDMA_CM_EVENT_ROUTE_ERROR: return "RDMA_CM_EVENT_ROUTE_ERROR";
        case RDMA_CM_EVENT_CONNECT_REQUEST: return "RDMA_CM_EVENT_CONNECT_REQUEST";
        case RDMA_CM_EVENT_CONNECT_RESPONSE: return "RDMA_CM_EVENT_CONNECT_RESPONSE";
        case RDMA_CM_EVENT_CONNECT_ERROR: return "RDMA_CM_EVENT_CONNECT_ERROR";
        case RDMA_CM_EVENT_UNREACHABLE: return "RDMA_CM_EVENT_UNREACHABLE";
        case RDMA_CM_EVENT_REJECTED: return "RDMA_CM_EVENT_REJECTED";
        case RDMA_CM_EVENT_ESTABLISHED: return "RDMA_CM_EVENT_ESTABLISHED";
        case RDMA_CM_EVENT_DISCONNECTED: return "RDMA_CM_EVENT_DISCONNECTED";
        case RDMA_CM_EVENT_DEVICE_REMOVAL: return "RDMA_CM_EVENT_DEVICE_REMOVAL";
        case RDMA_CM_EVENT_MULTICAST_JOIN: return "RDMA_CM_EVENT_MULTICAST_JOIN";
        case RDMA_CM_EVENT_MULTICAST_ERROR: return "RDMA_CM_EVENT_MULTICAST_ERROR";
        case RDMA_CM_EVENT_ADDR_CHANGE: return "RDMA_CM_EVENT_ADDR_CHANGE";
        case RDMA_CM_EVENT_TIMEWAIT_EXIT: return "RDMA_CM_EVENT_TIMEWAIT_EXIT";
    }
    return "UNKNOWN EVENT";
}
