#include <atomic>
#include <cstdlib>
#include <cstring>

#include "fmt/core.h"
#include "iwarp/preload/abi.h"
#include "iwarp/preload/cm_objects.h"

/// Identifiers: made, moved between channels, and destroyed; what hangs on them.
namespace iwarp::preload::cm {

Context* default_context(ProgressEngine& engine) {
    static Context* context = nullptr;
    if (context == nullptr) {
        engine.device();
        context = open_context();
        keep_context(&context->context);  // for as long as the process lives, as librdmacm does
        engine.observe(&observer());
    }
    return context;
}

static std::atomic<ibv_pd*> common_domain{nullptr};

ibv_pd* default_domain() {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> hold(mutex);
    if (common_domain != nullptr) return common_domain;
    ibv_context* context = nullptr;
    const int done = settled("rdma_cm", [&](ProgressEngine& engine) {
        context = &default_context(engine)->context;
        return 0;
    });
    if (done == 0) common_domain = ibv_alloc_pd(context);
    return common_domain;
}

void attach(ProgressEngine& engine, Id& id) {
    id.verbs = &default_context(engine)->context;
    id.port_num = 1;
    if (id.pd == nullptr) id.pd = common_domain;
}

Id* make_id(ProgressEngine& engine, rdma_event_channel* channel, void* context, rdma_port_space port_space) {
    default_context(engine);
    auto id = std::make_unique<Id>();
    id->synchronous = channel == nullptr;
    id->channel = channel != nullptr ? channel : make_channel(engine.lock());
    id->context = context;
    id->ps = port_space;
    id->qp_type = IBV_QPT_RC;
    return id.release();
}

void discard(Id* id) {
    id->request.reset();  // rejects it
    if (id->synchronous) delete &to_channel(id->channel);
    delete id;
}

/// Removes its part in the device: there will be no more events from it.
static void detach(Id& id) {
    if (id.stage == Stage::listening) stopped_listening(id);
    id.listeners.clear();
    drop_events(id);
    id.request.reset();
    if (id.pair == nullptr) return;
    Qp& qp = *std::exchange(id.pair, nullptr);
    qp.cm = nullptr;
    // Its connection without its identifier is of no use.
    if (qp.pair->state() != QueuePairState::error) qp.pair->disconnect();
}

void destroy(Id* id) {
    if (id->event != nullptr) rdma_ack_cm_event(id->event);
    std::uint32_t reported = 0;
    performed("rdma_destroy_id", [&](ProgressEngine&) {
        detach(*id);
        reported = id->reported;
        return 0;
    });
    {
        std::unique_lock<std::mutex> hold(id->mutex);
        id->came_back.wait(hold, [&] { return id->acknowledged >= reported; });
    }
    if (id->synchronous) rdma_destroy_event_channel(id->channel);
    delete id;
}

}  // namespace iwarp::preload::cm

using namespace iwarp::preload;
using cm::fail;
using cm::to_id;

RDMA_ABI int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space ps) {
    if (id == nullptr) return fail(EINVAL);
    if (ps != RDMA_PS_TCP) {
        static Complaint complaint;
        complaint.say(
            fmt::format("rdma_create_id: port space 0x{:x}: iWARP has connections alone, no datagrams and no "
                        "InfiniBand addresses; use "
                        "RDMA_PS_TCP",
                        static_cast<unsigned>(ps)));
        return fail(EPROTONOSUPPORT);
    }
    return cm::settled("rdma_create_id", [&](ProgressEngine& engine) {
        *id = cm::make_id(engine, channel, context, ps);
        return 0;
    });
}

RDMA_ABI int rdma_destroy_id(rdma_cm_id* id) {
    if (id == nullptr) return fail(EINVAL);
    cm::destroy(&to_id(id));
    return 0;
}

RDMA_ABI int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
    if (id == nullptr) return fail(EINVAL);
    cm::Id& own = to_id(id);
    if (own.synchronous && channel == nullptr) return fail(EINVAL);
    rdma_event_channel* const before = id->channel;
    const bool was_synchronous = own.synchronous;
    std::uint32_t reported = 0;
    const int done = cm::settled("rdma_migrate_id", [&](ProgressEngine& engine) {
        rdma_event_channel* const target = channel != nullptr ? channel : cm::make_channel(engine.lock());
        cm::move_events(own, cm::to_channel(target));
        id->channel = target;
        own.synchronous = channel == nullptr;
        reported = own.reported;
        return 0;
    });
    if (done != 0) return done;
    if (was_synchronous) {
        if (id->event != nullptr) rdma_ack_cm_event(id->event);
        id->event = nullptr;
        rdma_destroy_event_channel(before);
    }
    // No event of the old channel is being handled once this returns.
    std::unique_lock<std::mutex> hold(own.mutex);
    own.came_back.wait(hold, [&] { return own.acknowledged >= reported; });
    return 0;
}

RDMA_ABI int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, size_t length) {
    if (id == nullptr || value == nullptr) return fail(EINVAL);
    if (level != RDMA_OPTION_ID) return fail(ENOSYS);  // RDMA_OPTION_IB: paths of InfiniBand
    cm::Id& own = to_id(id);
    const std::size_t wanted = name == RDMA_OPTION_ID_TOS || name == RDMA_OPTION_ID_ACK_TIMEOUT ? 1 : sizeof(int);
    if (name < RDMA_OPTION_ID_TOS || name > RDMA_OPTION_ID_ACK_TIMEOUT) return fail(ENOSYS);
    if (length != wanted) return fail(EINVAL);
    int number = 0;
    std::memcpy(&number, value, length);  // of one byte on a little-endian machine
    if (wanted == 1) number = *static_cast<const std::uint8_t*>(value);
    return cm::settled("rdma_set_option", [&](ProgressEngine&) {
        switch (name) {
            case RDMA_OPTION_ID_TOS: own.traffic_class = static_cast<std::uint8_t>(number); return 0;
            case RDMA_OPTION_ID_REUSEADDR:
            case RDMA_OPTION_ID_AFONLY:
                if (own.stage != cm::Stage::idle) return EINVAL;
                (name == RDMA_OPTION_ID_AFONLY ? own.ipv6_only : own.reuse_address) = number != 0;
                return 0;
            default: return 0;  // the time-out of acknowledgements is TCP's own
        }
    });
}

RDMA_ABI ibv_context** rdma_get_devices(int* count) {
    if (count != nullptr) *count = 0;
    ibv_context* context = nullptr;
    if (cm::settled("rdma_get_devices", [&](ProgressEngine& engine) {
            context = &cm::default_context(engine)->context;
            return 0;
        }) != 0)
        return nullptr;
    auto** const list = static_cast<ibv_context**>(calloc(2, sizeof(ibv_context*)));
    if (list == nullptr) return nullptr;
    list[0] = context;
    if (count != nullptr) *count = 1;
    return list;
}

RDMA_ABI void rdma_free_devices(ibv_context** list) { free(list); }

RDMA_ABI __be16 rdma_get_src_port(rdma_cm_id* id) { return id->route.addr.src_sin.sin_port; }
RDMA_ABI __be16 rdma_get_dst_port(rdma_cm_id* id) { return id->route.addr.dst_sin.sin_port; }
