#include "iwarp/preload/posting.h"

#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "iwarp/preload/abi.h"
#include "iwarp/preload/memory_region.h"
#include "iwarp/preload/operations.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/value_mapping.h"
#include "iwarp/preload/verbs_objects.h"
#include "iwarp/verbs/queue_pair.h"

/// Work requests.
namespace iwarp::preload {
namespace {

using Pieces = std::array<Sge, limits::pieces>;

/// Nothing where there are more than fit.
std::optional<std::span<const Sge>> pieces_of(const ibv_sge* list, int count, bool by_address, Pieces& into) {
    if (count < 0 || static_cast<std::size_t>(count) > into.size()) return std::nullopt;
    const ShiftedRegions& shifted = ShiftedRegions::instance();
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const ibv_sge& piece = list[i];
        into[i].address =
            by_address ? std::bit_cast<std::byte*>(piece.addr) : shifted.memory_at(piece.addr, piece.lkey);
        into[i].length = piece.length;
        into[i].stag = piece.lkey;
    }
    return std::span<const Sge>(into.data(), static_cast<std::size_t>(count));
}

/// A queue pair in error takes requests, and completes them so: that is how programs find the last of them.
bool flushes(const Qp& qp) {
    const QueuePairState state = qp.pair->state();
    return state == QueuePairState::terminating || state == QueuePairState::error || qp.qp_base.state == IBV_QPS_ERR;
}
/// One that closes still completes what it has, and receives.
bool flushes_sends(const Qp& qp) { return flushes(qp) || qp.pair->state() == QueuePairState::closing; }

int flush_send(Qp& qp, const ibv_send_wr& request, Operation operation) {
    rdmap::WorkRequest work;
    work.id = request.wr_id;
    work.operation = operation;
    return to_errno(qp.pair->impl().flush_in_turn(std::move(work)));
}

int flush_receive(Qp& qp, const ibv_recv_wr& request) {
    Completion completion;
    completion.id = request.wr_id;
    completion.status = Status::flushed;
    completion.operation = CompletedOperation::receive;
    completion.queue_pair = qp.pair->number();
    qp.pair->impl().complete_receive(completion);
    return 0;
}

/// `false` where the binding makes no sense.
bool take_binding(const ibv_send_wr& from, SendRequest& into) {
    const ibv_mw_bind_info& info = from.bind_mw.bind_info;
    const auto rights = to_access(info.mw_access_flags);
    if (from.bind_mw.mw == nullptr || !rights || (info.length != 0 && info.mr == nullptr)) return false;
    into.window = to_mw(from.bind_mw.mw).window.get();
    into.key = static_cast<std::uint8_t>(from.bind_mw.rkey);
    into.length = info.length;
    into.access = *rights;
    if (info.mr == nullptr) return true;
    into.region = to_mr(info.mr).region.get();
    into.address = ShiftedRegions::instance().memory_at(info.addr, info.mr->lkey);
    return true;
}

void take_remote(const ibv_send_wr& from, SendRequest& into) {
    switch (into.operation) {
        case Operation::fetch_add:
        case Operation::compare_swap: {
            const auto& atomic = from.wr.atomic;
            into.remote_offset = atomic.remote_addr;
            into.remote_stag = atomic.rkey;
            into.operand = into.operation == Operation::fetch_add ? atomic.compare_add : atomic.swap;
            into.compare = atomic.compare_add;
            return;
        }
        case Operation::write:
        case Operation::write_immediate:
        case Operation::read:
            into.remote_offset = from.wr.rdma.remote_addr;
            into.remote_stag = from.wr.rdma.rkey;
            return;
        default: return;
    }
}

}  // namespace

int post_one(Qp& qp, const ibv_send_wr& from) {
    const auto operation = to_operation(from.opcode);
    if (!operation) return EOPNOTSUPP;
    if (flushes_sends(qp)) return flush_send(qp, from, *operation);
    SendRequest request;
    request.id = from.wr_id;
    request.operation = *operation;
    request.signalled = (from.send_flags & IBV_SEND_SIGNALED) != 0;
    request.solicited = (from.send_flags & IBV_SEND_SOLICITED) != 0;
    request.fence = (from.send_flags & IBV_SEND_FENCE) != 0;
    request.inline_data = (from.send_flags & IBV_SEND_INLINE) != 0 && from.num_sge != 0;
    Pieces pieces;
    if (*operation == Operation::bind_window) {
        if (!take_binding(from, request)) return EINVAL;
    } else if (*operation == Operation::local_invalidate) {
        request.invalidate_stag = from.invalidate_rkey;
    } else {
        const auto shown = pieces_of(from.sg_list, from.num_sge, request.inline_data, pieces);
        if (!shown) return EINVAL;
        request.pieces = *shown;
        take_remote(from, request);
    }
    if (from.opcode == IBV_WR_SEND_WITH_INV) {
        request.invalidate = true;
        request.invalidate_stag = from.invalidate_rkey;
    } else if (from.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        request.immediate = to_immediate(from.imm_data);
    }
    return to_errno(qp.pair->post_send(request));
}

int operations::post_send(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad) {
    ibv_send_wr* current = requests;
    const int failure = performed("ibv_post_send", [&](ProgressEngine& engine) {
        int refused = 0;
        for (; current != nullptr && refused == 0; current = refused == 0 ? current->next : current)
            refused = post_one(to_qp(qp), *current);
        engine.posted();
        return refused;
    });
    if (failure != 0) *bad = current;
    return failure;
}

int operations::post_recv(ibv_qp* abi, ibv_recv_wr* requests, ibv_recv_wr** bad) {
    ibv_recv_wr* current = requests;
    const int failure = performed("ibv_post_recv", [&](ProgressEngine& engine) {
        engine.called();
        Qp& qp = to_qp(abi);
        for (; current != nullptr; current = current->next) {
            Pieces pieces;
            const auto shown = pieces_of(current->sg_list, current->num_sge, false, pieces);
            if (qp.qp_base.srq != nullptr || qp.qp_base.state == IBV_QPS_RESET || !shown) return EINVAL;
            if (flushes(qp)) {
                flush_receive(qp, *current);
                continue;
            }
            if (const Posted posted = qp.pair->post_receive({current->wr_id, *shown}); posted != Posted::ok)
                return to_errno(posted);
        }
        return 0;
    });
    if (failure != 0) *bad = current;
    return failure;
}

int operations::post_srq_recv(ibv_srq* srq, ibv_recv_wr* requests, ibv_recv_wr** bad) {
    ibv_recv_wr* current = requests;
    const int failure = performed("ibv_post_srq_recv", [&](ProgressEngine& engine) {
        engine.called();
        for (; current != nullptr; current = current->next) {
            Pieces pieces;
            const auto shown = pieces_of(current->sg_list, current->num_sge, false, pieces);
            if (!shown) return EINVAL;
            if (const Posted posted = to_srq(srq).queue->post_receive({current->wr_id, *shown}); posted != Posted::ok)
                return to_errno(posted);
        }
        return 0;
    });
    if (failure != 0) *bad = current;
    return failure;
}

}  // namespace iwarp::preload
