#include <cerrno>

#include "fmt/core.h"
#include "iwarp/preload/abi.h"
#include "iwarp/preload/progress_engine.h"

/// What iWARP has not, or a library cannot do: each says so once and fails.
namespace {

using iwarp::preload::Complaint;

int refuse(Complaint& complaint, const char* function, const char* why) {
    complaint.say(fmt::format("{}: {}", function, why));
    return EOPNOTSUPP;
}

constexpr const char* no_addresses = "iWARP has no datagrams, hence no address handles";
constexpr const char* no_multicast = "iWARP runs over TCP, which has no multicast";
constexpr const char* no_import = "objects of the software device live in one process and cannot be shared";
constexpr const char* no_dmabuf =
    "the software device reaches memory by its address alone; register it with ibv_reg_mr";

}  // namespace

#define RDMASCOPE_REFUSE_POINTER(function, why)    \
    {                                              \
        static Complaint complaint;                \
        errno = refuse(complaint, #function, why); \
        return nullptr;                            \
    }
#define RDMASCOPE_REFUSE_ERRNO(function, why)      \
    {                                              \
        static Complaint complaint;                \
        errno = refuse(complaint, #function, why); \
        return errno;                              \
    }

RDMA_ABI ibv_ah* ibv_create_ah(ibv_pd*, ibv_ah_attr*)
    RDMASCOPE_REFUSE_POINTER(ibv_create_ah, no_addresses) RDMA_ABI ibv_ah* ibv_create_ah_from_wc(ibv_pd*, ibv_wc*,
                                                                                                 ibv_grh*, uint8_t)
        RDMASCOPE_REFUSE_POINTER(ibv_create_ah_from_wc, no_addresses) RDMA_ABI
    int ibv_init_ah_from_wc(ibv_context*, uint8_t, ibv_wc*, ibv_grh*, ibv_ah_attr*)
        RDMASCOPE_REFUSE_ERRNO(ibv_init_ah_from_wc, no_addresses) RDMA_ABI int ibv_destroy_ah(ibv_ah*)
            RDMASCOPE_REFUSE_ERRNO(ibv_destroy_ah, no_addresses) RDMA_ABI
    int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, uint8_t*, uint16_t*)
        RDMASCOPE_REFUSE_ERRNO(ibv_resolve_eth_l2_from_gid, no_addresses) RDMA_ABI
    int ibv_attach_mcast(ibv_qp*, const ibv_gid*, uint16_t)
        RDMASCOPE_REFUSE_ERRNO(ibv_attach_mcast, no_multicast) RDMA_ABI
    int ibv_detach_mcast(ibv_qp*, const ibv_gid*, uint16_t)
        RDMASCOPE_REFUSE_ERRNO(ibv_detach_mcast, no_multicast) RDMA_ABI ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, uint64_t,
                                                                                                  size_t, uint64_t, int,
                                                                                                  int)
            RDMASCOPE_REFUSE_POINTER(ibv_reg_dmabuf_mr, no_dmabuf) RDMA_ABI ibv_context* ibv_import_device(int)
                RDMASCOPE_REFUSE_POINTER(ibv_import_device, no_import) RDMA_ABI ibv_pd* ibv_import_pd(ibv_context*,
                                                                                                      uint32_t)
                    RDMASCOPE_REFUSE_POINTER(ibv_import_pd, no_import) RDMA_ABI ibv_mr* ibv_import_mr(ibv_pd*, uint32_t)
                        RDMASCOPE_REFUSE_POINTER(ibv_import_mr, no_import) RDMA_ABI ibv_dm* ibv_import_dm(ibv_context*,
                                                                                                          uint32_t)
                            RDMASCOPE_REFUSE_POINTER(ibv_import_dm, no_import)

    // Objects that cannot be imported cannot be released either; ECE is RoCE's.
    RDMA_ABI void ibv_unimport_pd(ibv_pd*) {}
RDMA_ABI void ibv_unimport_mr(ibv_mr*) {}
RDMA_ABI void ibv_unimport_dm(ibv_dm*) {}
RDMA_ABI int ibv_set_ece(ibv_qp*, ibv_ece*) {
    errno = EOPNOTSUPP;
    return errno;
}
RDMA_ABI int ibv_query_ece(ibv_qp*, ibv_ece*) {
    errno = EOPNOTSUPP;
    return errno;
}

/// Nothing of ours is pinned: a child's memory is its own without any help. The device stays with the parent.
RDMA_ABI int ibv_fork_init() { return 0; }
RDMA_ABI ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
