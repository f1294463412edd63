#pragma once
#include <infiniband/verbs.h>

#include "trace/interposer/pointer_table.h"
#include "trace/interposer/recorder.h"

/// The interposer's record of the program's contexts, queue pairs and completion queues. The interposer replaces
/// pointers in libibverbs' objects, because the hot calls are inline functions that jump through them.
namespace trace::interposer {

/// An open device, with its pointers before ours replaced them.
struct Device {
    ibv_context* context = nullptr;
    decltype(ibv_context_ops::post_send) post_send = nullptr;
    decltype(ibv_context_ops::post_recv) post_receive = nullptr;
    decltype(ibv_context_ops::post_srq_recv) post_shared_receive = nullptr;
    decltype(ibv_context_ops::poll_cq) poll = nullptr;
    decltype(ibv_context_ops::bind_mw) bind_window = nullptr;
    decltype(verbs_context::create_qp_ex) create_pair = nullptr;
    decltype(verbs_context::create_cq_ex) create_queue = nullptr;
    std::uint8_t number = 0;
    bool is_named = false;  ///< `number` holds
};

struct ExtendedSends;

struct Pair {
    Device* device = nullptr;
    std::uint32_t number = 0;
    bool all_signalled = false;         ///< sq_sig_all: the flags of single requests do not matter
    ExtendedSends* extended = nullptr;  ///< if ibv_wr_* are used
    QueuePairChange change = {};        ///< what is known so far
};

struct Queue {
    // Of an extended queue, its own pointers.
    decltype(ibv_cq_ex::start_poll) start_poll = nullptr;
    decltype(ibv_cq_ex::next_poll) next_poll = nullptr;
    /// The kinds of queues whose completions come here; if both do, an error's opcode has to distinguish them.
    static constexpr std::uint8_t sends = 1;
    static constexpr std::uint8_t receives = 2;
    std::atomic<std::uint8_t> serves = 0;
    std::atomic<bool> was_empty = false;
    std::atomic<std::uint32_t> number = 0;  ///< the queue pair of the last completion, or made last on this queue
    std::uint16_t of = 0;                   ///< completions since start_poll; between it and end_poll one thread has it

    Queue() = default;
    ~Queue() = default;
    Queue(const Queue& other) { *this = other; }
    Queue& operator=(const Queue& other) {
        start_poll = other.start_poll;
        next_poll = other.next_poll;
        serves.store(other.serves.load(std::memory_order_relaxed), std::memory_order_relaxed);
        was_empty.store(other.was_empty.load(std::memory_order_relaxed), std::memory_order_relaxed);
        number.store(other.number.load(std::memory_order_relaxed), std::memory_order_relaxed);
        of = other.of;
        return *this;
    }
};

extern PointerTable<Device, 256> devices;
extern PointerTable<Pair, 65536> pairs;
extern PointerTable<Queue, 65536> queues;

/// A number for a shared receive queue: few providers report theirs, but all have a handle.
inline std::uint32_t number_of(const ibv_srq& queue) { return (queue.handle + 1) & 0xffffff; }

/// ibv_query_qp; false if it fails.
bool query(ibv_qp* pair, ibv_qp_attr& attributes, int mask);

/// Records the context's calls from now on. May be called again for the same context.
void trace(ibv_context* context);
/// The context is about to be closed.
void leave(ibv_context* context);

/// A queue pair of the program, with its requested and granted limits; a second call does nothing.
void note_created(ibv_qp* pair, const ibv_qp_cap* granted, bool all_signalled);
void note_created_extended(ibv_qp* pair, const ibv_qp_init_attr_ex& attributes);
/// A queue pair that is used and was never recorded: its program found its functions by dlsym(3). Its properties are
/// queried.
void note_found(ibv_qp* pair);
void note_changed(ibv_qp* pair, const ibv_qp_attr& attributes, int mask);

/// A queue pair that is about to be destroyed is forgotten before that, because another may get its address at once; it
/// is recorded afterwards, if the call succeeded.
class Leaving {
public:
    explicit Leaving(ibv_qp* pair);
    void done(bool destroyed);

private:
    ibv_qp* pair_;
    Pair was_ = {};
};

/// The extended calls of one queue pair, of one completion queue. May be called again for one. `with_atomic_write`: the
/// program asked for wr_atomic_write, which older libraries lack.
void trace_extended(ibv_qp_ex* pair, bool with_atomic_write);
void forget_extended(const Pair& pair);
void trace_extended(ibv_cq_ex* queue);
/// With the flags that the records need; if the device refuses them, with the program's own flags.
ibv_cq_ex* create_queue(const Device& device, ibv_context* context, ibv_cq_init_attr_ex* attributes);

/// A completion, for either kind of queue.
struct Completion {
    std::uint64_t id;
    std::uint32_t number;
    std::uint32_t bytes;
    std::uint32_t vendor_error;
    ibv_wc_status status;
    ibv_wc_opcode opcode;
    std::uint16_t of;
};
void put_completion(Recording& recording, const Queue* queue, const Device& device, const Completion& one);
/// The first look of a row that found none.
void put_empty(Queue& queue, const Device& device);

}  // namespace trace::interposer
