#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <infiniband/verbs.h>
#include <memory>
#include <mutex>
#include <vector>

#include "iwarp/iwarp.h"
#include "iwarp/preload/event_queue.h"

/// The program's objects: the ABI's structure followed by the stack's object. The structure comes first, so that the
/// program's pointer is ours.
namespace iwarp::preload {

struct Context;
struct Cq;

/// Other providers' probes (mlx5dv_is_supported) read the operations after an ibv_device: ours are null.
struct DeviceFace : ibv_device {
    std::array<std::byte, 1024> behind{};
};
/// The one device. The lock is not needed.
DeviceFace& the_device();

/// An ibv_context: what ibv_open_device returns, and what the connection manager opens once for all of its identifiers.
struct Context : verbs_context {
    explicit Context(Lock& lock) : verbs_context{}, async_events(lock) {}
    EventQueue<ibv_async_event> async_events;
    std::uint32_t users = 0;  ///< domains, channels and completion queues; all other objects belong to a domain
    bool closed = false;
};
inline Context& to_context(ibv_context* context) { return static_cast<Context&>(*verbs_get_ctx(context)); }

// With the lock held.

/// Makes a new one; throws.
Context* open_context();
/// ibv_close_device(3) keeps what was made from a context. The context is freed with the last of those objects, because
/// posting, destroying, and the events of connected queue pairs use it.
void close_context(Context& context);
void keep_context(ibv_context* context);
void leave_context(ibv_context* context);

struct Pd : ibv_pd {
    std::shared_ptr<ProtectionDomain> domain;
    std::uint32_t users = 0;  ///< regions, windows, queue pairs, shared receive queues
};
inline Pd& to_pd(ibv_pd* pd) { return static_cast<Pd&>(*pd); }

struct Mr : ibv_mr {
    std::shared_ptr<MemoryRegion> region;
    Access rights = Access::none;
    std::uint64_t first_offset = 0;  ///< the first offset for the program, its peers and its work requests
};
inline Mr& to_mr(ibv_mr* mr) { return static_cast<Mr&>(*mr); }

struct Mw : ibv_mw {
    std::shared_ptr<MemoryWindow> window;
};
inline Mw& to_mw(ibv_mw* mw) { return static_cast<Mw&>(*mw); }

struct Channel : ibv_comp_channel {
    explicit Channel(Lock& lock) : ibv_comp_channel{}, events(lock) {}
    EventQueue<Cq*> events;
};
inline Channel& to_channel(ibv_comp_channel* channel) { return static_cast<Channel&>(*channel); }

/// An ibv_cq is the beginning of an ibv_cq_ex: every queue can be used as both.
struct Cq : ibv_cq_ex {
    std::shared_ptr<CompletionQueue> queue;
    std::mutex polling;               ///< from start_poll to end_poll, locked before the ProgressEngine's lock
    bool single_threaded = false;     ///< the program's promise that no lock is needed
    Completion current;               ///< of start_poll and next_poll
    std::uint32_t users = 0;          ///< queue pairs, one for each of its sides
    std::uint32_t comp_reported = 0;  ///< events that the program has taken and must acknowledge
    std::uint32_t async_reported = 0;
};
inline Cq& to_cq(ibv_cq* cq) { return static_cast<Cq&>(*reinterpret_cast<ibv_cq_ex*>(cq)); }
inline Cq& to_cq(ibv_cq_ex* cq) { return static_cast<Cq&>(*cq); }
inline ibv_cq* to_abi(Cq& cq) { return ibv_cq_ex_to_cq(&cq); }

struct Srq : ibv_srq {
    std::shared_ptr<SharedReceiveQueue> queue;
    std::uint32_t max_requests = 0;
    std::uint32_t max_pieces = 0;
    std::uint32_t limit = 0;
    std::uint32_t users = 0;
    std::uint32_t async_reported = 0;
};
inline Srq& to_srq(ibv_srq* srq) { return static_cast<Srq&>(*srq); }

/// What ibv_wr_* collects until it is posted as a whole.
struct Batch {
    struct Request {
        ibv_send_wr request{};
        ibv_sge inline_piece{};
        std::size_t first_piece = 0;
        std::size_t first_octet = 0;
    };
    std::vector<Request> requests;
    std::vector<ibv_sge> pieces;
    std::vector<std::byte> octets;  ///< of inline data
    void clear() {
        requests.clear();
        pieces.clear();
        octets.clear();
    }
};

/// An ibv_qp is the beginning of an ibv_qp_ex.
struct Qp : ibv_qp_ex {
    std::shared_ptr<QueuePair> pair;
    QueuePairOptions options;  ///< as granted
    Batch batch;
    void* cm = nullptr;                    ///< its identifier in the connection manager
    unsigned access = 0;                   ///< as set by ibv_modify_qp, to be read back
    std::uint8_t responder_resources = 0;  ///< the connection manager keeps the agreed values
    std::uint8_t initiator_depth = 0;
    std::uint32_t async_reported = 0;
};
inline Qp& to_qp(ibv_qp* qp) { return static_cast<Qp&>(*reinterpret_cast<ibv_qp_ex*>(qp)); }
inline Qp& to_qp(ibv_qp_ex* qp) { return static_cast<Qp&>(*qp); }
inline ibv_qp* to_abi(Qp& qp) { return &qp.qp_base; }
/// The queue pair with this number; null if absent. With the lock held.
Qp* find_qp(std::uint32_t number);

}  // namespace iwarp::preload
