#include <cerrno>

#include "base/clock.h"
#include "iwarp/preload/completion.h"
#include "iwarp/preload/operations.h"
#include "iwarp/preload/poll_backoff.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/value_mapping.h"
#include "iwarp/preload/verbs_objects.h"

/// ibv_create_cq_ex, and completions read field by field.
namespace iwarp::preload {
namespace {

constexpr std::uint64_t stamped = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr std::uint64_t supported_fields = IBV_WC_STANDARD_FLAGS | stamped;
constexpr std::uint32_t supported_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

int next_poll(ibv_cq_ex* abi) {
    return performed("ibv_next_poll", [&](ProgressEngine& engine) {
        Cq& cq = to_cq(abi);
        if (poll(engine, cq, {&cq.current, 1}) == 0) return ENOENT;
        cq.wr_id = cq.current.id;
        cq.status = to_abi(cq.current.status);
        return 0;
    });
}

int start_poll(ibv_cq_ex* abi, ibv_poll_cq_attr* wanted) {
    if (wanted->comp_mask != 0) return EINVAL;
    Cq& cq = to_cq(abi);
    if (!cq.single_threaded) cq.polling.lock();
    const int failure = next_poll(abi);
    if (failure != 0 && !cq.single_threaded) cq.polling.unlock();
    if (failure == 0)
        this_threads_backoff().found();
    else if (failure == ENOENT)
        this_threads_backoff().found_nothing(ProgressEngine::instance().descriptor());
    return failure;
}

void end_poll(ibv_cq_ex* abi) {
    Cq& cq = to_cq(abi);
    if (!cq.single_threaded) cq.polling.unlock();
}

std::uint64_t wall_clock_ns(ibv_cq_ex* abi) {
    // The distance between the two clocks, as it is now.
    const std::int64_t apart_ns = base::wall_ns() - base::steady_ns();
    return static_cast<std::uint64_t>(to_cq(abi).current.time_ns + apart_ns);
}

void set_readers(Cq& cq) {
    cq.start_poll = start_poll;
    cq.next_poll = next_poll;
    cq.end_poll = end_poll;
    cq.read_opcode = [](ibv_cq_ex* of) { return to_abi(to_cq(of).current.operation); };
    cq.read_vendor_err = [](ibv_cq_ex*) { return std::uint32_t{0}; };
    cq.read_byte_len = [](ibv_cq_ex* of) { return to_cq(of).current.length; };
    cq.read_imm_data = [](ibv_cq_ex* of) { return __be32{immediate_of(to_cq(of).current)}; };
    cq.read_qp_num = [](ibv_cq_ex* of) { return to_cq(of).current.queue_pair; };
    cq.read_src_qp = [](ibv_cq_ex*) { return std::uint32_t{0}; };
    cq.read_wc_flags = [](ibv_cq_ex* of) { return flags_of(to_cq(of).current); };
    cq.read_slid = [](ibv_cq_ex*) { return std::uint32_t{0}; };
    cq.read_sl = [](ibv_cq_ex*) { return std::uint8_t{0}; };
    cq.read_dlid_path_bits = [](ibv_cq_ex*) { return std::uint8_t{0}; };
    cq.read_completion_ts = [](ibv_cq_ex* of) { return static_cast<std::uint64_t>(to_cq(of).current.time_ns); };
    cq.read_completion_wallclock_ns = wall_clock_ns;
}

}  // namespace

ibv_cq_ex* operations::create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* wanted) {
    return made("ibv_create_cq_ex", [&](ProgressEngine& engine) -> ibv_cq_ex* {
        const bool has_flags = (wanted->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
        const std::uint32_t flags = has_flags ? wanted->flags : 0;
        if ((wanted->comp_mask & ~unsigned{IBV_CQ_INIT_ATTR_MASK_FLAGS}) != 0 || (flags & ~supported_flags) != 0 ||
            (wanted->wc_flags & ~supported_fields) != 0) {
            errno = EOPNOTSUPP;
            return nullptr;
        }
        ibv_cq* const abi =
            create_cq(engine, context, wanted->cqe, wanted->cq_context, wanted->channel, wanted->comp_vector);
        if (abi == nullptr) return nullptr;
        Cq& cq = to_cq(abi);
        cq.single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
        if ((wanted->wc_flags & stamped) != 0) cq.queue->stamp_completions();
        set_readers(cq);
        return &cq;
    });
}

}  // namespace iwarp::preload
