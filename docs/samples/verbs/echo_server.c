// Returns every message to its sender: many clients, one thread.
//
//   echo_server [-n CLIENTS] [PORT]
//
// The thread sleeps in poll(2) on two descriptors: the event channel of the connection manager, and the completion
// channel. All clients share one pool of receive buffers, a shared receive queue (SRQ), so that idle clients hold none.
// With -n the server ends after this number of clients have come and gone. echo_client and robust_client are clients.
#include <errno.h>
#include <fcntl.h>
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
    BUFFER_BYTES = 4096,
    WINDOW = 16,       // messages that one client may have on the way: the credits that it gets in the accept
    MAX_CLIENTS = 64,  // at a time; more are rejected
    BUFFERS = MAX_CLIENTS * WINDOW
};

static const uint64_t ANSWER = UINT64_C(1) << 32;  // in wr_id: the buffer is being sent

struct client {
    struct rdma_cm_id* id;  // NULL: this place is free
    unsigned answers;       // sends that have not completed; their buffers belong to the adapter
    bool gone;
};

// What all clients share. Made when the first client shows which device it came by.
struct server {
    struct rdma_event_channel* events;
    struct ibv_pd* domain;
    struct ibv_comp_channel* channel;
    struct ibv_cq* completions;
    struct ibv_srq* receives;
    struct ibv_mr* region;
    char* buffers;
    struct client clients[MAX_CLIENTS];
    unsigned long served;
};

static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "echo_server: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "echo_server: there is no RDMA device; on a machine without RDMA hardware start the program "
                "with \"rdmascope run --software -- echo_server ...\"\n");
    if (error == EADDRINUSE) fprintf(stderr, "echo_server: another program listens at this port\n");
    exit(1);
}

static void check(int result, const char* what) {
    if (result != 0) fail(what, result > 0 ? result : errno);
}

// A descriptor that blocks would stop the thread when another thread or an earlier call took the event.
static void never_block(int descriptor) {
    check(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK), "change a descriptor");
}

static char* buffer_at(const struct server* server, uint64_t number) { return server->buffers + number * BUFFER_BYTES; }

static void post_receive(const struct server* server, uint64_t number) {
    struct ibv_sge piece = {
        .addr = (uintptr_t)buffer_at(server, number), .length = BUFFER_BYTES, .lkey = server->region->lkey};
    struct ibv_recv_wr request = {.wr_id = number, .sg_list = &piece, .num_sge = 1}, *bad = NULL;
    check(ibv_post_srq_recv(server->receives, &request, &bad), "post a receive");
}

static void make_shared_objects(struct server* server, struct ibv_context* device) {
    server->domain = ibv_alloc_pd(device);
    server->channel = ibv_create_comp_channel(device);
    if (server->domain == NULL || server->channel == NULL) fail("allocate a protection domain and a channel", errno);
    never_block(server->channel->fd);
    // Every buffer is in one request at a time, a receive or a send, so completions never outnumber buffers.
    server->completions = ibv_create_cq(device, BUFFERS, NULL, server->channel, 0);
    if (server->completions == NULL) fail("create a completion queue", errno);
    check(ibv_req_notify_cq(server->completions, 0), "request an event");
    struct ibv_srq_init_attr attributes = {.attr = {.max_wr = BUFFERS, .max_sge = 1}};
    server->receives = ibv_create_srq(server->domain, &attributes);
    if (server->receives == NULL) fail("create a shared receive queue", errno);
    server->buffers = calloc(BUFFERS, BUFFER_BYTES);
    if (server->buffers == NULL) fail("allocate buffers", ENOMEM);
    server->region =
        ibv_reg_mr(server->domain, server->buffers, (size_t)BUFFERS * BUFFER_BYTES, IBV_ACCESS_LOCAL_WRITE);
    if (server->region == NULL) fail("register the buffers", errno);
    for (uint64_t number = 0; number < BUFFERS; ++number) post_receive(server, number);
}

// Destroys the queue pair when the last answer has completed: a buffer in a send request must come back first.
static void release_if_done(struct server* server, struct client* client) {
    if (!client->gone || client->answers != 0) return;
    rdma_destroy_qp(client->id);
    rdma_destroy_id(client->id);
    *client = (struct client){0};
    ++server->served;
}

static void on_request(struct server* server, struct rdma_cm_id* id) {
    if (server->domain == NULL) make_shared_objects(server, id->verbs);
    struct client* place = NULL;
    for (int i = 0; i < MAX_CLIENTS && place == NULL; ++i)
        if (server->clients[i].id == NULL) place = &server->clients[i];
    struct ibv_qp_init_attr attributes = {.qp_type = IBV_QPT_RC,
                                          .send_cq = server->completions,
                                          .recv_cq = server->completions,
                                          .srq = server->receives,
                                          .cap = {.max_send_wr = WINDOW, .max_send_sge = 1},
                                          .sq_sig_all = 1};
    // A device of its own has a protection domain of its own; this sample serves the first device that is used.
    const bool refused =
        place == NULL || id->verbs != server->domain->context || rdma_create_qp(id, server->domain, &attributes) != 0;
    const uint8_t credits = WINDOW;
    struct rdma_conn_param parameters = {.private_data = &credits, .private_data_len = 1, .rnr_retry_count = 7};
    if (refused || rdma_accept(id, &parameters) != 0) {
        fprintf(stderr, "echo_server: a client was rejected: %s\n", place == NULL ? "no place" : strerror(errno));
        rdma_reject(id, NULL, 0);
        if (id->qp != NULL) rdma_destroy_qp(id);
        rdma_destroy_id(id);
        return;
    }
    place->id = id;
    id->context = place;
}

static void on_connection_events(struct server* server) {
    struct rdma_cm_event* event = NULL;
    while (rdma_get_cm_event(server->events, &event) == 0) {
        const enum rdma_cm_event_type type = event->event;
        struct rdma_cm_id* id = event->id;
        // Before the identifier is destroyed, which waits until its events are acknowledged.
        rdma_ack_cm_event(event);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) on_request(server, id);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_ESTABLISHED || id->context == NULL) continue;
        if (type == RDMA_CM_EVENT_TIMEWAIT_EXIT) continue;
        struct client* client = id->context;
        client->gone = true;
        rdma_disconnect(id);  // flushes what is still in the send queue
        release_if_done(server, client);
    }
    if (errno != EAGAIN) fail("get a connection event", errno);
}

static struct client* find_client(struct server* server, uint32_t number) {
    for (int i = 0; i < MAX_CLIENTS; ++i)
        if (server->clients[i].id != NULL && server->clients[i].id->qp->qp_num == number) return &server->clients[i];
    return NULL;
}

// A client that keeps to its credits finds room in the send queue always.
static void answer(struct server* server, struct client* client, uint64_t number, uint32_t bytes) {
    struct ibv_sge piece = {
        .addr = (uintptr_t)buffer_at(server, number), .length = bytes, .lkey = server->region->lkey};
    struct ibv_send_wr request = {.wr_id = number | ANSWER, .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND};
    struct ibv_send_wr* bad = NULL;
    if (client->answers < WINDOW && ibv_post_send(client->id->qp, &request, &bad) == 0) {
        ++client->answers;
        return;
    }
    fprintf(stderr, "echo_server: a client used more than its %d credits, and is disconnected\n", WINDOW);
    rdma_disconnect(client->id);
    post_receive(server, number);
}

// wr_id says what has completed, because `opcode` is valid in successful completions only.
static void on_completion(struct server* server, const struct ibv_wc* completion) {
    struct client* client = find_client(server, completion->qp_num);
    const uint64_t number = completion->wr_id & ~ANSWER;
    const bool is_answer = (completion->wr_id & ANSWER) != 0;
    if (!is_answer && completion->status == IBV_WC_SUCCESS && client != NULL && !client->gone) {
        answer(server, client, number, completion->byte_len);
        return;
    }
    post_receive(server, number);
    if (!is_answer || client == NULL) return;
    --client->answers;
    release_if_done(server, client);
}

static void on_completion_events(struct server* server) {
    struct ibv_cq* queue = NULL;
    void* context = NULL;
    while (ibv_get_cq_event(server->channel, &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
    // The request comes before the polls, so that a completion after the last poll raises the next event.
    check(ibv_req_notify_cq(server->completions, 0), "request an event");
    struct ibv_wc batch[32];
    for (int count; (count = ibv_poll_cq(server->completions, 32, batch)) > 0;)
        for (int i = 0; i < count; ++i) on_completion(server, &batch[i]);
}

static struct rdma_cm_id* listen_at(struct server* server, const char* port) {
    struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP}, *where = NULL;
    const int failure = rdma_getaddrinfo(NULL, port, &hints, &where);
    if (failure == -1) fail("use RDMA", errno);
    if (failure != 0) {
        fprintf(stderr, "echo_server: port %s: %s\n", port, gai_strerror(failure));
        exit(1);
    }
    server->events = rdma_create_event_channel();
    if (server->events == NULL) fail("create an event channel", errno);
    never_block(server->events->fd);
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_id(server->events, &listener, NULL, RDMA_PS_TCP), "create an identifier");
    check(rdma_bind_addr(listener, where->ai_src_addr), "bind to the port");
    check(rdma_listen(listener, MAX_CLIENTS), "listen");
    rdma_freeaddrinfo(where);
    printf("listening on port %s\n", port);
    fflush(stdout);
    return listener;
}

static void destroy_shared_objects(struct server* server) {
    if (server->domain == NULL) return;
    ibv_dereg_mr(server->region);
    ibv_destroy_srq(server->receives);
    ibv_destroy_cq(server->completions);
    ibv_destroy_comp_channel(server->channel);
    ibv_dealloc_pd(server->domain);
    free(server->buffers);
}

int main(int argc, char** argv) {
    unsigned long limit = 0;
    for (int option; (option = getopt(argc, argv, "n:")) != -1;) {
        if (option == 'n') limit = strtoul(optarg, NULL, 10);
        if (option == 'n' && limit > 0) continue;
        fprintf(stderr, "Usage: echo_server [-n CLIENTS] [PORT]\n");
        return 2;
    }
    static struct server server;
    struct rdma_cm_id* listener = listen_at(&server, optind < argc ? argv[optind] : DEFAULT_PORT);
    while (limit == 0 || server.served < limit) {
        struct pollfd ready[2] = {{.fd = server.events->fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
        if (server.channel != NULL) ready[1].fd = server.channel->fd;
        if (poll(ready, 2, -1) < 0 && errno != EINTR) fail("wait", errno);
        if ((ready[1].revents & POLLIN) != 0) on_completion_events(&server);
        if ((ready[0].revents & POLLIN) != 0) on_connection_events(&server);
    }
    rdma_destroy_id(listener);
    destroy_shared_objects(&server);
    rdma_destroy_event_channel(server.events);
    printf("served %lu clients\n", server.served);
    return 0;
}
