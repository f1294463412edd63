// Round trips of a message, and how long they take: completions by events or by polling.
//
//   ping_pong [-w event|poll] server [PORT]
//   ping_pong [-w event|poll] [-n ROUNDS] [-s BYTES] client ADDRESS [PORT]
//
// Polling answers soonest and keeps a processor busy. An event lets the thread sleep, and costs the time to wake it.
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_PORT "7471"
enum { MAX_BYTES = 65536, MAX_ROUNDS = 1000000, SEND_DEPTH = 32, SIGNAL_EVERY = 16, POLLS_BETWEEN_LOOKS = 100000 };

struct options {
    bool by_events;
    unsigned rounds;
    unsigned bytes;
};

struct peer {
    struct rdma_cm_id* id;
    struct ibv_comp_channel* channel;
    struct ibv_cq* completions;  // of sends and receives alike
    struct ibv_mr* region;
    char* memory;  // the first half is received into, the second half is sent
    uint32_t inline_bytes;
    unsigned sends;
    bool by_events;
    bool left;  // the peer has ended the connection
};

static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "ping_pong: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "ping_pong: no RDMA device has this address; on a machine without RDMA hardware start the "
                "program with \"rdmascope run --software -- ping_pong ...\"\n");
    if (error == ECONNREFUSED) fprintf(stderr, "ping_pong: start \"ping_pong server\" there first\n");
    exit(1);
}

// librdmacm returns -1 and sets errno; libibverbs returns the error itself.
static void check(int result, const char* what) {
    if (result != 0) fail(what, result > 0 ? result : errno);
}

// The objects that rdma_create_ep would make by itself, made here to have one completion queue with a channel.
static void prepare(struct peer* peer) {
    peer->channel = ibv_create_comp_channel(peer->id->verbs);
    if (peer->channel == NULL) fail("create a completion channel", errno);
    // Room for every request that can be outstanding. A completion queue that overflows is lost with its queue pairs.
    peer->completions = ibv_create_cq(peer->id->verbs, SEND_DEPTH + 1, NULL, peer->channel, 0);
    if (peer->completions == NULL) fail("create a completion queue", errno);
    struct ibv_qp_init_attr attributes = {
        .qp_type = IBV_QPT_RC,
        .send_cq = peer->completions,
        .recv_cq = peer->completions,
        .cap = {
            .max_send_wr = SEND_DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64}};
    check(rdma_create_qp(peer->id, NULL, &attributes), "create a queue pair");
    peer->inline_bytes = attributes.cap.max_inline_data;  // what was granted
    peer->memory = calloc(2, MAX_BYTES);
    if (peer->memory == NULL) fail("allocate memory", ENOMEM);
    peer->region = rdma_reg_msgs(peer->id, peer->memory, (size_t)2 * MAX_BYTES);
    if (peer->region == NULL) fail("register memory", errno);
}

static void post_receive(struct peer* peer) {
    check(rdma_post_recv(peer->id, NULL, peer->memory, MAX_BYTES, peer->region), "post a receive");
}

static void post_send(struct peer* peer, uint32_t bytes) {
    // Moderation: one completion for SIGNAL_EVERY sends. A slot of the send queue is free again when a later send has
    // completed, so the queue must be deeper than the distance between two signals.
    const bool signal = ++peer->sends % SIGNAL_EVERY == 0;
    // Inline data travels in the work request: the adapter does not fetch it from memory by a separate read.
    const bool fits = bytes <= peer->inline_bytes;
    const int flags = (signal ? IBV_SEND_SIGNALED : 0) | (fits ? IBV_SEND_INLINE : 0);
    check(rdma_post_send(peer->id, NULL, peer->memory + MAX_BYTES, bytes, peer->region, flags), "post a send");
}

static bool take_completion(struct peer* peer, struct ibv_wc* completion) {
    const int count = ibv_poll_cq(peer->completions, 1, completion);
    if (count < 0) fail("poll the completion queue", errno);
    return count == 1;
}

// An event of the connection manager says that the peer has left. On InfiniBand and RoCE nothing completes by itself
// then: the queue pair must be put into the error state, which flushes what is outstanding. iWARP does so by itself.
// The event stays where it is, for rdma_disconnect.
static void on_end(struct peer* peer) {
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
    check(ibv_modify_qp(peer->id->qp, &attributes, IBV_QP_STATE), "end the queue pair");
    peer->left = true;
}

// Waits for an event of the completion queue or of the connection; with a time of 0 it only looks.
static void wait_for_event(struct peer* peer, int timeout_ms) {
    struct pollfd ready[2] = {{.fd = peer->left ? -1 : peer->id->channel->fd, .events = POLLIN},
                              {.fd = peer->by_events ? peer->channel->fd : -1, .events = POLLIN}};
    if (poll(ready, 2, timeout_ms) < 0) fail("wait", errno);
    if (ready[0].revents != 0) on_end(peer);
    if (ready[1].revents == 0) return;
    struct ibv_cq* queue = NULL;
    void* context = NULL;
    check(ibv_get_cq_event(peer->channel, &queue, &context), "take an event");
    ibv_ack_cq_events(queue, 1);
}

static void wait_for_completion(struct peer* peer, struct ibv_wc* completion) {
    for (unsigned polls = 1; !take_completion(peer, completion); ++polls) {
        if (!peer->by_events) {
            if (polls % POLLS_BETWEEN_LOOKS == 0 && !peer->left) wait_for_event(peer, 0);
            continue;
        }
        check(ibv_req_notify_cq(peer->completions, 0), "request an event");
        // Once more after the request: a completion that came between the poll and the request raises no event.
        if (take_completion(peer, completion)) return;
        wait_for_event(peer, -1);
    }
}

// The length of the next message; -1 when the connection has ended.
static long wait_for_message(struct peer* peer) {
    struct ibv_wc completion;
    do wait_for_completion(peer, &completion);
    while (completion.status == IBV_WC_SUCCESS && completion.opcode != IBV_WC_RECV);
    if (completion.status == IBV_WC_SUCCESS) return (long)completion.byte_len;
    // At the end of a connection every outstanding request is "flushed".
    if (completion.status == IBV_WC_WR_FLUSH_ERR) return -1;
    fprintf(stderr, "ping_pong: a message failed: %s\n", ibv_wc_status_str(completion.status));
    exit(1);
}

static void finish(struct peer* peer) {
    rdma_disconnect(peer->id);
    rdma_destroy_qp(peer->id);
    ibv_destroy_cq(peer->completions);
    ibv_destroy_comp_channel(peer->channel);
    rdma_dereg_mr(peer->region);
    free(peer->memory);
    rdma_destroy_ep(peer->id);
}

static struct rdma_addrinfo* resolve(const char* address, const char* port) {
    struct rdma_addrinfo hints = {.ai_flags = address == NULL ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP};
    struct rdma_addrinfo* result = NULL;
    const int failure = rdma_getaddrinfo(address, port, &hints, &result);
    if (failure == -1) fail("use RDMA", errno);
    if (failure == 0) return result;
    fprintf(stderr, "ping_pong: %s port %s: %s\n", address == NULL ? "any address" : address, port,
            gai_strerror(failure));
    exit(1);
}

static void serve(const struct options* options, const char* port) {
    struct rdma_addrinfo* where = resolve(NULL, port);
    struct rdma_cm_id* listener = NULL;
    check(rdma_create_ep(&listener, where, NULL, NULL), "bind to the port");
    check(rdma_listen(listener, 1), "listen");
    printf("listening on port %s\n", port);
    fflush(stdout);
    struct peer client = {.by_events = options->by_events};
    check(rdma_get_request(listener, &client.id), "get a connection request");
    prepare(&client);
    post_receive(&client);
    check(rdma_accept(client.id, NULL), "accept the connection");
    unsigned answered = 0;
    for (long bytes; (bytes = wait_for_message(&client)) >= 0; ++answered) {
        memcpy(client.memory + MAX_BYTES, client.memory, (size_t)bytes);
        post_receive(&client);  // before the answer: the answer permits the next message
        post_send(&client, (uint32_t)bytes);
    }
    printf("answered %u messages\n", answered);
    finish(&client);
    rdma_destroy_ep(listener);
    rdma_freeaddrinfo(where);
}

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void* left, const void* right) {
    const double a = *(const double*)left, b = *(const double*)right;
    return (a > b) - (a < b);
}

static void measure(const struct options* options, const char* address, const char* port) {
    struct rdma_addrinfo* where = resolve(address, port);
    struct peer server = {.by_events = options->by_events};
    check(rdma_create_ep(&server.id, where, NULL, NULL), "find a way to the server");
    prepare(&server);
    post_receive(&server);
    check(rdma_connect(server.id, NULL), "connect");
    double* times = calloc(options->rounds, sizeof *times);
    if (times == NULL) fail("allocate memory", ENOMEM);
    for (unsigned round = 0; round < options->rounds; ++round) {
        const double begin = now_us();
        post_send(&server, options->bytes);
        if (wait_for_message(&server) != (long)options->bytes) {
            fprintf(stderr, "ping_pong: the server ended the connection in round %u\n", round + 1);
            exit(1);
        }
        times[round] = now_us() - begin;
        post_receive(&server);
    }
    qsort(times, options->rounds, sizeof *times, compare);
    printf("%u round trips of %u bytes, %s: median %.1f us, 99 %% within %.1f us\n", options->rounds, options->bytes,
           options->by_events ? "events" : "polling", times[options->rounds / 2],
           times[(size_t)options->rounds * 99 / 100]);
    free(times);
    finish(&server);
    rdma_freeaddrinfo(where);
}

static int usage(void) {
    fprintf(stderr,
            "Usage: ping_pong [-w event|poll] server [PORT]\n"
            "       ping_pong [-w event|poll] [-n ROUNDS] [-s BYTES] client ADDRESS [PORT]\n"
            "ROUNDS is 1 to %d (default 1000), BYTES 1 to %d (default 64).\n",
            MAX_ROUNDS, MAX_BYTES);
    return 2;
}

int main(int argc, char** argv) {
    struct options options = {.by_events = true, .rounds = 1000, .bytes = 64};
    for (int option; (option = getopt(argc, argv, "w:n:s:")) != -1;) switch (option) {
            case 'w':
                if (strcmp(optarg, "event") != 0 && strcmp(optarg, "poll") != 0) return usage();
                options.by_events = strcmp(optarg, "event") == 0;
                break;
            case 'n': options.rounds = (unsigned)strtoul(optarg, NULL, 10); break;
            case 's': options.bytes = (unsigned)strtoul(optarg, NULL, 10); break;
            default: return usage();
        }
    if (options.rounds == 0 || options.rounds > MAX_ROUNDS || options.bytes == 0 || options.bytes > MAX_BYTES)
        return usage();
    char** words = argv + optind;
    const int count = argc - optind;
    if (count >= 1 && count <= 2 && strcmp(words[0], "server") == 0)
        serve(&options, count == 2 ? words[1] : DEFAULT_PORT);
    else if (count >= 2 && count <= 3 && strcmp(words[0], "client") == 0)
        measure(&options, words[1], count == 3 ? words[2] : DEFAULT_PORT);
    else
        return usage();
    return 0;
}
