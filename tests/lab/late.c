/* LD_PRELOAD for clients in the emulated machines, whose peers are slow where they must not be:
 *
 * perftest with -R connects twice, the second time without knowing whether the server listens again: a rejected client
 * crashes. siw sends its MPA Reply before it has set its callbacks on the socket (siw_accept, Linux 6.1): a first
 * message that arrives in between wakes no process, and both ends wait for ever.
 *
 * So connections begin late, and what is said on them later still. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

int rdma_connect(struct rdma_cm_id* id, struct rdma_conn_param* parameters) {
    int (*const real)(struct rdma_cm_id*, struct rdma_conn_param*) = dlsym(RTLD_NEXT, "rdma_connect");
    usleep(1500000);
    return real(id, parameters);
}

int rdma_get_cm_event(struct rdma_event_channel* channel, struct rdma_cm_event** event) {
    int (*const real)(struct rdma_event_channel*, struct rdma_cm_event**) = dlsym(RTLD_NEXT, "rdma_get_cm_event");
    const int result = real(channel, event);
    if (result == 0 && (*event)->event == RDMA_CM_EVENT_ESTABLISHED) usleep(1500000);
    return result;
}
