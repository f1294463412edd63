#include "iwarp/preload/memory_region.h"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

#include "iwarp/preload/abi.h"
#include "iwarp/preload/operations.h"
#include "iwarp/preload/posting.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/value_mapping.h"
#include "iwarp/preload/verbs_objects.h"
#include "iwarp/verbs/memory_region.h"

/// Protection domains, memory regions, memory windows.
namespace iwarp::preload {
namespace {

/// The kernel pins what is registered, and refuses memory that is not there or may not be written. Here all of its
/// pages are brought in, with the same outcome; 0, or the errno of it.
int populate(void* memory, std::size_t length, bool writable) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto pages_of = [&](const void* of, std::size_t octets, int advice) {
        const std::uint64_t first = std::bit_cast<std::uint64_t>(of) & ~(page - 1);
        const std::uint64_t end = std::bit_cast<std::uint64_t>(of) + octets;
        if (end < first) return EFAULT;
        return madvise(std::bit_cast<void*>(first), end - first, advice) == 0 ? 0 : errno;
    };
    static const int here = 0;
    static const bool can = pages_of(&here, sizeof here, MADV_POPULATE_READ) == 0;  // Linux 5.14
    if (!can) return 0;
    const int failure = pages_of(memory, length, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    const bool not_there = failure == ENOMEM || failure == EINVAL;  // not mapped, not permitted
    return not_there ? EFAULT : failure;
}

void show_region(Mr& mr) {
    mr.lkey = mr.rkey = mr.region->stag();
    ShiftedRegions::instance().insert(mr.lkey, mr.addr, mr.first_offset);
}

/// Null with errno set. `offset` is the address of the first byte for the program and its peers.
ibv_mr* register_region(const char* function, ibv_pd* pd, void* memory, std::size_t length, std::uint64_t offset,
                        unsigned flags) {
    return made(function, [&](ProgressEngine&) -> ibv_mr* {
        const auto rights = to_access(flags);
        if (!rights || length == 0 || memory == nullptr) {
            errno = rights ? EINVAL : EOPNOTSUPP;
            return nullptr;
        }
        if (const int missing = populate(memory, length, permits(*rights, Access::local_write)); missing != 0) {
            errno = missing;
            return nullptr;
        }
        auto mr = std::make_unique<Mr>();
        mr->first_offset = permits(*rights, Access::zero_based) ? 0 : offset;
        mr->rights = *rights;
        mr->region =
            to_pd(pd).domain->register_memory({static_cast<std::byte*>(memory), length}, *rights, mr->first_offset);
        mr->context = pd->context;
        mr->pd = pd;
        mr->addr = memory;
        mr->length = length;
        show_region(*mr);
        ++to_pd(pd).users;
        return mr.release();
    });
}

bool has_windows(const Mr& mr) { return mr.region->impl().buffer().windows != 0; }

std::uint64_t address_of(const void* memory) { return std::bit_cast<std::uintptr_t>(memory); }

/// Fails with a code of ibv_rereg_mr_err_code; the old region is as good as before.
int refuse_reregistration(int error) {
    errno = error;
    return IBV_REREG_MR_ERR_INPUT;
}

}  // namespace

ShiftedRegions& ShiftedRegions::instance() {
    static ShiftedRegions& regions = *new ShiftedRegions;
    return regions;
}

void ShiftedRegions::insert(std::uint32_t key, const void* memory, std::uint64_t first_offset) {
    if (address_of(memory) != first_offset) shifts_.insert_or_assign(key, address_of(memory) - first_offset);
}

ibv_mw* operations::alloc_mw(ibv_pd* pd, ibv_mw_type type) {
    return made("ibv_alloc_mw", [&](ProgressEngine&) {
        auto mw = std::make_unique<Mw>();
        mw->window = to_pd(pd).domain->allocate_window(type);
        mw->context = pd->context;
        mw->pd = pd;
        mw->type = type;
        mw->rkey = mw->window->stag();
        ++to_pd(pd).users;
        return static_cast<ibv_mw*>(mw.release());
    });
}

int operations::dealloc_mw(ibv_mw* mw) {
    return performed("ibv_dealloc_mw", [&](ProgressEngine&) {
        --to_pd(mw->pd).users;
        delete &to_mw(mw);
        return 0;
    });
}

/// Type 1. The program has the new key at once, and may send it to the peer after the bind.
int operations::bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
    return performed("ibv_bind_mw", [&](ProgressEngine&) {
        ibv_send_wr request{};
        request.wr_id = bind->wr_id;
        request.opcode = IBV_WR_BIND_MW;
        request.send_flags = bind->send_flags;
        request.bind_mw.mw = mw;
        request.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
        request.bind_mw.bind_info = bind->bind_info;
        const int failure = post_one(to_qp(qp), request);
        if (failure == 0) mw->rkey = request.bind_mw.rkey;
        return failure;
    });
}

}  // namespace iwarp::preload

using namespace iwarp::preload;
using iwarp::Access;

RDMA_ABI ibv_pd* ibv_alloc_pd(ibv_context* context) {
    return made("ibv_alloc_pd", [&](ProgressEngine& engine) {
        auto pd = std::make_unique<Pd>();
        pd->domain = engine.device().allocate_protection_domain();
        pd->context = context;
        pd->handle = pd->domain->number();
        keep_context(context);
        return static_cast<ibv_pd*>(pd.release());
    });
}

RDMA_ABI int ibv_dealloc_pd(ibv_pd* pd) {
    return performed("ibv_dealloc_pd", [&](ProgressEngine&) {
        if (to_pd(pd).users != 0) return EBUSY;
        leave_context(pd->context);
        delete &to_pd(pd);
        return 0;
    });
}

RDMA_ABI ibv_mr* ibv_reg_mr(ibv_pd* pd, void* memory, std::size_t length, int access) {
    return register_region("ibv_reg_mr", pd, memory, length, address_of(memory), static_cast<unsigned>(access));
}

RDMA_ABI ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* memory, std::size_t length, std::uint64_t iova, int access) {
    return register_region("ibv_reg_mr_iova", pd, memory, length, iova, static_cast<unsigned>(access));
}

RDMA_ABI ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* memory, std::size_t length, std::uint64_t iova, unsigned access) {
    return register_region("ibv_reg_mr", pd, memory, length, iova, access);
}

/// Under another key, whatever changes: a peer with the old one may not use it any more.
RDMA_ABI int ibv_rereg_mr(ibv_mr* abi, int flags, ibv_pd* pd, void* memory, std::size_t length, int access) {
    int result = 0;
    const int failure = performed("ibv_rereg_mr", [&](ProgressEngine&) {
        Mr& mr = to_mr(abi);
        const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
        const auto rights = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? to_access(static_cast<unsigned>(access))
                                                                      : std::optional(mr.rights);
        if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || flags == 0 || !rights ||
            (moves && (memory == nullptr || length == 0)))
            return EINVAL;
        if (has_windows(mr)) return EBUSY;
        ibv_pd* const to = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? pd : mr.pd;
        void* const first = moves ? memory : mr.addr;
        const std::size_t octets = moves ? length : mr.length;
        std::uint64_t offset = moves ? address_of(memory) : mr.first_offset;
        if (permits(*rights, Access::zero_based)) offset = 0;
        if (const int missing = populate(first, octets, permits(*rights, Access::local_write)); missing != 0)
            return missing;
        auto region = to_pd(to).domain->register_memory({static_cast<std::byte*>(first), octets}, *rights, offset);
        ShiftedRegions::instance().erase(mr.lkey);
        mr.region = std::move(region);
        mr.rights = *rights;
        mr.first_offset = offset;
        mr.addr = first;
        mr.length = octets;
        --to_pd(mr.pd).users;
        ++to_pd(to).users;
        mr.pd = to;
        show_region(mr);
        return 0;
    });
    if (failure != 0) result = refuse_reregistration(failure);
    return result;
}

RDMA_ABI int ibv_dereg_mr(ibv_mr* mr) {
    return performed("ibv_dereg_mr", [&](ProgressEngine&) {
        if (has_windows(to_mr(mr))) return EBUSY;
        ShiftedRegions::instance().erase(mr->lkey);
        --to_pd(mr->pd).users;
        delete &to_mr(mr);  // what peers still have of it is found no more
        return 0;
    });
}
