// A counter that many clients change by atomic operations.
//
//   counter server [-n CLIENTS] [PORT]
//   counter client [-m add|lock] [-n TIMES] ADDRESS [PORT]
//
// The server lends two words of its memory and does nothing more: its adapter performs the operations. With "add" each
// step is one Fetch and Add. With "lock" each step takes a lock by Compare and Swap, reads and writes the counter, and
// opens the lock: five round trips or more, and a client that dies with the lock stops the others.
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PORT "7471"

// Atomic operations need an address that is a multiple of 8. Each word has the byte order of the server.
struct words {
    _Atomic uint64_t counter;
    _Atomic uint64_t lock;  // 0: open
};

struct region {
    uint64_t address;
    uint32_t key;
} __attribute__((packed));

struct client {
    struct rdma_cm_id* id;
    struct ibv_mr* memory;
    struct region remote;
    uint64_t result;  // what the adapter fetched, or what it shall write
};

static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "counter: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "counter: no RDMA device has this address; on a machine without RDMA hardware start the "
                "program with \"rdmascope run --software -- counter ...\"\n");
    if (error == ECONNREFUSED) fprintf(stderr, "counter: start \"counter server\" there first\n");
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
    fprintf(stderr, "counter: %s port %s: %s\n", address == NULL ? "any address" : address, port,
            gai_strerror(failure));
    exit(1);
}

static void require_atomics(struct ibv_context* device) {
    struct ibv_device_attr attributes;
    check(ibv_query_device(device, &attributes), "ask the device");
    if (attributes.atomic_cap != IBV_ATOMIC_NONE) return;
    fprintf(stderr, "counter: the device %s has no atomic operations\n", ibv_get_device_name(device->device));
    exit(1);
}

// One region serves every client: all their queue pairs are in its protection domain.
static struct ibv_mr* lend(struct rdma_cm_id* id, struct words* words) {
    require_atomics(id->verbs);
    struct ibv_mr* memory = ibv_reg_mr(
        id->pd, words, sizeof *words,
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    if (memory == NULL) fail("register the counter", errno);
    return memory;
}

static void accept_client(struct rdma_cm_id* id, const struct words* words, const struct ibv_mr* memory) {
    struct ibv_qp_init_attr attributes = {.qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1, .max_recv_wr = 1}};
    const struct region region = {.address = htobe64((uintptr_t)words), .key = htobe32(memory->rkey)};
    struct rdma_conn_param parameters = {
        .private_data = &region, .private_data_len = sizeof region, .responder_resources = 1};
    // Without a domain of its own, librdmacm gives every identifier of a device the same.
    if (rdma_create_qp(id, NULL, &attributes) == 0 && rdma_accept(id, &parameters) == 0) return;
    fprintf(stderr, "counter: a client was rejected: %s\n", strerror(errno));
    rdma_reject(id, NULL, 0);
}

static void serve(unsigned long clients, const char* port) {
    struct rdma_addrinfo* where = resolve(NULL, port);
    struct rdma_event_channel* events = rdma_create_event_channel();
    if (events == NULL) fail("create an event channel", errno);
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_id(events, &listener, NULL, RDMA_PS_TCP), "create an identifier");
    check(rdma_bind_addr(listener, where->ai_src_addr), "bind to the port");
    check(rdma_listen(listener, 16), "listen");
    printf("listening on port %s\n", port);
    fflush(stdout);
    static struct words words;
    struct ibv_mr* memory = NULL;
    for (unsigned long gone = 0; clients == 0 || gone < clients;) {
        struct rdma_cm_event* event = NULL;
        check(rdma_get_cm_event(events, &event), "wait for an event");
        const enum rdma_cm_event_type type = event->event;
        struct rdma_cm_id* id = event->id;
        rdma_ack_cm_event(event);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST && memory == NULL) memory = lend(id, &words);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) accept_client(id, &words, memory);
        if (type != RDMA_CM_EVENT_DISCONNECTED) continue;
        // No completion reports what a peer did to this memory: the program looks when it wants to know.
        printf("a client left; the counter is %lu\n", (unsigned long)atomic_load(&words.counter));
        fflush(stdout);
        rdma_disconnect(id);
        rdma_destroy_qp(id);
        rdma_destroy_id(id);
        ++gone;
    }
    ibv_dereg_mr(memory);
    rdma_destroy_id(listener);
    rdma_destroy_event_channel(events);
    rdma_freeaddrinfo(where);
}

// Posts one request and waits until it has completed. `result` then holds what was fetched.
static void perform(struct client* client, enum ibv_wr_opcode opcode, uint64_t offset, uint64_t add_or_compare,
                    uint64_t swap) {
    struct ibv_sge piece = {
        .addr = (uintptr_t)&client->result, .length = sizeof client->result, .lkey = client->memory->lkey};
    struct ibv_send_wr request = {.sg_list = &piece, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
    const uint64_t address = be64toh(client->remote.address) + offset;
    const uint32_t key = be32toh(client->remote.key);
    if (opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_RDMA_WRITE) {
        request.wr.rdma.remote_addr = address;
        request.wr.rdma.rkey = key;
    } else {
        request.wr.atomic.remote_addr = address;
        request.wr.atomic.rkey = key;
        request.wr.atomic.compare_add = add_or_compare;
        request.wr.atomic.swap = swap;
    }
    struct ibv_send_wr* bad = NULL;
    check(ibv_post_send(client->id->qp, &request, &bad), "post a request");
    struct ibv_wc completion;
    if (rdma_get_send_comp(client->id, &completion) < 0) fail("wait for a completion", errno);
    if (completion.status == IBV_WC_SUCCESS) return;
    fprintf(stderr, "counter: a request failed: %s\n", ibv_wc_status_str(completion.status));
    exit(1);
}

static uint64_t add_one(struct client* client) {
    perform(client, IBV_WR_ATOMIC_FETCH_AND_ADD, offsetof(struct words, counter), 1, 0);
    return client->result;
}

static uint64_t add_one_locked(struct client* client) {
    const uint64_t own = (uint64_t)getpid();
    do perform(client, IBV_WR_ATOMIC_CMP_AND_SWP, offsetof(struct words, lock), 0, own);
    while (client->result != 0);
    perform(client, IBV_WR_RDMA_READ, offsetof(struct words, counter), 0, 0);
    const uint64_t before = client->result;
    client->result = before + 1;
    perform(client, IBV_WR_RDMA_WRITE, offsetof(struct words, counter), 0, 0);
    perform(client, IBV_WR_ATOMIC_CMP_AND_SWP, offsetof(struct words, lock), own, 0);
    return before;
}

static void count(bool locked, unsigned long times, const char* address, const char* port) {
    struct rdma_addrinfo* where = resolve(address, port);
    struct ibv_qp_init_attr attributes = {.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1}};
    struct client client = {0};
    check(rdma_create_ep(&client.id, where, NULL, &attributes), "find a way to the server");
    require_atomics(client.id->verbs);
    // The answer of a Read or of an atomic operation is written here; iWARP asks for remote write access for that.
    client.memory = rdma_reg_write(client.id, &client.result, sizeof client.result);
    if (client.memory == NULL) fail("register memory", errno);
    struct rdma_conn_param parameters = {.initiator_depth = 1, .retry_count = 7};
    check(rdma_connect(client.id, &parameters), "connect");
    const struct rdma_conn_param* accepted = &client.id->event->param.conn;
    if (accepted->private_data_len < sizeof client.remote) {
        fprintf(stderr, "counter: the server is another program than counter\n");
        exit(1);
    }
    memcpy(&client.remote, accepted->private_data, sizeof client.remote);
    uint64_t before = 0;
    for (unsigned long i = 0; i < times; ++i) before = locked ? add_one_locked(&client) : add_one(&client);
    printf("added 1 %lu times; the last step found %lu\n", times, (unsigned long)before);
    rdma_disconnect(client.id);
    rdma_dereg_mr(client.memory);
    rdma_destroy_ep(client.id);
    rdma_freeaddrinfo(where);
}

static int usage(void) {
    fprintf(stderr,
            "Usage: counter server [-n CLIENTS] [PORT]\n"
            "       counter client [-m add|lock] [-n TIMES] ADDRESS [PORT]\n");
    return 2;
}

int main(int argc, char** argv) {
    const char* mode = "add";
    unsigned long number = 0;
    for (int option; (option = getopt(argc, argv, "m:n:")) != -1;) {
        if (option == 'm') mode = optarg;
        if (option == 'n') number = strtoul(optarg, NULL, 10);
        if (option == '?' || (option == 'n' && number == 0)) return usage();
    }
    char** words = argv + optind;
    const int left = argc - optind;
    const bool known = strcmp(mode, "add") == 0 || strcmp(mode, "lock") == 0;
    if (known && left >= 1 && left <= 2 && strcmp(words[0], "server") == 0)
        serve(number, left == 2 ? words[1] : DEFAULT_PORT);
    else if (known && left >= 2 && left <= 3 && strcmp(words[0], "client") == 0)
        count(strcmp(mode, "lock") == 0, number == 0 ? 1000 : number, words[1], left == 3 ? words[2] : DEFAULT_PORT);
    else
        return usage();
    return 0;
}
