// Datagrams over an unreliable queue pair (UD): questions and answers without connections.
//
//   datagram [-n ANSWERS] server [PORT]
//   datagram client ADDRESS [PORT]
//
// One queue pair of the server talks to all clients. A datagram holds at most one path MTU, may be lost, and is lost
// without a word if no receive is posted: the client repeats a question that has no answer. UD exists on InfiniBand and
// RoCE (Linux rxe is RoCE in software). iWARP has connections only; there the program says so and ends.
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PORT "7471"
enum {
    GRH_BYTES = 40,  // every received datagram begins with room for a global route header, used or not
    TEXT_BYTES = 256,
    RECEIVES = 32,
    STEP_MS = 2000,  // for an address, a route, a connection
    ANSWER_MS = 500,
    TRIES = 5
};

struct endpoint {
    struct rdma_cm_id* id;
    struct ibv_comp_channel* channel;
    struct ibv_cq* completions;
    struct ibv_mr* region;
    struct {
        char received[RECEIVES][GRH_BYTES + TEXT_BYTES];
        char sent[TEXT_BYTES];
    } memory;
};

static _Noreturn void no_datagrams(void) {
    fprintf(stderr,
            "datagram: this device has no datagrams: iWARP has connections only\n"
            "datagram: use an InfiniBand or RoCE device; Linux rxe is one in software\n");
    exit(1);
}

static _Noreturn void fail(const char* what, int error) {
    if (error == EPROTONOSUPPORT || error == EOPNOTSUPP) no_datagrams();
    fprintf(stderr, "datagram: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV) fprintf(stderr, "datagram: no RDMA device has this address\n");
    exit(1);
}

static void check(int result, const char* what) {
    if (result != 0) fail(what, result > 0 ? result : errno);
}

static struct rdma_addrinfo* resolve(const char* address, const char* port) {
    struct rdma_addrinfo hints = {
        .ai_flags = address == NULL ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_UDP, .ai_qp_type = IBV_QPT_UD};
    struct rdma_addrinfo* result = NULL;
    const int failure = rdma_getaddrinfo(address, port, &hints, &result);
    if (failure == -1) fail("use RDMA", errno);
    if (failure == 0) return result;
    fprintf(stderr, "datagram: %s port %s: %s\n", address == NULL ? "any address" : address, port,
            gai_strerror(failure));
    exit(1);
}

static void post_receive(struct endpoint* endpoint, uint64_t number) {
    struct ibv_sge piece = {.addr = (uintptr_t)endpoint->memory.received[number],
                            .length = GRH_BYTES + TEXT_BYTES,
                            .lkey = endpoint->region->lkey};
    struct ibv_recv_wr request = {.wr_id = number, .sg_list = &piece, .num_sge = 1}, *bad = NULL;
    check(ibv_post_recv(endpoint->id->qp, &request, &bad), "post a receive");
}

static void prepare(struct endpoint* endpoint) {
    struct ibv_context* device = endpoint->id->verbs;
    if (device->device->transport_type == IBV_TRANSPORT_IWARP) no_datagrams();
    endpoint->channel = ibv_create_comp_channel(device);
    if (endpoint->channel == NULL) fail("create a completion channel", errno);
    endpoint->completions = ibv_create_cq(device, RECEIVES + 1, NULL, endpoint->channel, 0);
    if (endpoint->completions == NULL) fail("create a completion queue", errno);
    struct ibv_qp_init_attr attributes = {
        .qp_type = IBV_QPT_UD,
        .send_cq = endpoint->completions,
        .recv_cq = endpoint->completions,
        .cap = {.max_send_wr = 1, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = 1};
    check(rdma_create_qp(endpoint->id, NULL, &attributes), "create a datagram queue pair");
    endpoint->region = rdma_reg_msgs(endpoint->id, &endpoint->memory, sizeof endpoint->memory);
    if (endpoint->region == NULL) fail("register memory", errno);
    for (uint64_t number = 0; number < RECEIVES; ++number) post_receive(endpoint, number);
}

// False when the time is over. A negative time waits without end.
static bool wait_for_completion(struct endpoint* endpoint, struct ibv_wc* completion, int timeout_ms) {
    for (;;) {
        int count = ibv_poll_cq(endpoint->completions, 1, completion);
        if (count == 0) {
            check(ibv_req_notify_cq(endpoint->completions, 0), "request an event");
            count = ibv_poll_cq(endpoint->completions, 1, completion);
        }
        if (count < 0) fail("poll the completion queue", errno);
        if (count == 1) break;
        struct pollfd ready = {.fd = endpoint->channel->fd, .events = POLLIN};
        const int changed = poll(&ready, 1, timeout_ms);
        if (changed == 0) return false;
        struct ibv_cq* queue = NULL;
        void* context = NULL;
        if (changed < 0 || ibv_get_cq_event(endpoint->channel, &queue, &context) != 0) fail("wait for an event", errno);
        ibv_ack_cq_events(queue, 1);
    }
    if (completion->status == IBV_WC_SUCCESS) return true;
    fprintf(stderr, "datagram: a request failed: %s\n", ibv_wc_status_str(completion->status));
    exit(1);
}

// To a queue pair by an address handle, which holds the path to its host. The Q_Key must be the receiver's.
static void send_text(struct endpoint* endpoint, struct ibv_ah* path, uint32_t queue_pair, uint32_t q_key,
                      const char* text) {
    const size_t length = strlen(text);
    memcpy(endpoint->memory.sent, text, length);
    struct ibv_sge piece = {
        .addr = (uintptr_t)endpoint->memory.sent, .length = (uint32_t)length, .lkey = endpoint->region->lkey};
    struct ibv_send_wr request = {.wr_id = RECEIVES,
                                  .sg_list = &piece,
                                  .num_sge = 1,
                                  .opcode = IBV_WR_SEND,
                                  .wr.ud = {.ah = path, .remote_qpn = queue_pair, .remote_qkey = q_key}};
    struct ibv_send_wr* bad = NULL;
    check(ibv_post_send(endpoint->id->qp, &request, &bad), "post a datagram");
}

static void answer(struct endpoint* server, struct ibv_wc* question) {
    const char* received = server->memory.received[question->wr_id];
    // The sender of the datagram, from the completion and the route header before the text.
    struct ibv_ah* path =
        ibv_create_ah_from_wc(server->id->pd, question, (struct ibv_grh*)(uintptr_t)received, server->id->port_num);
    if (path == NULL) fail("create an address handle", errno);
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "you said: %.*s", (int)question->byte_len - GRH_BYTES, received + GRH_BYTES);
    post_receive(server, question->wr_id);
    send_text(server, path, question->src_qp, RDMA_UDP_QKEY, text);
    struct ibv_wc completion;
    // A datagram is complete when it has left: this says nothing about its arrival. Questions that come meanwhile are
    // lost in this sample, and repeated by their clients.
    while (wait_for_completion(server, &completion, -1) && completion.wr_id != RECEIVES)
        post_receive(server, completion.wr_id);
    ibv_destroy_ah(path);
}

static struct rdma_cm_event* next_event(struct rdma_event_channel* events, enum rdma_cm_event_type expected) {
    struct pollfd ready = {.fd = events->fd, .events = POLLIN};
    if (poll(&ready, 1, STEP_MS) == 0) fail("reach the server in time", ETIMEDOUT);
    struct rdma_cm_event* event = NULL;
    check(rdma_get_cm_event(events, &event), "get an event");
    if (event->event == expected) return event;
    fprintf(stderr, "datagram: %s, status %d; is \"datagram server\" running there?\n", rdma_event_str(event->event),
            event->status);
    exit(1);
}

// The connection manager only tells the client the queue pair's number and Q_Key: no connection comes of it.
static void on_connection_event(struct endpoint* server, struct rdma_event_channel* events) {
    struct rdma_cm_event* event = NULL;
    check(rdma_get_cm_event(events, &event), "get an event");
    struct rdma_cm_id* request = event->id;
    const bool asks = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    rdma_ack_cm_event(event);
    if (!asks) return;
    if (server->id == NULL) {
        server->id = request;
        prepare(server);
    }
    struct rdma_conn_param parameters = {.qp_num = server->id->qp->qp_num};
    check(rdma_accept(request, &parameters), "answer a client's request");
    if (request != server->id) rdma_destroy_id(request);
}

// A listener at all addresses has no device yet, so the server looks at all devices before it waits.
static void require_datagrams(void) {
    int count = 0;
    struct ibv_context** devices = rdma_get_devices(&count);
    if (devices == NULL) fail("list the devices", errno);
    int without = 0;
    for (int i = 0; i < count; ++i) without += devices[i]->device->transport_type == IBV_TRANSPORT_IWARP;
    rdma_free_devices(devices);
    if (count > 0 && without == count) no_datagrams();
}

static void serve(unsigned long limit, const char* port) {
    require_datagrams();
    struct rdma_addrinfo* where = resolve(NULL, port);
    struct rdma_event_channel* events = rdma_create_event_channel();
    if (events == NULL) fail("create an event channel", errno);
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_id(events, &listener, NULL, RDMA_PS_UDP), "create an identifier");
    check(rdma_bind_addr(listener, where->ai_src_addr), "bind to the port");
    check(rdma_listen(listener, 16), "listen");
    printf("listening on port %s\n", port);
    fflush(stdout);
    static struct endpoint server;
    for (unsigned long answered = 0; limit == 0 || answered < limit;) {
        struct pollfd ready[2] = {{.fd = events->fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
        if (server.channel != NULL) ready[1].fd = server.channel->fd;
        struct ibv_wc question;
        while (server.id != NULL && wait_for_completion(&server, &question, 0)) {
            answer(&server, &question);
            ++answered;
        }
        if (answered == limit && limit != 0) break;
        if (poll(ready, 2, -1) < 0) fail("wait", errno);
        if ((ready[0].revents & POLLIN) != 0) on_connection_event(&server, events);
    }
    rdma_freeaddrinfo(where);
    exit(0);  // the system releases the rest
}

static int ask(const char* address, const char* port) {
    struct rdma_addrinfo* where = resolve(address, port);
    struct rdma_event_channel* events = rdma_create_event_channel();
    if (events == NULL) fail("create an event channel", errno);
    static struct endpoint client;
    check(rdma_create_id(events, &client.id, NULL, RDMA_PS_UDP), "create an identifier");
    check(rdma_resolve_addr(client.id, NULL, where->ai_dst_addr, STEP_MS), "find a device for the address");
    rdma_ack_cm_event(next_event(events, RDMA_CM_EVENT_ADDR_RESOLVED));
    check(rdma_resolve_route(client.id, STEP_MS), "find a route");
    rdma_ack_cm_event(next_event(events, RDMA_CM_EVENT_ROUTE_RESOLVED));
    prepare(&client);
    struct rdma_conn_param parameters = {.retry_count = 7};
    check(rdma_connect(client.id, &parameters), "ask for the server's queue pair");
    struct rdma_cm_event* event = next_event(events, RDMA_CM_EVENT_ESTABLISHED);
    struct rdma_ud_param server = event->param.ud;
    struct ibv_ah* path = ibv_create_ah(client.id->pd, &server.ah_attr);
    if (path == NULL) fail("create an address handle", errno);
    rdma_ack_cm_event(event);
    for (int attempt = 1; attempt <= TRIES; ++attempt) {
        send_text(&client, path, server.qp_num, server.qkey, "are you there?");
        struct ibv_wc completion;
        while (wait_for_completion(&client, &completion, ANSWER_MS)) {
            if (completion.wr_id == RECEIVES) continue;  // the question has left
            printf("try %d: %.*s\n", attempt, (int)completion.byte_len - GRH_BYTES,
                   client.memory.received[completion.wr_id] + GRH_BYTES);
            return 0;
        }
    }
    fprintf(stderr, "datagram: no answer in %d tries\n", TRIES);
    return 1;
}

int main(int argc, char** argv) {
    unsigned long limit = 0;
    const bool has_limit = argc >= 3 && strcmp(argv[1], "-n") == 0 && (limit = strtoul(argv[2], NULL, 10)) > 0;
    char** words = argv + (has_limit ? 3 : 1);
    const long left = argc - (words - argv);
    if (left >= 1 && left <= 2 && strcmp(words[0], "server") == 0)
        serve(limit, left == 2 ? words[1] : DEFAULT_PORT);
    else if (left >= 2 && left <= 3 && strcmp(words[0], "client") == 0)
        return ask(words[1], left == 3 ? words[2] : DEFAULT_PORT);
    fprintf(stderr, "Usage: datagram [-n ANSWERS] server [PORT]\n       datagram client ADDRESS [PORT]\n");
    return 2;
}
