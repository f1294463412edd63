// The extended calls of libibverbs: ibv_wr_* for work requests, and ibv_cq_ex for completions.
//
//   extended server [PORT]
//   extended client ADDRESS [-p PORT] TEXT...
//
// Each TEXT goes by a Write of its own to its place in the server's memory, and a Send reports the length of all. The
// requests are posted together: the adapter is notified once. ibv_wr_* fill in the adapter's own format, without
// struct ibv_send_wr between; ibv_cq_ex reads only those fields of a completion that the program asks for, and has a
// field that ibv_poll_cq does not have, the time of the completion, where the device has a clock.
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT "7471"
enum { TEXT_BYTES = 4096, MAX_TEXTS = 32 };

struct region {
    uint64_t address;
    uint32_t key;
} __attribute__((packed));

struct peer {
    struct rdma_cm_id* id;
    struct ibv_cq_ex* completions;
    bool has_times;  // the device says when a request completed
    struct ibv_mr* memory;
    struct region remote;
    // Apart from the rest, because the peer may write here: registered memory holds nothing that is not meant for it.
    struct {
        char text[TEXT_BYTES];
        uint64_t total;  // the message: the length of the text, big-endian
    } shared;
};

static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "extended: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "extended: no RDMA device has this address; on a machine without RDMA hardware start the "
                "program with \"rdmascope run --software -- extended ...\"\n");
    if (error == ECONNREFUSED) fprintf(stderr, "extended: start \"extended server\" there first\n");
    if (error == EOPNOTSUPP || error == ENOSYS)
        fprintf(stderr,
                "extended: the provider of this device has no extended calls (siw has none); use "
                "ibv_post_send and ibv_poll_cq, as the other samples do\n");
    exit(1);
}

static void check(int result, const char* what) {
    if (result != 0) fail(what, result > 0 ? result : errno);
}

static struct rdma_addrinfo* resolve(const char* address, const char* port) {
    struct rdma_addrinfo hints = {.ai_flags = address == NULL ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP};
    struct rdma_addrinfo* result = NULL;
    const int failure = rdma_getaddrinfo(address, port, &hints, &result);
    if (failure == -1) fail("use RDMA", errno);
    if (failure == 0) return result;
    fprintf(stderr, "extended: %s port %s: %s\n", address == NULL ? "any address" : address, port,
            gai_strerror(failure));
    exit(1);
}

static void prepare(struct peer* peer) {
    // The fields that this program will read. Others cost nothing, because they are never filled in.
    struct ibv_cq_init_attr_ex wanted = {.cqe = MAX_TEXTS + 2, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
    peer->completions = ibv_create_cq_ex(peer->id->verbs, &wanted);
    peer->has_times = peer->completions != NULL;
    if (!peer->has_times && errno == EOPNOTSUPP) {  // Linux rxe has no clock
        wanted.wc_flags = 0;
        peer->completions = ibv_create_cq_ex(peer->id->verbs, &wanted);
    }
    if (peer->completions == NULL) fail("create an extended completion queue", errno);
    struct ibv_qp_init_attr_ex attributes = {
        .qp_type = IBV_QPT_RC,
        .send_cq = ibv_cq_ex_to_cq(peer->completions),
        .recv_cq = ibv_cq_ex_to_cq(peer->completions),
        .cap = {.max_send_wr = MAX_TEXTS + 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        // A queue pair has ibv_wr_* functions for the operations that are named here, and for no others.
        .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND};
    check(rdma_create_qp_ex(peer->id, &attributes), "create an extended queue pair");
    peer->memory = rdma_reg_write(peer->id, &peer->shared, sizeof peer->shared);
    if (peer->memory == NULL) fail("register memory", errno);
}

// Polls for one completion; what is needed is read between start and end. Returns its status.
static enum ibv_wc_status poll_one(struct peer* peer, uint64_t* request, uint64_t* time) {
    struct ibv_poll_cq_attr attributes = {0};
    int result = 0;
    do result = ibv_start_poll(peer->completions, &attributes);
    while (result == ENOENT);  // the queue is empty; ibv_end_poll follows a successful start only
    check(result, "poll the completion queue");
    *request = peer->completions->wr_id;
    *time = peer->has_times ? ibv_wc_read_completion_ts(peer->completions) : 0;
    const enum ibv_wc_status status = peer->completions->status;
    ibv_end_poll(peer->completions);
    return status;
}

static void wait_for(struct peer* peer, uint64_t expected) {
    uint64_t request = 0, time = 0;
    const enum ibv_wc_status status = poll_one(peer, &request, &time);
    if (status != IBV_WC_SUCCESS) {
        fprintf(stderr, "extended: request %lu failed: %s\n", (unsigned long)request, ibv_wc_status_str(status));
        exit(1);
    }
    if (request != expected) fail("find the completion of this request", EPROTO);
    if (peer->has_times)
        printf("request %lu completed at the device's time %lu\n", (unsigned long)request, (unsigned long)time);
    else
        printf("request %lu completed; this device has no clock\n", (unsigned long)request);
}

static void finish(struct peer* peer) {
    rdma_disconnect(peer->id);
    rdma_destroy_qp(peer->id);
    ibv_destroy_cq(ibv_cq_ex_to_cq(peer->completions));
    ibv_dereg_mr(peer->memory);
    rdma_destroy_ep(peer->id);
}

static void serve(const char* port) {
    struct rdma_addrinfo* where = resolve(NULL, port);
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_ep(&listener, where, NULL, NULL), "bind to the port");
    check(rdma_listen(listener, 1), "listen");
    printf("listening on port %s\n", port);
    fflush(stdout);
    static struct peer client;
    check(rdma_get_request(listener, &client.id), "get a connection request");
    prepare(&client);
    check(rdma_post_recv(client.id, NULL, &client.shared.total, sizeof client.shared.total, client.memory),
          "post a receive");
    const struct region own = {.address = htobe64((uintptr_t)client.shared.text), .key = htobe32(client.memory->rkey)};
    struct rdma_conn_param parameters = {.private_data = &own, .private_data_len = sizeof own};
    check(rdma_accept(client.id, &parameters), "accept the connection");
    wait_for(&client, 0);
    // The Writes were posted before the Send, so their data is here when the Send is.
    const uint64_t length = be64toh(client.shared.total);
    if (length > sizeof client.shared.text) fail("accept this length", EPROTO);
    printf("written: %.*s\n", (int)length, client.shared.text);
    finish(&client);
    rdma_destroy_ep(listener);
    rdma_freeaddrinfo(where);
}

static void write_texts(struct peer* server, int count, char** texts) {
    struct ibv_qp_ex* queue = ibv_qp_to_qp_ex(server->id->qp);
    if (queue == NULL) fail("use ibv_wr_* functions", EOPNOTSUPP);
    size_t length = 0;
    ibv_wr_start(queue);
    for (int i = 0; i < count; ++i) {
        const size_t bytes = strlen(texts[i]);
        if (bytes > sizeof server->shared.text - length) {
            ibv_wr_abort(queue);  // nothing was posted yet
            fprintf(stderr, "extended: all texts together have at most %d bytes\n", TEXT_BYTES);
            exit(2);
        }
        memcpy(server->shared.text + length, texts[i], bytes);
        // Id and flags are set before the operation, memory after it.
        queue->wr_id = (uint64_t)i + 1;
        queue->wr_flags = 0;
        ibv_wr_rdma_write(queue, be32toh(server->remote.key), be64toh(server->remote.address) + length);
        ibv_wr_set_sge(queue, server->memory->lkey, (uintptr_t)(server->shared.text + length), (uint32_t)bytes);
        length += bytes;
    }
    server->shared.total = htobe64(length);
    queue->wr_id = (uint64_t)count + 1;
    queue->wr_flags = IBV_SEND_SIGNALED;  // the only completion: it covers the Writes before it
    ibv_wr_send(queue);
    ibv_wr_set_sge(queue, server->memory->lkey, (uintptr_t)&server->shared.total, sizeof server->shared.total);
    check(ibv_wr_complete(queue), "post the requests");
    wait_for(server, (uint64_t)count + 1);
}

static void send_texts(const char* address, const char* port, int count, char** texts) {
    struct rdma_addrinfo* where = resolve(address, port);
    static struct peer server;
    check(rdma_create_ep(&server.id, where, NULL, NULL), "find a way to the server");
    prepare(&server);
    struct rdma_conn_param parameters = {.retry_count = 7, .rnr_retry_count = 7};
    check(rdma_connect(server.id, &parameters), "connect");
    const struct rdma_conn_param* accepted = &server.id->event->param.conn;
    if (accepted->private_data_len < sizeof server.remote) {
        fprintf(stderr, "extended: the server is another program than extended\n");
        exit(1);
    }
    memcpy(&server.remote, accepted->private_data, sizeof server.remote);
    write_texts(&server, count, texts);
    finish(&server);
    rdma_freeaddrinfo(where);
}

int main(int argc, char** argv) {
    const int first = argc >= 5 && strcmp(argv[3], "-p") == 0 ? 5 : 3;
    const int count = argc - first;
    if (argc >= 2 && argc <= 3 && strcmp(argv[1], "server") == 0)
        serve(argc == 3 ? argv[2] : DEFAULT_PORT);
    else if (count >= 1 && count <= MAX_TEXTS && strcmp(argv[1], "client") == 0)
        send_texts(argv[2], first == 5 ? argv[4] : DEFAULT_PORT, count, argv + first);
    else {
        fprintf(stderr,
                "Usage: extended server [PORT]\n       extended client ADDRESS [-p PORT] TEXT...\n"
                "At most %d texts.\n",
                MAX_TEXTS);
        return 2;
    }
    return 0;
}
