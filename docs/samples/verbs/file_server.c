// Files by RDMA Read: the server says where a file lies in its memory, and the client fetches it from there.
//
//   file_server serve FOLDER [PORT]
//   file_server get ADDRESS NAME OUTPUT [PORT]
//
// The server's processor takes no part in the transfer. It registers the file for remote reading, sends address, key
// and length (an advertisement), and withdraws the region when the client reports that it is done.
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
enum { NAME_BYTES = 256, PIECE_BYTES = 65536, READ_DEPTH = 8 };

// What the server sends. The two hosts may differ in byte order: numbers on the wire are big-endian.
struct advertisement {
    uint64_t address;
    uint64_t length;
    uint32_t key;
    uint32_t found;  // 0: there is no such file, and the other members mean nothing
};

struct peer {
    struct rdma_cm_id* id;
    struct ibv_mr* region;
    char name[NAME_BYTES];  // client to server; an empty message reports that the client is done
    struct advertisement advertised;
};

static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "file_server: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "file_server: no RDMA device has this address; on a machine without RDMA hardware start the "
                "program with \"rdmascope run --software -- file_server ...\"\n");
    if (error == ECONNREFUSED) fprintf(stderr, "file_server: start \"file_server serve FOLDER\" there first\n");
    exit(1);
}

static void check(int result, const char* what) {
    if (result != 0) fail(what, result > 0 ? result : errno);
}

static _Noreturn void refuse(const char* what, const char* name) {
    fprintf(stderr, "file_server: %s: %s\n", name, what);
    exit(1);
}

static struct rdma_addrinfo* resolve(const char* address, const char* port) {
    struct rdma_addrinfo hints = {.ai_flags = address == NULL ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP};
    struct rdma_addrinfo* result = NULL;
    const int failure = rdma_getaddrinfo(address, port, &hints, &result);
    if (failure == -1) fail("use RDMA", errno);
    if (failure != 0) refuse(gai_strerror(failure), address == NULL ? port : address);
    return result;
}

static struct ibv_qp_init_attr queue_pair_attributes(void) {
    return (struct ibv_qp_init_attr){
        .cap = {.max_send_wr = READ_DEPTH, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}, .sq_sig_all = 1};
}

static void prepare(struct peer* peer, void* receive_into, size_t bytes) {
    peer->region = rdma_reg_msgs(peer->id, peer, sizeof *peer);
    if (peer->region == NULL) fail("register memory", errno);
    check(rdma_post_recv(peer->id, NULL, receive_into, bytes, peer->region), "post a receive");
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

// False when the connection has ended.
static bool wait_for_message(struct peer* peer, struct ibv_wc* completion) {
    wait_for_receive(peer->id, completion);
    return completion->status == IBV_WC_SUCCESS;
}

static bool wait_for_send(struct peer* peer, const char* what) {
    struct ibv_wc completion;
    if (rdma_get_send_comp(peer->id, &completion) < 0) fail("wait for a completion", errno);
    if (completion.status == IBV_WC_SUCCESS) return true;
    fprintf(stderr, "file_server: %s failed: %s\n", what, ibv_wc_status_str(completion.status));
    return false;
}

// The whole file in memory; NULL with errno. A name with a slash could leave the folder.
static char* load(const char* folder, const char* name, size_t* length) {
    char path[4096];
    errno = ENOENT;
    if (strchr(name, '/') != NULL || strcmp(name, "..") == 0) return NULL;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NULL;
    FILE* file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char* bytes = NULL;
    long size = -1;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)size + 1);  // one more, because a region of no bytes cannot be registered
    *length = bytes == NULL ? 0 : fread(bytes, 1, (size_t)size, file);
    fclose(file);
    return bytes;
}

static void serve_client(struct peer* client, const char* folder) {
    struct ibv_wc completion;
    if (!wait_for_message(client, &completion)) return;
    const size_t name_length = completion.byte_len < NAME_BYTES ? completion.byte_len : NAME_BYTES - 1;
    client->name[name_length] = '\0';
    size_t length = 0;
    char* bytes = load(folder, client->name, &length);
    // Only this memory, only for reading, and only until ibv_dereg_mr.
    struct ibv_mr* lent = bytes == NULL ? NULL : ibv_reg_mr(client->id->pd, bytes, length + 1, IBV_ACCESS_REMOTE_READ);
    client->advertised = (struct advertisement){.found = 0};
    if (lent != NULL)
        client->advertised = (struct advertisement){.address = htobe64((uintptr_t)bytes),
                                                    .length = htobe64(length),
                                                    .key = htobe32(lent->rkey),
                                                    .found = htobe32(1)};
    char shown[NAME_BYTES];
    memcpy(shown, client->name, sizeof shown);
    check(rdma_post_recv(client->id, NULL, client->name, NAME_BYTES, client->region), "post a receive");
    check(rdma_post_send(client->id, NULL, &client->advertised, sizeof client->advertised, client->region, 0),
          "post a send");
    // No completion reports a peer's Read: only the client knows when it is done. If the connection ends first, the
    // receive is flushed.
    const bool done = wait_for_send(client, "the advertisement") && wait_for_message(client, &completion);
    printf("%s: %s\n", shown, lent == NULL ? "not found" : done ? "fetched" : "the client left");
    fflush(stdout);
    if (lent != NULL) ibv_dereg_mr(lent);  // from now on the key is worthless
    free(bytes);
}

static void serve(const char* folder, const char* port) {
    struct rdma_addrinfo* where = resolve(NULL, port);
    struct ibv_qp_init_attr attributes = queue_pair_attributes();
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_ep(&listener, where, NULL, &attributes), "bind to the port");
    check(rdma_listen(listener, 16), "listen");
    printf("serving %s on port %s\n", folder, port);
    fflush(stdout);
    for (;;) {  // one client after the other; echo_server shows many at a time
        struct peer client = {0};
        check(rdma_get_request(listener, &client.id), "get a connection request");
        prepare(&client, client.name, sizeof client.name);
        // responder_resources: the number of Reads that the client may have outstanding.
        struct rdma_conn_param parameters = {.responder_resources = READ_DEPTH, .rnr_retry_count = 7};
        if (rdma_accept(client.id, &parameters) == 0) serve_client(&client, folder);
        rdma_disconnect(client.id);
        rdma_dereg_mr(client.region);
        rdma_destroy_ep(client.id);
    }
}

// At most READ_DEPTH Reads at a time: the adapters agreed on this number when they connected.
static void read_all(struct peer* server, char* into, struct ibv_mr* region, uint64_t address, uint32_t key,
                     uint64_t length) {
    uint64_t posted = 0, outstanding = 0;
    while (posted < length || outstanding > 0) {
        if (posted < length && outstanding < READ_DEPTH) {
            const size_t piece = length - posted < PIECE_BYTES ? (size_t)(length - posted) : PIECE_BYTES;
            check(rdma_post_read(server->id, NULL, into + posted, piece, region, 0, address + posted, key),
                  "post a Read");
            posted += piece;
            ++outstanding;
            continue;
        }
        if (!wait_for_send(server, "a Read")) exit(1);
        --outstanding;
    }
}

static void get(const char* address, const char* name, const char* output, const char* port) {
    struct rdma_addrinfo* where = resolve(address, port);
    struct ibv_qp_init_attr attributes = queue_pair_attributes();
    struct peer server = {0};
    check(rdma_create_ep(&server.id, where, NULL, &attributes), "find a way to the server");
    prepare(&server, &server.advertised, sizeof server.advertised);
    // initiator_depth: the number of Reads that this side will have outstanding.
    struct rdma_conn_param parameters = {.initiator_depth = READ_DEPTH, .rnr_retry_count = 7, .retry_count = 7};
    check(rdma_connect(server.id, &parameters), "connect");

    const size_t name_length = strlen(name);
    if (name_length == 0 || name_length >= NAME_BYTES) refuse("a name has 1 to 255 bytes", name);
    memcpy(server.name, name, name_length);
    check(rdma_post_send(server.id, NULL, server.name, name_length, server.region, 0), "post a send");
    struct ibv_wc completion;
    if (!wait_for_send(&server, "the request") || !wait_for_message(&server, &completion))
        refuse("the server ended the connection", address);
    if (server.advertised.found == 0) refuse("the server has no such file", name);

    const uint64_t length = be64toh(server.advertised.length);
    char* bytes = length < SIZE_MAX ? malloc(length + 1) : NULL;
    if (bytes == NULL) fail("allocate memory for the file", ENOMEM);
    // The answers of Reads are written by the adapter: iWARP asks for remote write access here as well.
    struct ibv_mr* region = rdma_reg_write(server.id, bytes, length + 1);
    if (region == NULL) fail("register memory for the file", errno);
    read_all(&server, bytes, region, be64toh(server.advertised.address), be32toh(server.advertised.key), length);
    check(rdma_post_sendv(server.id, NULL, NULL, 0, 0), "report the end");
    if (!wait_for_send(&server, "the last message")) exit(1);

    FILE* file = fopen(output, "wb");
    if (file == NULL || fwrite(bytes, 1, length, file) != length || fclose(file) != 0) fail("write the file", errno);
    printf("%s: %lu bytes\n", output, (unsigned long)length);
    rdma_disconnect(server.id);
    rdma_dereg_mr(region);
    rdma_dereg_mr(server.region);
    rdma_destroy_ep(server.id);
    rdma_freeaddrinfo(where);
    free(bytes);
}

int main(int argc, char** argv) {
    if (argc >= 3 && argc <= 4 && strcmp(argv[1], "serve") == 0)
        serve(argv[2], argc == 4 ? argv[3] : DEFAULT_PORT);
    else if (argc >= 5 && argc <= 6 && strcmp(argv[1], "get") == 0)
        get(argv[2], argv[3], argv[4], argc == 6 ? argv[5] : DEFAULT_PORT);
    else {
        fprintf(stderr, "Usage: file_server serve FOLDER [PORT]\n       file_server get ADDRESS NAME OUTPUT [PORT]\n");
        return 2;
    }
    return 0;
}
