#include "iwarp/preload/posting_extended.h"

#include "iwarp/preload/operations.h"
#include "iwarp/preload/posting.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/verbs_objects.h"
#include "iwarp/verbs/queue_pair.h"

/// ibv_wr_*: a batch is collected between wr_start and wr_complete, without the lock, and posted as a whole. One queue
/// pair's batch belongs to one thread, which the verbs ask of programs.
namespace iwarp::preload {
namespace {

Batch& batch_of(ibv_qp_ex* qp) { return to_qp(qp).batch; }

ibv_send_wr& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
    Batch& batch = batch_of(qp);
    Batch::Request& made = batch.requests.emplace_back();
    made.request.wr_id = qp->wr_id;
    made.request.opcode = opcode;
    made.request.send_flags = qp->wr_flags;
    made.first_piece = batch.pieces.size();
    made.first_octet = batch.octets.size();
    return made.request;
}

ibv_send_wr& begin_remote(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t key, std::uint64_t offset) {
    ibv_send_wr& request = begin(qp, opcode);
    request.wr.rdma.rkey = key;
    request.wr.rdma.remote_addr = offset;
    return request;
}

void write(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t offset) { begin_remote(qp, IBV_WR_RDMA_WRITE, key, offset); }

void write_immediate(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t offset, __be32 immediate) {
    begin_remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, key, offset).imm_data = immediate;
}

void read(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t offset) { begin_remote(qp, IBV_WR_RDMA_READ, key, offset); }

void compare_swap(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t offset, std::uint64_t compare, std::uint64_t swap) {
    begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP).wr.atomic = {offset, compare, swap, key};
}

void fetch_add(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t offset, std::uint64_t add) {
    begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD).wr.atomic = {offset, add, 0, key};
}

void send(ibv_qp_ex* qp) { begin(qp, IBV_WR_SEND); }

void send_invalidate(ibv_qp_ex* qp, std::uint32_t key) { begin(qp, IBV_WR_SEND_WITH_INV).invalidate_rkey = key; }

void local_invalidate(ibv_qp_ex* qp, std::uint32_t key) { begin(qp, IBV_WR_LOCAL_INV).invalidate_rkey = key; }

void bind(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t key, const ibv_mw_bind_info* info) {
    begin(qp, IBV_WR_BIND_MW).bind_mw = {mw, key, *info};
}

void set_pieces(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
    Batch& batch = batch_of(qp);
    if (batch.requests.empty()) return;
    batch.requests.back().request.num_sge = static_cast<int>(count);
    batch.pieces.insert(batch.pieces.end(), list, list + count);
}

void set_piece(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, std::uint32_t length) {
    const ibv_sge piece{address, length, key};
    set_pieces(qp, 1, &piece);
}

/// The program may change the bytes as soon as this returns.
void set_inline_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) {
    Batch& batch = batch_of(qp);
    if (batch.requests.empty()) return;
    ibv_send_wr& request = batch.requests.back().request;
    request.send_flags |= IBV_SEND_INLINE;
    const std::size_t before = batch.octets.size();
    for (std::size_t i = 0; i < count; ++i) {
        const auto* const first = static_cast<const std::byte*>(list[i].addr);
        batch.octets.insert(batch.octets.end(), first, first + list[i].length);
    }
    request.num_sge = batch.octets.size() == before ? 0 : 1;
}

void set_inline(ibv_qp_ex* qp, void* address, std::size_t length) {
    const ibv_data_buf one{address, length};
    set_inline_list(qp, 1, &one);
}

void start(ibv_qp_ex* qp) { batch_of(qp).clear(); }

/// Where the pieces lie is known once the batch no longer grows.
void point_to_pieces(Batch& batch) {
    for (std::size_t i = 0; i < batch.requests.size(); ++i) {
        Batch::Request& made = batch.requests[i];
        if (made.request.num_sge == 0) continue;
        if ((made.request.send_flags & IBV_SEND_INLINE) == 0) {
            made.request.sg_list = batch.pieces.data() + made.first_piece;
            continue;
        }
        const std::size_t end = i + 1 < batch.requests.size() ? batch.requests[i + 1].first_octet : batch.octets.size();
        made.inline_piece = {std::bit_cast<std::uint64_t>(batch.octets.data() + made.first_octet),
                             static_cast<std::uint32_t>(end - made.first_octet), 0};
        made.request.sg_list = &made.inline_piece;
    }
}

int complete(ibv_qp_ex* abi) {
    return performed("ibv_wr_complete", [&](ProgressEngine& engine) {
        Qp& qp = to_qp(abi);
        point_to_pieces(qp.batch);
        rdmap::SendQueue& sends = qp.pair->impl().sends;
        const std::uint32_t before = sends.size();
        int failure = 0;
        for (const Batch::Request& made : qp.batch.requests)
            if (failure == 0) failure = post_one(qp, made.request);
        if (failure != 0)
            while (sends.size() > before) sends.take_back();
        qp.batch.clear();
        if (failure == 0) engine.posted();
        return failure;
    });
}

}  // namespace

void set_builders(Qp& qp) {
    qp.wr_atomic_cmp_swp = compare_swap;
    qp.wr_atomic_fetch_add = fetch_add;
    qp.wr_bind_mw = bind;
    qp.wr_local_inv = local_invalidate;
    qp.wr_rdma_read = read;
    qp.wr_rdma_write = write;
    qp.wr_rdma_write_imm = write_immediate;
    qp.wr_send = send;
    qp.wr_send_inv = send_invalidate;
    qp.wr_set_inline_data = set_inline;
    qp.wr_set_inline_data_list = set_inline_list;
    qp.wr_set_sge = set_piece;
    qp.wr_set_sge_list = set_pieces;
    qp.wr_start = start;
    qp.wr_complete = complete;
    qp.wr_abort = start;
}

}  // namespace iwarp::preload
