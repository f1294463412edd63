// Sends messages to echo_server, several at a time, and compares what comes back.
//
//   echo_client [-n MESSAGES] [-s BYTES] [-d DEPTH] ADDRESS [PORT]
//
// DEPTH messages are on the way at a time. The server grants credits when it accepts: the number of messages that it
// has receives for. More would find none, so the smaller of both numbers is used.
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_PORT "7471"
enum { MAX_BYTES = 4096, MAX_DEPTH = 16 };

// One message on the way: where it is sent from, and where its answer goes.
struct slot {
    char sent[MAX_BYTES];
    char received[MAX_BYTES];
};

struct echo {
    struct rdma_cm_id* id;
    struct ibv_mr* region;
    struct slot slots[MAX_DEPTH];
    uint32_t bytes;
    unsigned long messages;
    unsigned long sent;
    unsigned long returned;
};

static _Noreturn void fail(const char* what, int error) {
    fprintf(stderr, "echo_client: cannot %s: %s\n", what, strerror(error));
    if (error == ENODEV)
        fprintf(stderr,
                "echo_client: no RDMA device has this address; on a machine without RDMA hardware start the "
                "program with \"rdmascope run --software -- echo_client ...\"\n");
    if (error == ECONNREFUSED) fprintf(stderr, "echo_client: start echo_server there first, with the same port\n");
    exit(1);
}

static void check(int result, const char* what) {
    if (result != 0) fail(what, result > 0 ? result : errno);
}

static void connect_to(struct echo* echo, const char* address, const char* port) {
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *where = NULL;
    const int failure = rdma_getaddrinfo(address, port, &hints, &where);
    if (failure == -1) fail("use RDMA", errno);
    if (failure != 0) {
        fprintf(stderr, "echo_client: %s port %s: %s\n", address, port, gai_strerror(failure));
        exit(1);
    }
    struct ibv_qp_init_attr attributes = {
        .cap = {.max_send_wr = MAX_DEPTH, .max_recv_wr = MAX_DEPTH, .max_send_sge = 1, .max_recv_sge = 1}};
    check(rdma_create_ep(&echo->id, where, NULL, &attributes), "find a way to the server");
    rdma_freeaddrinfo(where);
    echo->region = rdma_reg_msgs(echo->id, echo->slots, sizeof echo->slots);
    if (echo->region == NULL) fail("register memory", errno);
    // Receives for every answer that can come, before the first message is sent.
    for (unsigned i = 0; i < MAX_DEPTH; ++i)
        check(rdma_post_recv(echo->id, &echo->slots[i], echo->slots[i].received, MAX_BYTES, echo->region),
              "post a receive");
    // 7: a message that finds no receive is repeated without end (InfiniBand and RoCE).
    struct rdma_conn_param parameters = {.rnr_retry_count = 7, .retry_count = 7};
    check(rdma_connect(echo->id, &parameters), "connect");
}

// As the server said in its accept; 1 from a server that said nothing.
static unsigned credits_of(const struct echo* echo) {
    const struct rdma_conn_param* accepted = &echo->id->event->param.conn;
    return accepted->private_data_len == 0 ? 1 : *(const uint8_t*)accepted->private_data;
}

static void send_next(struct echo* echo, unsigned depth) {
    struct slot* slot = &echo->slots[echo->sent % depth];
    for (uint32_t i = 0; i < echo->bytes; ++i) slot->sent[i] = (char)((echo->sent + i) & 0x7f);
    // One completion a round is enough: it says that all sends before it have completed as well.
    const bool last_of_round = ++echo->sent % depth == 0;
    check(rdma_post_send(echo->id, slot, slot->sent, echo->bytes, echo->region, last_of_round ? IBV_SEND_SIGNALED : 0),
          "post a send");
    if (!last_of_round) return;
    struct ibv_wc completion;
    if (rdma_get_send_comp(echo->id, &completion) < 0) fail("wait for a send", errno);
    if (completion.status == IBV_WC_SUCCESS) return;
    fprintf(stderr, "echo_client: a send failed: %s\n", ibv_wc_status_str(completion.status));
    exit(1);
}

// The answers come in the order of the messages: a queue pair keeps it.
static void take_answer(struct echo* echo, unsigned depth) {
    struct ibv_wc completion;
    if (rdma_get_recv_comp(echo->id, &completion) < 0) fail("wait for an answer", errno);
    if (completion.status != IBV_WC_SUCCESS) {
        fprintf(stderr, "echo_client: the connection ended after %lu answers: %s\n", echo->returned,
                ibv_wc_status_str(completion.status));
        exit(1);
    }
    struct slot* filled = (struct slot*)(uintptr_t)completion.wr_id;  // receives are used in the order of their posts
    const struct slot* sent = &echo->slots[echo->returned++ % depth];
    if (completion.byte_len != echo->bytes || memcmp(filled->received, sent->sent, echo->bytes) != 0) {
        fprintf(stderr, "echo_client: answer %lu is not the message that was sent\n", echo->returned);
        exit(1);
    }
    check(rdma_post_recv(echo->id, filled, filled->received, MAX_BYTES, echo->region), "post a receive");
}

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int usage(void) {
    fprintf(stderr,
            "Usage: echo_client [-n MESSAGES] [-s BYTES] [-d DEPTH] ADDRESS [PORT]\n"
            "MESSAGES is 1 or more (default 1000), BYTES 1 to %d (default 64), DEPTH 1 to %d (default %d).\n",
            MAX_BYTES, MAX_DEPTH, MAX_DEPTH);
    return 2;
}

int main(int argc, char** argv) {
    static struct echo echo = {.bytes = 64, .messages = 1000};
    unsigned depth = MAX_DEPTH;
    for (int option; (option = getopt(argc, argv, "n:s:d:")) != -1;) switch (option) {
            case 'n': echo.messages = strtoul(optarg, NULL, 10); break;
            case 's': echo.bytes = (uint32_t)strtoul(optarg, NULL, 10); break;
            case 'd': depth = (unsigned)strtoul(optarg, NULL, 10); break;
            default: return usage();
        }
    const bool in_range =
        echo.messages > 0 && echo.bytes > 0 && echo.bytes <= MAX_BYTES && depth > 0 && depth <= MAX_DEPTH;
    if (!in_range || argc - optind < 1 || argc - optind > 2) return usage();
    connect_to(&echo, argv[optind], argc - optind == 2 ? argv[optind + 1] : DEFAULT_PORT);
    if (depth > credits_of(&echo)) depth = credits_of(&echo);
    const double begin = now_seconds();
    while (echo.returned < echo.messages) {
        while (echo.sent < echo.messages && echo.sent - echo.returned < depth) send_next(&echo, depth);
        take_answer(&echo, depth);
    }
    const double seconds = now_seconds() - begin;
    printf("%lu messages of %u bytes returned, depth %u: %.0f messages/s\n", echo.returned, echo.bytes, depth,
           (double)echo.returned / seconds);
    rdma_disconnect(echo.id);
    rdma_dereg_mr(echo.region);
    rdma_destroy_ep(echo.id);
    return 0;
}
