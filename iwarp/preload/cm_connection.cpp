
#include "fmt/core.h"
#include "iwarp/preload/abi.h"
#include "iwarp/preload/cm_objects.h"

/// Connections: begun, accepted, rejected, ended.
namespace iwarp::preload::cm {
namespace {

/// The queue pair of the connection: the identifier's own, or the program's by its number.
Qp* pair_for(const Id& id, const rdma_conn_param* parameters) {
    if (id.qp != nullptr) return &to_qp(id.qp);
    return parameters == nullptr ? nullptr : find_qp(parameters->qp_num);
}

void bring_together(Id& id, Qp& qp) {
    id.pair = &qp;
    qp.cm = &id;
}

/// What the program says, or `otherwise` where it leaves it open.
std::uint8_t chosen(const rdma_conn_param* parameters, std::uint8_t rdma_conn_param::*which, std::uint8_t otherwise) {
    constexpr std::uint8_t open = RDMA_MAX_RESP_RES;  // the same for RDMA_MAX_INIT_DEPTH
    return parameters == nullptr || parameters->*which == open ? otherwise : parameters->*which;
}

/// Of connect() and accept(). An errno, or 0.
int options_of(const Id& id, const rdma_conn_param* parameters, ConnectionOptions& options) {
    options.ird = chosen(parameters, &rdma_conn_param::responder_resources,
                         id.stage == Stage::requested ? id.offered_responder_resources : max_read_depth);
    options.ord = chosen(parameters, &rdma_conn_param::initiator_depth,
                         id.stage == Stage::requested ? id.offered_initiator_depth : max_read_depth);
    if (options.ird > max_read_depth || options.ord > max_read_depth) return EINVAL;
    options.traffic_class = id.traffic_class;
    options.private_data = id.connect_data;
    if (parameters == nullptr || parameters->private_data_len == 0) return 0;
    if (parameters->private_data == nullptr) return EINVAL;
    const auto* const octets = static_cast<const std::byte*>(parameters->private_data);
    options.private_data.insert(options.private_data.end(), octets, octets + parameters->private_data_len);
    return 0;
}

bool can_be_connected(const Qp& qp) { return qp.cm == nullptr && qp.pair->state() == QueuePairState::idle; }

int connect(ProgressEngine& engine, Id& id, const rdma_conn_param* parameters) {
    if (id.stage != Stage::routed) return EINVAL;
    Qp* const qp = pair_for(id, parameters);
    if (qp == nullptr || !can_be_connected(*qp)) return EINVAL;
    ConnectionOptions options = engine.settings().connection;
    if (const int failure = options_of(id, parameters, options)) return failure;
    const transport::TcpAddress source = source_of(id), target = destination_of(id);
    // Some servers announce their port and only then listen (qperf, perftest); adapters take that time to find a
    // neighbour.
    options.refused_patience = std::chrono::milliseconds(1000);
    // Between request and answer programs register their memory, and fill it (perftest); InfiniBand's connection
    // manager asks again for a minute.
    options.reply_timeout = std::chrono::milliseconds(15'000);
    options.source = transport::host_text(source);
    options.source_port = transport::port_of(source);
    qp->pair->connect(transport::host_text(target), transport::port_of(target), options);
    bring_together(id, *qp);
    id.stage = Stage::connecting;
    engine.drive();
    return 0;
}

int accept(ProgressEngine& engine, Id& id, const rdma_conn_param* parameters) {
    if (id.stage != Stage::requested || !id.request) return EINVAL;
    Qp* const qp = pair_for(id, parameters);
    if (qp == nullptr || !can_be_connected(*qp)) return EINVAL;
    ConnectionOptions options = engine.settings().connection;
    if (const int failure = options_of(id, parameters, options)) return failure;
    bring_together(id, *qp);
    id.stage = Stage::connecting;
    try {
        id.request->accept(qp->pair, options);
    } catch (...) {
        id.stage = Stage::requested;
        id.pair = nullptr;
        qp->cm = nullptr;
        throw;
    }
    id.request.reset();
    engine.drive();
    return 0;
}

int reject(ProgressEngine& engine, Id& id, const void* private_data, std::uint8_t length) {
    if (id.stage != Stage::requested || !id.request || (private_data == nullptr && length != 0)) return EINVAL;
    id.request->reject({static_cast<const std::byte*>(private_data), length});
    id.request.reset();
    id.stage = Stage::over;
    engine.drive();
    return 0;
}

int disconnect(ProgressEngine& engine, Id& id) {
    switch (id.stage) {
        case Stage::connecting:
        case Stage::connected:
            if (id.pair == nullptr) return EINVAL;
            id.stage = Stage::disconnecting;
            id.pair->pair->disconnect();
            engine.drive();
            return 0;
        case Stage::disconnecting: return 0;
        case Stage::over:
            // The peer was faster, and the program has not seen it yet: it may wait for the event.
            return has_event(id, RDMA_CM_EVENT_DISCONNECTED) ? 0 : EINVAL;
        default: return EINVAL;
    }
}

}  // namespace
}  // namespace iwarp::preload::cm

using namespace iwarp::preload;
using cm::fail;
using cm::Stage;
using cm::to_id;

RDMA_ABI int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
    if (id == nullptr) return fail(EINVAL);
    const int done =
        cm::settled("rdma_connect", [&](ProgressEngine& engine) { return cm::connect(engine, to_id(id), parameters); });
    return done != 0 ? done : cm::complete(to_id(id));
}

RDMA_ABI int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
    if (id == nullptr) return fail(EINVAL);
    const int done =
        cm::settled("rdma_accept", [&](ProgressEngine& engine) { return cm::accept(engine, to_id(id), parameters); });
    return done != 0 ? done : cm::complete(to_id(id));
}

RDMA_ABI int rdma_reject(rdma_cm_id* id, const void* private_data, std::uint8_t length) {
    if (id == nullptr) return fail(EINVAL);
    return cm::settled("rdma_reject",
                       [&](ProgressEngine& engine) { return cm::reject(engine, to_id(id), private_data, length); });
}

RDMA_ABI int rdma_reject_ece(rdma_cm_id* id, const void* private_data, std::uint8_t length) {
    return rdma_reject(id, private_data, length);
}

RDMA_ABI int rdma_disconnect(rdma_cm_id* id) {
    if (id == nullptr) return fail(EINVAL);
    const int done =
        cm::settled("rdma_disconnect", [&](ProgressEngine& engine) { return cm::disconnect(engine, to_id(id)); });
    return done != 0 ? done : cm::complete(to_id(id));
}

RDMA_ABI int rdma_establish(rdma_cm_id* id) {
    if (id == nullptr || id->qp != nullptr) return fail(EINVAL);
    // iWARP has no third message: the Reply has established it already.
    return to_id(id).stage == Stage::connected ? 0 : fail(EINVAL);
}

RDMA_ABI int rdma_notify(rdma_cm_id* id, ibv_event_type) { return id == nullptr ? fail(EINVAL) : 0; }

RDMA_ABI int rdma_get_request(rdma_cm_id* listen, rdma_cm_id** id) {
    if (listen == nullptr || id == nullptr) return fail(EINVAL);
    cm::Id& own = to_id(listen);
    if (!own.synchronous || own.stage != Stage::listening) return fail(EINVAL);
    if (listen->event != nullptr) rdma_ack_cm_event(listen->event);
    listen->event = nullptr;
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(listen->channel, &event) != 0) return -1;
    if (event->status != 0 || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
        const int failure = event->status != 0 ? std::abs(event->status) : EINVAL;
        rdma_ack_cm_event(event);
        return fail(failure);
    }
    if (own.passive_attributes) {
        ibv_qp_init_attr attributes = *own.passive_attributes;
        if (rdma_create_qp(event->id, own.passive_pd, &attributes) != 0) {
            const int failure = errno;
            rdma_reject(event->id, nullptr, 0);
            rdma_cm_id* const refused = event->id;
            rdma_ack_cm_event(event);
            rdma_destroy_id(refused);
            return fail(failure);
        }
    }
    *id = event->id;
    // librdmacm keeps it in the new identifier, for its private data; its acknowledgement is the listener's.
    (*id)->event = event;
    return 0;
}
