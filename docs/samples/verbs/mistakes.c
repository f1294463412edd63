// The mistakes that every RDMA programmer makes once, and what the completion says of each.
//
//   mistakes server [PORT]
//   mistakes client ADDRESS [-p PORT] MISTAKE
//
// The client makes one mistake on a connection of its own, and prints every completion and every failed call. The
// server serves one client after the other, and prints what it notices. The name of the mistake travels in the
// private data, because some mistakes are the server's: it posts no receive, or leaves.
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PORT "7471"
enum { LENT_BYTES = 4096, RECEIVE_BYTES = 64, SEND_DEPTH = 4, POSTED = 64, NAME_BYTES = 24 };

struct region {
    uint64_t address;
    uint32_t key;           // readable and writable for the peer
    uint32_t readable_key;  // the same memory, only readable
} __attribute__((packed));

struct peer {
    struct rdma_cm_id* id;
    struct ibv_cq* completions;
    struct ibv_mr* local;
    struct ibv_mr* lent_region;
    struct ibv_mr* readable_region;
    struct region remote;
    bool ended;  // the peer has ended the connection
    char lent[LENT_BYTES];
    char message[2 * RECEIVE_BYTES];  // received or sent
};

static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "mistakes: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "mistakes: no RDMA device has this address; on a machine without RDMA hardware start the "
                "program with \"rdmascope run --software -- mistakes ...\"\n");
    if (error == ECONNREFUSED) fprintf(stderr, "mistakes: start \"mistakes server\" there first\n");
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
    fprintf(stderr, "mistakes: %s port %s: %s\n", address == NULL ? "any address" : address, port,
            gai_strerror(failure));
    exit(1);
}

// `completions` is the size of the completion queue.
static void prepare(struct peer* peer, bool with_receive, int completions) {
    peer->completions = ibv_create_cq(peer->id->verbs, completions, NULL, NULL, 0);
    if (peer->completions == NULL) fail("create a completion queue", errno);
    struct ibv_qp_init_attr attributes = {
        .qp_type = IBV_QPT_RC,
        .send_cq = peer->completions,
        .recv_cq = peer->completions,
        .cap = {.max_send_wr = SEND_DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = 1};
    check(rdma_create_qp(peer->id, NULL, &attributes), "create a queue pair");
    peer->local = rdma_reg_msgs(peer->id, peer->message, sizeof peer->message);
    peer->lent_region = ibv_reg_mr(peer->id->pd, peer->lent, sizeof peer->lent,
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    peer->readable_region = ibv_reg_mr(peer->id->pd, peer->lent, sizeof peer->lent, IBV_ACCESS_REMOTE_READ);
    if (peer->local == NULL || peer->lent_region == NULL || peer->readable_region == NULL)
        fail("register memory", errno);
    if (with_receive)
        check(rdma_post_recv(peer->id, NULL, peer->message, RECEIVE_BYTES, peer->local), "post a receive");
}

static void release(struct peer* peer) {
    if (!peer->ended) rdma_disconnect(peer->id);
    rdma_destroy_qp(peer->id);
    ibv_destroy_cq(peer->completions);
    ibv_dereg_mr(peer->local);
    ibv_dereg_mr(peer->lent_region);
    ibv_dereg_mr(peer->readable_region);
    rdma_destroy_ep(peer->id);
}

static struct ibv_wc next_completion(struct peer* peer) {
    struct ibv_wc completion;
    int count = 0;
    do count = ibv_poll_cq(peer->completions, 1, &completion);
    while (count == 0);
    if (count < 0) fail("poll the completion queue", errno);
    return completion;
}

// Prints the next `count` completions. True if all came and were successful: a device may owe some after a mistake.
static bool print_completions(struct peer* peer, int count) {
    bool good = true;
    for (int i = 0; i < count; ++i) {
        struct ibv_wc completion;
        int found = 0;
        for (int tries = 0; tries < 500 && (found = ibv_poll_cq(peer->completions, 1, &completion)) == 0; ++tries)
            usleep(10000);
        if (found < 0) fail("poll the completion queue", errno);
        if (found == 0) {
            printf("no further completion within 5 s\n");
            return false;
        }
        printf("completion of request %lu: %s\n", (unsigned long)completion.wr_id,
               ibv_wc_status_str(completion.status));
        good = good && completion.status == IBV_WC_SUCCESS;
    }
    return good;
}

static enum rdma_cm_event_type wait_for_end(struct peer* peer) {
    struct rdma_cm_event* event = NULL;
    check(rdma_get_cm_event(peer->id->channel, &event), "wait for the end of the connection");
    const enum rdma_cm_event_type type = event->event;
    rdma_ack_cm_event(event);
    // On iWARP the queue pair is in the error state now, and what is outstanding is flushed. On InfiniBand and RoCE this
    // is left to the program: rdma_disconnect would do it, or this.
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
    ibv_modify_qp(peer->id->qp, &attributes, IBV_QP_STATE);
    peer->ended = true;
    return type;
}

static int post(struct peer* peer, uint64_t number, enum ibv_wr_opcode opcode, uint32_t bytes, uint64_t address,
                uint32_t key) {
    struct ibv_sge piece = {.addr = (uintptr_t)peer->message, .length = bytes, .lkey = peer->local->lkey};
    struct ibv_send_wr request = {.wr_id = number,
                                  .sg_list = &piece,
                                  .num_sge = 1,
                                  .opcode = opcode,
                                  .wr.rdma = {.remote_addr = be64toh(peer->remote.address) + address, .rkey = key}};
    struct ibv_send_wr* bad = NULL;
    const int error = ibv_post_send(peer->id->qp, &request, &bad);
    if (error != 0) printf("post of request %lu: %s\n", (unsigned long)number, strerror(error));
    return error;
}

// A request that the server refuses. InfiniBand and RoCE complete it with an error. iWARP completes a Send or a Write
// when TCP has accepted its bytes: the program sees the end of the connection, and the next request fails.
static void be_refused(struct peer* peer, enum ibv_wr_opcode opcode, uint32_t bytes, uint64_t offset, uint32_t key) {
    if (post(peer, 1, opcode, bytes, offset, key) != 0 || !print_completions(peer, 1)) return;
    printf("event: %s\n", rdma_event_str(wait_for_end(peer)));
    if (post(peer, 2, opcode, bytes, offset, key) == 0) print_completions(peer, 1);
}

static void wrong_key(struct peer* peer) {
    be_refused(peer, IBV_WR_RDMA_WRITE, 8, 0, be32toh(peer->remote.key) ^ 0x5500);
}

static void out_of_bounds(struct peer* peer) {
    be_refused(peer, IBV_WR_RDMA_READ, 8, LENT_BYTES - 4, be32toh(peer->remote.key));
}

static void wrong_access(struct peer* peer) {
    be_refused(peer, IBV_WR_RDMA_WRITE, 8, 0, be32toh(peer->remote.readable_key));
}

static void no_receive(struct peer* peer) { be_refused(peer, IBV_WR_SEND, 8, 0, 0); }
static void too_long(struct peer* peer) { be_refused(peer, IBV_WR_SEND, RECEIVE_BYTES + 1, 0, 0); }
static void peer_gone(struct peer* peer) { be_refused(peer, IBV_WR_SEND, 8, 0, 0); }

// More requests than the send queue has slots, which some devices round up. All are posted by one call, as a list; `bad`
// is the first that was not posted, and those before it are performed.
static void queue_full(struct peer* peer) {
    struct ibv_sge piece = {.addr = (uintptr_t)peer->message, .length = 8, .lkey = peer->local->lkey};
    struct ibv_send_wr requests[POSTED];
    struct ibv_send_wr* bad = NULL;
    for (int i = 0; i < POSTED; ++i)
        requests[i] = (struct ibv_send_wr){
            .wr_id = (uint64_t)i + 1,
            .next = i == POSTED - 1 ? NULL : &requests[i + 1],
            .sg_list = &piece,
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_READ,
            .wr.rdma = {.remote_addr = be64toh(peer->remote.address), .rkey = be32toh(peer->remote.key)}};
    const int error = ibv_post_send(peer->id->qp, requests, &bad);
    if (error != 0) printf("post of request %lu: %s\n", (unsigned long)bad->wr_id, strerror(abs(error)));
    print_completions(peer, error != 0 ? (int)bad->wr_id - 1 : POSTED);
}

// More completions than the queue holds; adapters round its size up.
static void completions_lost(struct peer* peer) {
    for (int i = 1; i <= SEND_DEPTH; ++i)
        if (post(peer, (uint64_t)i, IBV_WR_RDMA_WRITE, 8, 0, be32toh(peer->remote.key)) != 0) return;
    struct ibv_async_event event;
    check(ibv_get_async_event(peer->id->verbs, &event), "wait for an event of the device");
    printf("event: %s\n", ibv_event_type_str(event.event_type));
    ibv_ack_async_event(&event);
    print_completions(peer, peer->completions->cqe);
    printf("%d completions are lost\n", SEND_DEPTH - peer->completions->cqe);
}

static const struct {
    const char* name;
    void (*make)(struct peer* peer);
} mistakes[] = {{"no-receive", no_receive},       {"too-long", too_long},         {"wrong-key", wrong_key},
                {"out-of-bounds", out_of_bounds}, {"wrong-access", wrong_access}, {"queue-full", queue_full},
                {"cq-overrun", completions_lost}, {"peer-gone", peer_gone}};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

static void serve_client(struct peer* client, const char* name) {
    const struct region own = {.address = htobe64((uintptr_t)client->lent),
                               .key = htobe32(client->lent_region->rkey),
                               .readable_key = htobe32(client->readable_region->rkey)};
    struct rdma_conn_param parameters = {
        .private_data = &own, .private_data_len = sizeof own, .responder_resources = SEND_DEPTH};
    check(rdma_accept(client->id, &parameters), "accept the connection");
    if (strcmp(name, "peer-gone") == 0) {
        next_completion(client);
        printf("%s: the server leaves\n", name);
        fflush(stdout);
        _exit(0);  // as a crash: nothing is disconnected or destroyed
    }
    wait_for_end(client);
    // The receive completes, with the mistake or flushed, perhaps a moment after the end.
    if (strcmp(name, "no-receive") == 0)
        printf("%s: no completion here\n", name);
    else
        printf("%s: the receive: %s\n", name, ibv_wc_status_str(next_completion(client).status));
    fflush(stdout);
}

static void serve(const char* port) {
    struct rdma_addrinfo* where = resolve(NULL, port);
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_ep(&listener, where, NULL, NULL), "bind to the port");
    check(rdma_listen(listener, 1), "listen");
    printf("listening on port %s\n", port);
    fflush(stdout);
    for (;;) {
        static struct peer client;
        client = (struct peer){0};
        check(rdma_get_request(listener, &client.id), "get a connection request");
        char name[NAME_BYTES] = "";
        const struct rdma_conn_param* asked = &client.id->event->param.conn;
        if (asked->private_data_len >= NAME_BYTES) memcpy(name, asked->private_data, NAME_BYTES - 1);
        prepare(&client, strcmp(name, "no-receive") != 0, 2);
        serve_client(&client, name);
        release(&client);
    }
}

static int make_mistake(const char* address, const char* port, const char* name) {
    int which = 0;
    while (which < MISTAKES && strcmp(mistakes[which].name, name) != 0) ++which;
    if (which == MISTAKES) return 2;
    struct rdma_addrinfo* where = resolve(address, port);
    static struct peer server;
    check(rdma_create_ep(&server.id, where, NULL, NULL), "find a way to the server");
    prepare(&server, false, strcmp(name, "cq-overrun") == 0 ? 1 : POSTED);
    char private_data[NAME_BYTES] = "";
    strncpy(private_data, name, NAME_BYTES - 1);
    struct rdma_conn_param parameters = {.private_data = private_data,
                                         .private_data_len = NAME_BYTES,
                                         .initiator_depth = SEND_DEPTH,
                                         .retry_count = 3,
                                         .rnr_retry_count = 1};
    check(rdma_connect(server.id, &parameters), "connect");
    const struct rdma_conn_param* accepted = &server.id->event->param.conn;
    if (accepted->private_data_len < sizeof server.remote) {
        fprintf(stderr, "mistakes: the server is another program than mistakes\n");
        exit(1);
    }
    memcpy(&server.remote, accepted->private_data, sizeof server.remote);
    mistakes[which].make(&server);
    release(&server);
    rdma_freeaddrinfo(where);
    return 0;
}

int main(int argc, char** argv) {
    const bool has_port = argc == 6 && strcmp(argv[3], "-p") == 0;
    if (argc >= 2 && argc <= 3 && strcmp(argv[1], "server") == 0) serve(argc == 3 ? argv[2] : DEFAULT_PORT);
    if ((argc == 4 || has_port) && strcmp(argv[1], "client") == 0 &&
        make_mistake(argv[2], has_port ? argv[4] : DEFAULT_PORT, argv[argc - 1]) == 0)
        return 0;
    fprintf(stderr, "Usage: mistakes server [PORT]\n       mistakes client ADDRESS [-p PORT] MISTAKE\nMISTAKE is");
    for (int i = 0; i < MISTAKES; ++i) fprintf(stderr, "%s %s", i == 0 ? "" : ",", mistakes[i].name);
    fprintf(stderr, "\n");
    return 2;
}
