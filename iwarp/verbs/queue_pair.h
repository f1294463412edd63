#pragma once
#include <deque>
#include <memory>
#include <string>

#include "iwarp/ddp/receive_queue.h"
#include "iwarp/iwarp.h"
#include "iwarp/rdmap/send_queue.h"
#include "iwarp/verbs/device_impl.h"

namespace iwarp {

/// The queues and the state; the Connection handles everything about the stream.
struct QueuePair::Impl {
    Impl(std::shared_ptr<Device> on_device, const QueuePairOptions& wanted);
    ~Impl();

    ddp::ReceiveQueue& receive_queue() const;
    bool uses(const CompletionQueue::Impl& queue) const;

    // What the connection reports.

    void change_state(QueuePairState to);
    /// At most one event of each kind waits: a later one replaces it.
    void raise(verbs::PendingEvent event);
    void raise(Event::Kind kind, std::string text = {}, verbs::PeersAnswer answer = {});
    void forget_events(unsigned kinds = ~0U);
    static unsigned bit(Event::Kind kind) { return 1U << static_cast<unsigned>(kind); }
    bool is_pending(Event::Kind kind) const { return (pending_kinds & bit(kind)) != 0; }
    void established(const Agreement& with, verbs::PeersAnswer answer);
    void terminated(Terminate why);
    /// Completes what the send queue has finished. `false` if one of the completions failed.
    bool retire();
    /// Ends everything outstanding: `ticket` with `status`, the rest flushed.
    static constexpr std::uint64_t no_ticket = ~std::uint64_t{0};
    void flush(std::uint64_t ticket = no_ticket, Status status = Status::flushed);
    void complete_send(const rdmap::WorkRequest& work, Status status);
    void complete_receive(const Completion& completion);
    /// The peer has written into this side's memory with an RDMA WRITE.
    void written();
    /// A program whose requests have all completed silently may sleep for an event although none will come, while it
    /// waits for the peer's writes: perftest with -e does so for its credits. An event without a completion is
    /// permitted, and programs that sleep can handle it.
    void wake_waiting_for_memory();
    /// For a request that is posted too late: flushed once all earlier requests have completed (RFC 5040 section 5.5,
    /// rule 15). For the state closing and later ones.
    Posted flush_in_turn(rdmap::WorkRequest work);
    /// The connection failed: as before connect(), receives stay posted. Failure::none: the peer rejected it.
    void connect_failed(Failure failure, std::string text, verbs::PeersAnswer answer = {});
    /// The connection is over.
    void disconnected(std::string text);
    /// A local error that ends the queue pair, connected or not.
    void fail(const std::string& why);
    void flush_late_sends();

    std::shared_ptr<Device> device;
    std::shared_ptr<ProtectionDomain> domain;
    std::shared_ptr<CompletionQueue> send_completions;
    std::shared_ptr<CompletionQueue> receive_completions;
    std::shared_ptr<SharedReceiveQueue> shared_receives;
    std::weak_ptr<QueuePair> self;
    unsigned pending_kinds = 0;  ///< bits: events that were not fetched yet
    QueuePairOptions options;
    std::uint32_t number = 0;
    QueuePairState state = QueuePairState::idle;
    rdmap::SendQueue sends;
    bool completed_silently = false;  ///< the last completed request made no completion
    bool has_unseen_writes = false;   ///< the peer has written since the send queue's last event or completion
    std::deque<rdmap::WorkRequest> late_sends;  ///< flushed when `sends` is empty
    std::unique_ptr<ddp::ReceiveQueue> own_receives;
    std::shared_ptr<verbs::Connection> connection;
    std::optional<Agreement> agreement;
    std::optional<Terminate> terminate;
    std::string peer;
    std::string local;
    QueuePairCounters counters;
};

}  // namespace iwarp
