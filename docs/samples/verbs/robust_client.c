// A client that does not hang: each wait has a limit, a lost connection is made again, errors are reported in words.
//
//   robust_client [-n MESSAGES] [-i INTERVAL_MS] [-t TIMEOUT_MS] [-r TRIES] ADDRESS [PORT]
//
// Sends numbered messages to echo_server. A message without an answer is sent again over the next connection, so the
// server may see it twice: only a server whose requests can be repeated without harm may be used in this way.
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_PORT "7471"
enum { MESSAGE_BYTES = 64, FIRST_PAUSE_MS = 100, LONGEST_PAUSE_MS = 3200 };

struct options {
    unsigned long messages;
    int interval_ms;  // between two messages
    int timeout_ms;   // of each step: an address, a route, a connection, an answer
    int tries;        // without a connection, one after the other
};

// One connection, and all that belongs to it. A queue pair that has failed is never used again.
struct connection {
    struct rdma_event_channel* events;
    struct rdma_cm_id* id;
    struct ibv_comp_channel* channel;
    struct ibv_cq* completions;
    struct ibv_mr* region;
    char received[MESSAGE_BYTES];
    char sent[MESSAGE_BYTES];
};

__attribute__((format(printf, 1, 2))) static bool report(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "robust_client: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    return false;  // callers return it: the step failed
}

static bool check(int result, const char* what) {
    if (result == 0) return true;
    const int error = result > 0 ? result : errno;
    report("cannot %s: %s", what, strerror(error));
    if (error == ECONNREFUSED) report("no server listens there");  // Linux siw says so at once, others by an event
    if (error == ENODEV) report("start the program with \"rdmascope run --software\" where there is no RDMA hardware");
    return false;
}

static const char* cause_of(const struct rdma_cm_event* event) {
    switch (event->event) {
        case RDMA_CM_EVENT_ADDR_ERROR: return "no RDMA device reaches this address";
        case RDMA_CM_EVENT_ROUTE_ERROR: return "there is no path to the host";
        case RDMA_CM_EVENT_CONNECT_ERROR: return "the peer's answer could not be used";
        case RDMA_CM_EVENT_UNREACHABLE: return "the host does not answer";
        case RDMA_CM_EVENT_REJECTED: return "no server listens there, or it has no place";
        case RDMA_CM_EVENT_DISCONNECTED: return "the server closed the connection, or is gone";
        case RDMA_CM_EVENT_DEVICE_REMOVAL: return "the RDMA device was removed";
        case RDMA_CM_EVENT_ADDR_CHANGE: return "the address moved to another device";
        default: return "this event was not expected now";
    }
}

static const char* cause_of_status(enum ibv_wc_status status) {
    switch (status) {
        case IBV_WC_LOC_LEN_ERR: return "the answer is longer than the receive";
        case IBV_WC_LOC_PROT_ERR: return "the buffer is not in the registered region";
        case IBV_WC_WR_FLUSH_ERR: return "the connection ended before this request was performed";
        case IBV_WC_REM_ACCESS_ERR: return "the peer does not permit this access: key, bounds or rights";
        case IBV_WC_REM_INV_REQ_ERR: return "the peer's receive is too short, or it does not permit the operation";
        case IBV_WC_REM_OP_ERR: return "the peer could not perform the operation, for example without a receive";
        case IBV_WC_RETRY_EXC_ERR: return "the peer no longer answers: host, link or path is gone";
        case IBV_WC_RNR_RETRY_EXC_ERR: return "the peer posts no receives";
        default: return ibv_wc_status_str(status);
    }
}

// Waits until the descriptor is readable.
static bool wait_for(int descriptor, int timeout_ms, const char* what) {
    struct pollfd ready = {.fd = descriptor, .events = POLLIN};
    int count = 0;
    do count = poll(&ready, 1, timeout_ms);
    while (count < 0 && errno == EINTR);
    if (count == 0) return report("no %s within %d ms", what, timeout_ms);
    return check(count < 0 ? -1 : 0, "wait");
}

static bool expect_event(struct connection* connection, enum rdma_cm_event_type expected, const struct options* options,
                         const char* what) {
    struct rdma_cm_event* event = NULL;
    if (!wait_for(connection->events->fd, options->timeout_ms, what)) return false;
    if (!check(rdma_get_cm_event(connection->events, &event), "get a connection event")) return false;
    const bool good = event->event == expected;
    if (!good) report("no %s: %s (%s, status %d)", what, cause_of(event), rdma_event_str(event->event), event->status);
    rdma_ack_cm_event(event);
    return good;
}

static bool create_queue_pair(struct connection* connection) {
    struct ibv_context* device = connection->id->verbs;
    connection->channel = ibv_create_comp_channel(device);
    if (connection->channel == NULL) return check(-1, "create a completion channel");
    connection->completions = ibv_create_cq(device, 2, NULL, connection->channel, 0);
    if (connection->completions == NULL) return check(-1, "create a completion queue");
    struct ibv_qp_init_attr attributes = {
        .qp_type = IBV_QPT_RC,
        .send_cq = connection->completions,
        .recv_cq = connection->completions,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = 1};
    if (!check(rdma_create_qp(connection->id, NULL, &attributes), "create a queue pair")) return false;
    connection->region = rdma_reg_msgs(connection->id, connection, sizeof *connection);
    return check(connection->region == NULL ? -1 : 0, "register memory");
}

static bool open_connection(struct connection* connection, struct sockaddr* address, const struct options* options) {
    connection->events = rdma_create_event_channel();
    if (connection->events == NULL) return check(-1, "create an event channel");
    if (!check(rdma_create_id(connection->events, &connection->id, NULL, RDMA_PS_TCP), "create an identifier") ||
        !check(rdma_resolve_addr(connection->id, NULL, address, options->timeout_ms), "resolve the address") ||
        !expect_event(connection, RDMA_CM_EVENT_ADDR_RESOLVED, options, "address") ||
        !check(rdma_resolve_route(connection->id, options->timeout_ms), "resolve the route") ||
        !expect_event(connection, RDMA_CM_EVENT_ROUTE_RESOLVED, options, "route") || !create_queue_pair(connection))
        return false;
    // retry_count: how often the adapter repeats a packet without an answer. rnr_retry_count 6: not without end (7), so
    // that a server which posts no receives is an error and not a hang.
    struct rdma_conn_param parameters = {.retry_count = 5, .rnr_retry_count = 6};
    return check(rdma_connect(connection->id, &parameters), "connect") &&
           expect_event(connection, RDMA_CM_EVENT_ESTABLISHED, options, "connection");
}

// In the reverse order; what was not made is left out.
static void close_connection(struct connection* connection) {
    if (connection->id != NULL && connection->id->qp != NULL) {
        rdma_disconnect(connection->id);
        rdma_destroy_qp(connection->id);
    }
    if (connection->region != NULL) ibv_dereg_mr(connection->region);
    if (connection->completions != NULL) ibv_destroy_cq(connection->completions);
    if (connection->channel != NULL) ibv_destroy_comp_channel(connection->channel);
    if (connection->id != NULL) rdma_destroy_id(connection->id);
    if (connection->events != NULL) rdma_destroy_event_channel(connection->events);
    *connection = (struct connection){0};
}

static bool take_completion(struct connection* connection, struct ibv_wc* completion, int timeout_ms) {
    for (;;) {
        int count = ibv_poll_cq(connection->completions, 1, completion);
        if (count == 0) {
            if (!check(ibv_req_notify_cq(connection->completions, 0), "request an event")) return false;
            count = ibv_poll_cq(connection->completions, 1, completion);
        }
        if (count < 0) return check(-1, "poll the completion queue");
        if (count == 1) break;
        struct ibv_cq* queue = NULL;
        void* context = NULL;
        if (!wait_for(connection->channel->fd, timeout_ms, "answer")) return false;
        if (!check(ibv_get_cq_event(connection->channel, &queue, &context), "get an event")) return false;
        ibv_ack_cq_events(queue, 1);
    }
    if (completion->status == IBV_WC_SUCCESS) return true;
    return report("the request failed: %s (%s)", cause_of_status(completion->status),
                  ibv_wc_status_str(completion->status));
}

static bool exchange(struct connection* connection, unsigned long number, const struct options* options) {
    const int length = snprintf(connection->sent, MESSAGE_BYTES, "message %lu", number);
    const size_t bytes = (size_t)length;
    if (!check(rdma_post_recv(connection->id, NULL, connection->received, MESSAGE_BYTES, connection->region),
               "post a receive") ||
        !check(rdma_post_send(connection->id, NULL, connection->sent, bytes, connection->region, 0), "post a send"))
        return false;
    // The send's own completion may come before or after the answer's.
    struct ibv_wc completion = {0};
    for (int left = 2; left > 0; --left) {
        if (!take_completion(connection, &completion, options->timeout_ms)) return false;
        if (completion.opcode != IBV_WC_RECV) continue;
        if (completion.byte_len != bytes || memcmp(connection->sent, connection->received, bytes) != 0)
            return report("the answer to message %lu is another text; is the server echo_server?", number);
    }
    return true;
}

static void pause_ms(int milliseconds) {
    const struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
    nanosleep(&time, NULL);
}

static int run(struct sockaddr* address, const struct options* options) {
    static struct connection connection;
    unsigned long answered = 0;
    for (int attempt = 1, pause = FIRST_PAUSE_MS; attempt <= options->tries; ++attempt) {
        bool good = open_connection(&connection, address, options);
        if (good) printf("connected; %lu messages answered so far\n", answered);
        fflush(stdout);
        while (good && answered < options->messages) {
            if (!(good = exchange(&connection, answered + 1, options))) break;
            attempt = 0;  // the connection works: the next failure is a new one
            pause = FIRST_PAUSE_MS;
            if (++answered < options->messages) pause_ms(options->interval_ms);
        }
        close_connection(&connection);
        if (answered == options->messages) {
            printf("all %lu messages answered\n", answered);
            return 0;
        }
        if (attempt == options->tries) break;
        // Twice as long each time: many clients of a server that restarts must not all come at once, without end.
        report("next try in %d ms", pause);
        pause_ms(pause);
        pause = pause * 2 > LONGEST_PAUSE_MS ? LONGEST_PAUSE_MS : pause * 2;
    }
    report("given up after %d tries; %lu of %lu messages were answered", options->tries, answered, options->messages);
    return 1;
}

int main(int argc, char** argv) {
    struct options options = {.messages = 10, .interval_ms = 100, .timeout_ms = 2000, .tries = 8};
    bool good = true;
    for (int option; (option = getopt(argc, argv, "n:i:t:r:")) != -1;) {
        const long value = option == '?' ? -1 : strtol(optarg, NULL, 10);
        if (option == 'n') options.messages = (unsigned long)value;
        if (option == 'i') options.interval_ms = (int)value;
        if (option == 't') options.timeout_ms = (int)value;
        if (option == 'r') options.tries = (int)value;
        good = good && value >= (option == 'i' ? 0 : 1) && value <= 1000000;
    }
    if (!good || argc - optind < 1 || argc - optind > 2) {
        fprintf(stderr,
                "Usage: robust_client [-n MESSAGES] [-i INTERVAL_MS] [-t TIMEOUT_MS] [-r TRIES] ADDRESS "
                "[PORT]\n");
        return 2;
    }
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *where = NULL;
    const char* port = argc - optind == 2 ? argv[optind + 1] : DEFAULT_PORT;
    const int failure = rdma_getaddrinfo(argv[optind], port, &hints, &where);
    if (failure == -1) return check(-1, "use RDMA") ? 0 : 1;
    if (failure != 0) return report("%s port %s: %s", argv[optind], port, gai_strerror(failure)) ? 0 : 1;
    const int status = run(where->ai_dst_addr, &options);
    rdma_freeaddrinfo(where);
    return status;
}
