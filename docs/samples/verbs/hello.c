// One message each way over RDMA: the smallest complete program.
//
//   hello server [PORT]
//   hello client ADDRESS [PORT]
//
// librdmacm's synchronous calls are used: each returns when its work is done. They create the queue pair and its
// completion queues as well, and the inline functions of rdma_verbs.h fill in the work requests.
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT "7471"
enum { MESSAGE_BYTES = 256 };

// A connection, and the memory that its adapter may use. An adapter reads and writes registered memory only.
struct peer {
    struct rdma_cm_id* id;
    struct ibv_mr* receive_region;
    struct ibv_mr* send_region;
    char received[MESSAGE_BYTES];
    char sent[MESSAGE_BYTES];
};

// Prints what failed, the system's reason, and the usual cause, and ends the program.
static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "hello: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "hello: no RDMA device has this address; on a machine without RDMA hardware start the program "
                "with \"rdmascope run --software -- hello ...\"\n");
    if (error == ECONNREFUSED) fprintf(stderr, "hello: start \"hello server\" there first, with the same port\n");
    if (error == EADDRINUSE) fprintf(stderr, "hello: another program listens at this port; choose another port\n");
    exit(1);
}

// librdmacm's functions return -1 and set errno.
static void check(int result, const char* what) {
    if (result != 0) fail(what, errno);
}

static void check_completion(const struct ibv_wc* completion, const char* what) {
    if (completion->status == IBV_WC_SUCCESS) return;
    fprintf(stderr, "hello: the %s failed: %s\n", what, ibv_wc_status_str(completion->status));
    if (completion->status == IBV_WC_WR_FLUSH_ERR)
        fprintf(stderr, "hello: the connection ended first; see what the other side printed\n");
    exit(1);
}

static struct rdma_addrinfo* resolve(const char* address, const char* port) {
    struct rdma_addrinfo hints = {.ai_flags = address == NULL ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP};
    struct rdma_addrinfo* result = NULL;
    const int failure = rdma_getaddrinfo(address, port, &hints, &result);
    if (failure == -1) fail("use RDMA", errno);
    if (failure != 0) {
        fprintf(stderr, "hello: %s port %s: %s\n", address == NULL ? "any address" : address, port,
                gai_strerror(failure));
        exit(1);
    }
    return result;
}

// The sizes of the queues. One request of each kind is enough here; every send request shall report its completion.
static struct ibv_qp_init_attr queue_pair_attributes(void) {
    return (struct ibv_qp_init_attr){.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
                                     .sq_sig_all = 1};
}

// Registers the buffers and posts the receive. This comes before the connection, because a message that finds no
// receive is refused: the sender then waits and repeats it, or loses the connection.
static void prepare(struct peer* peer) {
    peer->receive_region = rdma_reg_msgs(peer->id, peer->received, sizeof peer->received);
    peer->send_region = rdma_reg_msgs(peer->id, peer->sent, sizeof peer->sent);
    if (peer->receive_region == NULL || peer->send_region == NULL) fail("register memory", errno);
    check(rdma_post_recv(peer->id, NULL, peer->received, sizeof peer->received, peer->receive_region),
          "post a receive");
}

static void send_message(struct peer* peer, const char* text) {
    const size_t length = strlen(text);
    memcpy(peer->sent, text, length);
    check(rdma_post_send(peer->id, NULL, peer->sent, length, peer->send_region, 0), "post a send");
    // The buffer belongs to the adapter until the send has completed.
    struct ibv_wc completion;
    if (rdma_get_send_comp(peer->id, &completion) < 0) fail("wait for the send", errno);
    check_completion(&completion, "send");
    printf("sent: %s\n", text);
}

static void receive_message(struct peer* peer) {
    struct ibv_wc completion;
    if (rdma_get_recv_comp(peer->id, &completion) < 0) fail("wait for a message", errno);
    check_completion(&completion, "receive");
    // A message has a length and no end mark: byte_len says how much of the buffer was written.
    printf("received: %.*s\n", (int)completion.byte_len, peer->received);
}

static void finish(struct peer* peer) {
    rdma_disconnect(peer->id);
    rdma_dereg_mr(peer->receive_region);
    rdma_dereg_mr(peer->send_region);
    rdma_destroy_ep(peer->id);
}

static void serve(const char* port) {
    struct rdma_addrinfo* where = resolve(NULL, port);
    struct ibv_qp_init_attr attributes = queue_pair_attributes();
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_ep(&listener, where, NULL, &attributes), "bind to the port");
    check(rdma_listen(listener, 1), "listen");
    printf("listening on port %s\n", port);
    fflush(stdout);

    struct peer client = {0};
    check(rdma_get_request(listener, &client.id), "get a connection request");
    prepare(&client);
    check(rdma_accept(client.id, NULL), "accept the connection");
    receive_message(&client);
    send_message(&client, "hello from the server");
    finish(&client);
    rdma_destroy_ep(listener);
    rdma_freeaddrinfo(where);
}

static void greet(const char* address, const char* port) {
    struct rdma_addrinfo* where = resolve(address, port);
    struct ibv_qp_init_attr attributes = queue_pair_attributes();
    struct peer server = {0};
    check(rdma_create_ep(&server.id, where, NULL, &attributes), "find a way to the server");
    prepare(&server);
    check(rdma_connect(server.id, NULL), "connect");
    send_message(&server, "hello from the client");
    receive_message(&server);
    finish(&server);
    rdma_freeaddrinfo(where);
}

int main(int argc, char** argv) {
    if (argc >= 2 && argc <= 3 && strcmp(argv[1], "server") == 0)
        serve(argc == 3 ? argv[2] : DEFAULT_PORT);
    else if (argc >= 3 && argc <= 4 && strcmp(argv[1], "client") == 0)
        greet(argv[2], argc == 4 ? argv[3] : DEFAULT_PORT);
    else {
        fprintf(stderr, "Usage: hello server [PORT]\n       hello client ADDRESS [PORT]\n");
        return 2;
    }
    return 0;
}
