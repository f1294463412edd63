// Records the management datagrams of a program that uses libibumad, before the library has them: LD_PRELOAD this, with
// UMAD_RECORD naming a file to append to. A record: 1 (sent) or 2 (received), the time in ns since 1970, the LID and the
// queue pair at the other end, the number of bytes (all 8 bytes), then the bytes. Built by simulated_subnet.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void record(uint64_t way, void *umad, uint64_t length) {
    static int file = -2;
    if (file == -2) file = getenv("UMAD_RECORD") ? open(getenv("UMAD_RECORD"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (file < 0) return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const ib_mad_addr_t *address = umad_get_mad_addr(umad);
    uint64_t head[5] = {way, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, be16toh(address->lid),
                        be32toh(address->qpn), length};
    struct iovec parts[2] = {{head, sizeof head}, {umad_get_mad(umad), length}};
    if (writev(file, parts, 2) < 0) abort();
}

int umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries) {
    static int (*next)(int, int, void *, int, int, int);
    if (!next) next = (int (*)(int, int, void *, int, int, int))dlsym(RTLD_NEXT, "umad_send");
    record(1, umad, (uint64_t)length);
    return next(fd, agent, umad, length, timeout_ms, retries);
}

int umad_recv(int fd, void *umad, int *length, int timeout_ms) {
    static int (*next)(int, void *, int *, int);
    if (!next) next = (int (*)(int, void *, int *, int))dlsym(RTLD_NEXT, "umad_recv");
    const int agent = next(fd, umad, length, timeout_ms);
    if (agent >= 0 && umad_status(umad) == 0) record(2, umad, (uint64_t)*length);
    return agent;
}
