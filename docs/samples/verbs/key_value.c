// A key-value store with RDMA Write with Immediate.
//
//   key_value server [PORT]
//   key_value client ADDRESS [-p PORT] put KEY VALUE | get KEY ...
//
// A request is written straight into the server's memory, and its answer into the client's. A plain Write is invisible
// to the peer. The immediate, 32 bits that come with the Write, uses up a receive of the peer and completes it: the
// peer learns that the data is there, and what to do with it, without a message in a buffer of its own.
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT "7471"
enum { KEY_BYTES = 64, VALUE_BYTES = 960, ENTRIES = 1024, RECEIVES = 4 };
enum code { PUT = 1, GET = 2, DONE = 3, NOT_FOUND = 4, FULL = 5 };  // the immediate

struct entry {
    char key[KEY_BYTES];
    char value[VALUE_BYTES];
};

// Where the peer may write. It travels in the private data of connect and accept.
struct region {
    uint64_t address;
    uint32_t key;
} __attribute__((packed));

struct peer {
    struct rdma_cm_id* id;
    struct ibv_mr* incoming_region;
    struct ibv_mr* outgoing_region;
    struct region remote;
    struct entry incoming;  // the peer writes here, and nowhere else
    struct entry outgoing;
};

static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "key_value: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "key_value: no RDMA device has this address; on a machine without RDMA hardware start the "
                "program with \"rdmascope run --software -- key_value ...\"\n");
    if (error == ECONNREFUSED) fprintf(stderr, "key_value: start \"key_value server\" there first\n");
    if (error == EOPNOTSUPP) fprintf(stderr, "key_value: this device has no Write with Immediate; siw has none\n");
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
    fprintf(stderr, "key_value: %s port %s: %s\n", address == NULL ? "any address" : address, port,
            gai_strerror(failure));
    exit(1);
}

static struct ibv_qp_init_attr queue_pair_attributes(void) {
    return (struct ibv_qp_init_attr){
        .cap = {.max_send_wr = 1, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1}, .sq_sig_all = 1};
}

// A receive without memory: the data of a Write goes where the Write says, and only the immediate needs the receive.
static void post_receive(struct peer* peer) {
    if (rdma_post_recvv(peer->id, NULL, NULL, 0) == 0) return;
    const int error = abs(errno);  // siw, which takes no such receive, has the error with the other sign
    fail("post a receive without memory", error == EINVAL ? EOPNOTSUPP : error);
}

static struct region prepare(struct peer* peer) {
    peer->incoming_region = rdma_reg_write(peer->id, &peer->incoming, sizeof peer->incoming);
    peer->outgoing_region = rdma_reg_msgs(peer->id, &peer->outgoing, sizeof peer->outgoing);
    if (peer->incoming_region == NULL || peer->outgoing_region == NULL) fail("register memory", errno);
    for (int i = 0; i < RECEIVES; ++i) post_receive(peer);
    return (struct region){.address = htobe64((uintptr_t)&peer->incoming), .key = htobe32(peer->incoming_region->rkey)};
}

// The region in the private data of the event; false if the peer is another program.
static bool take_region(struct peer* peer, const struct rdma_cm_event* event) {
    const struct rdma_conn_param* parameters = &event->param.conn;
    // Some transports pad private data with zeros.
    if (parameters->private_data == NULL || parameters->private_data_len < sizeof peer->remote) return false;
    memcpy(&peer->remote, parameters->private_data, sizeof peer->remote);
    return true;
}

static bool completed(const struct ibv_wc* completion, const char* what) {
    if (completion->status == IBV_WC_SUCCESS) return true;
    // "Flushed" is the ordinary end of a connection.
    if (completion->status != IBV_WC_WR_FLUSH_ERR)
        fprintf(stderr, "key_value: the %s failed: %s\n", what, ibv_wc_status_str(completion->status));
    return false;
}

static bool write_entry(struct peer* peer, enum code code) {
    struct ibv_sge piece = {
        .addr = (uintptr_t)&peer->outgoing, .length = sizeof peer->outgoing, .lkey = peer->outgoing_region->lkey};
    struct ibv_send_wr request = {
        .sg_list = &piece,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl((uint32_t)code),
        .wr.rdma = {.remote_addr = be64toh(peer->remote.address), .rkey = be32toh(peer->remote.key)}};
    struct ibv_send_wr* bad = NULL;
    check(ibv_post_send(peer->id->qp, &request, &bad), "post a Write with Immediate");
    struct ibv_wc completion;
    if (rdma_get_send_comp(peer->id, &completion) < 0) fail("wait for the Write", errno);
    return completed(&completion, "Write");
}

// Waits for a receive, or for the end of the connection: then the receive is flushed. On InfiniBand and RoCE a peer that
// leaves is an event, and nothing completes until this side puts its queue pair into the error state; iWARP does so by
// itself. The event stays where it is, for rdma_disconnect.
static void wait_for_receive(struct rdma_cm_id* id, struct ibv_wc* completion) {
    struct pollfd ready[2] = {{.fd = id->recv_cq_channel->fd, .events = POLLIN},
                              {.fd = id->channel->fd, .events = POLLIN}};
    for (;;) {
        int count = ibv_poll_cq(id->recv_cq, 1, completion);
        if (count == 0) {
            check(ibv_req_notify_cq(id->recv_cq, 0), "request an event");
            count = ibv_poll_cq(id->recv_cq, 1, completion);
        }
        if (count < 0) fail("poll the completion queue", errno);
        if (count == 1) return;
        if (poll(ready, 2, -1) < 0) fail("wait", errno);
        if (ready[1].revents != 0) {
            struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
            check(ibv_modify_qp(id->qp, &attributes, IBV_QP_STATE), "end the queue pair");
            ready[1].fd = -1;
        }
        if (ready[0].revents == 0) continue;
        struct ibv_cq* queue = NULL;
        void* context = NULL;
        check(ibv_get_cq_event(id->recv_cq_channel, &queue, &context), "take an event");
        ibv_ack_cq_events(queue, 1);
    }
}

// 0 when the connection has ended. The data is in `incoming` when this returns: a receive completes after the data of
// its Write was placed.
static uint32_t wait_for_entry(struct peer* peer) {
    struct ibv_wc completion;
    wait_for_receive(peer->id, &completion);
    if (!completed(&completion, "receive")) return 0;
    post_receive(peer);
    // The peer could have written anything: make the texts end.
    peer->incoming.key[KEY_BYTES - 1] = '\0';
    peer->incoming.value[VALUE_BYTES - 1] = '\0';
    return completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? ntohl(completion.imm_data) : 0;
}

static struct entry store[ENTRIES];

static enum code perform(uint32_t code, const struct entry* request, struct entry* answer) {
    struct entry* place = NULL;
    for (int i = 0; i < ENTRIES && place == NULL; ++i)
        if (store[i].key[0] == '\0' || strcmp(store[i].key, request->key) == 0) place = &store[i];
    if (place == NULL) return code == PUT ? FULL : NOT_FOUND;
    if (code == PUT) *place = *request;
    if (place->key[0] == '\0') return NOT_FOUND;
    *answer = *place;
    return DONE;
}

static void serve_client(struct peer* client) {
    for (uint32_t code; (code = wait_for_entry(client)) != 0;)
        if (!write_entry(client, perform(code, &client->incoming, &client->outgoing))) return;
}

static void serve(const char* port) {
    struct rdma_addrinfo* where = resolve(NULL, port);
    struct ibv_qp_init_attr attributes = queue_pair_attributes();
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_ep(&listener, where, NULL, &attributes), "bind to the port");
    check(rdma_listen(listener, 16), "listen");
    printf("listening on port %s\n", port);
    fflush(stdout);
    for (;;) {  // one client after the other; echo_server shows many at a time
        static struct peer client;
        client = (struct peer){0};
        check(rdma_get_request(listener, &client.id), "get a connection request");
        const struct region own = prepare(&client);
        struct rdma_conn_param parameters = {
            .private_data = &own, .private_data_len = sizeof own, .rnr_retry_count = 7};
        if (!take_region(&client, client.id->event))
            rdma_reject(client.id, NULL, 0);
        else if (rdma_accept(client.id, &parameters) == 0) {
            serve_client(&client);
            rdma_disconnect(client.id);
        }
        rdma_dereg_mr(client.incoming_region);
        rdma_dereg_mr(client.outgoing_region);
        rdma_destroy_ep(client.id);
    }
}

static bool ask(struct peer* server, enum code code, const char* key, const char* value) {
    if (strlen(key) >= KEY_BYTES || strlen(value) >= VALUE_BYTES || *key == '\0') {
        fprintf(stderr, "key_value: a key has 1 to %d bytes and a value at most %d\n", KEY_BYTES - 1, VALUE_BYTES - 1);
        return false;
    }
    strcpy(server->outgoing.key, key);
    strcpy(server->outgoing.value, value);
    const uint32_t answer = write_entry(server, code) ? wait_for_entry(server) : 0;
    if (answer == DONE) printf("%s = %s\n", server->incoming.key, server->incoming.value);
    if (answer == NOT_FOUND) printf("%s is not there\n", key);
    if (answer == FULL) printf("the store is full\n");
    if (answer == 0) fprintf(stderr, "key_value: the server ended the connection\n");
    return answer == DONE || answer == NOT_FOUND;
}

// 0, or 1 when a request failed.
static int perform_all(const char* address, const char* port, char** words) {
    struct rdma_addrinfo* where = resolve(address, port);
    struct ibv_qp_init_attr attributes = queue_pair_attributes();
    static struct peer server;
    check(rdma_create_ep(&server.id, where, NULL, &attributes), "find a way to the server");
    const struct region own = prepare(&server);
    struct rdma_conn_param parameters = {
        .private_data = &own, .private_data_len = sizeof own, .rnr_retry_count = 7, .retry_count = 7};
    check(rdma_connect(server.id, &parameters), "connect");
    bool good = take_region(&server, server.id->event);
    if (!good) fprintf(stderr, "key_value: the server is another program than key_value\n");
    while (good && *words != NULL) {
        const bool put = strcmp(words[0], "put") == 0;
        good = ask(&server, put ? PUT : GET, words[1], put ? words[2] : "");
        words += put ? 3 : 2;
    }
    rdma_disconnect(server.id);
    rdma_dereg_mr(server.incoming_region);
    rdma_dereg_mr(server.outgoing_region);
    rdma_destroy_ep(server.id);
    rdma_freeaddrinfo(where);
    return good ? 0 : 1;
}

static bool are_requests(char** words) {
    while (*words != NULL) {
        const int length = strcmp(*words, "put") == 0 ? 3 : strcmp(*words, "get") == 0 ? 2 : 0;
        if (length == 0) return false;
        for (int i = 0; i < length; ++i)
            if (*words++ == NULL) return false;
    }
    return true;
}

int main(int argc, char** argv) {
    const bool has_port = argc >= 5 && strcmp(argv[3], "-p") == 0;
    char** requests = argv + (has_port ? 5 : 3);
    if (argc >= 2 && argc <= 3 && strcmp(argv[1], "server") == 0) serve(argc == 3 ? argv[2] : DEFAULT_PORT);
    if (argc >= 4 && strcmp(argv[1], "client") == 0 && *requests != NULL && are_requests(requests))
        return perform_all(argv[2], has_port ? argv[4] : DEFAULT_PORT, requests);
    fprintf(stderr,
            "Usage: key_value server [PORT]\n"
            "       key_value client ADDRESS [-p PORT] {put KEY VALUE | get KEY}...\n");
    return 2;
}
