#include <cerrno>
#include <cstddef>
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/select.h>

#include "fmt/core.h"
#include "iwarp/preload/abi.h"
#include "iwarp/preload/progress_engine.h"

/// rsockets are a protocol of librdmacm's own, inside that library: it would have to be rewritten here. They fail, with
/// words. rpoll() and rselect(), which programs also use for other descriptors, work for those.
namespace {

using iwarp::preload::Complaint;

template <class Result = int>
Result unsupported(const char* function) {
    static Complaint complaint;
    complaint.say(
        fmt::format("{}: rsockets run inside the real librdmacm, and cannot run on the software stack; use TCP "
                    "sockets, or a program of the verbs",
                    function));
    errno = ENOTSUP;
    return static_cast<Result>(-1);
}

}  // namespace

RDMA_ABI int rsocket(int, int, int) { return unsupported("rsocket"); }
RDMA_ABI int rbind(int, const sockaddr*, socklen_t) { return unsupported("rbind"); }
RDMA_ABI int rlisten(int, int) { return unsupported("rlisten"); }
RDMA_ABI int raccept(int, sockaddr*, socklen_t*) { return unsupported("raccept"); }
RDMA_ABI int rconnect(int, const sockaddr*, socklen_t) { return unsupported("rconnect"); }
RDMA_ABI int rshutdown(int, int) { return unsupported("rshutdown"); }
RDMA_ABI int rclose(int) { return unsupported("rclose"); }
RDMA_ABI ssize_t rrecv(int, void*, size_t, int) { return unsupported<ssize_t>("rrecv"); }
RDMA_ABI ssize_t rrecvfrom(int, void*, size_t, int, sockaddr*, socklen_t*) { return unsupported<ssize_t>("rrecvfrom"); }
RDMA_ABI ssize_t rrecvmsg(int, msghdr*, int) { return unsupported<ssize_t>("rrecvmsg"); }
RDMA_ABI ssize_t rsend(int, const void*, size_t, int) { return unsupported<ssize_t>("rsend"); }
RDMA_ABI ssize_t rsendto(int, const void*, size_t, int, const sockaddr*, socklen_t) {
    return unsupported<ssize_t>("rsendto");
}
RDMA_ABI ssize_t rsendmsg(int, const msghdr*, int) { return unsupported<ssize_t>("rsendmsg"); }
RDMA_ABI ssize_t rread(int, void*, size_t) { return unsupported<ssize_t>("rread"); }
RDMA_ABI ssize_t rreadv(int, const iovec*, int) { return unsupported<ssize_t>("rreadv"); }
RDMA_ABI ssize_t rwrite(int, const void*, size_t) { return unsupported<ssize_t>("rwrite"); }
RDMA_ABI ssize_t rwritev(int, const iovec*, int) { return unsupported<ssize_t>("rwritev"); }
RDMA_ABI int rgetpeername(int, sockaddr*, socklen_t*) { return unsupported("rgetpeername"); }
RDMA_ABI int rgetsockname(int, sockaddr*, socklen_t*) { return unsupported("rgetsockname"); }
RDMA_ABI int rsetsockopt(int, int, int, const void*, socklen_t) { return unsupported("rsetsockopt"); }
RDMA_ABI int rgetsockopt(int, int, int, void*, socklen_t*) { return unsupported("rgetsockopt"); }
RDMA_ABI int rfcntl(int, int, ...) { return unsupported("rfcntl"); }
RDMA_ABI off_t riomap(int, void*, size_t, int, int, off_t) { return unsupported<off_t>("riomap"); }
RDMA_ABI int riounmap(int, void*, size_t) { return unsupported("riounmap"); }
RDMA_ABI size_t riowrite(int, const void*, size_t, off_t, int) { return unsupported<size_t>("riowrite"); }

RDMA_ABI int rpoll(pollfd* descriptors, nfds_t count, int timeout) { return ::poll(descriptors, count, timeout); }
RDMA_ABI int rselect(int count, fd_set* readable, fd_set* writable, fd_set* exceptional, timeval* timeout) {
    return select(count, readable, writable, exceptional, timeout);
}
