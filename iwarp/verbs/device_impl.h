#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "iwarp/ddp/tagged_buffers.h"
#include "iwarp/iwarp.h"
#include "iwarp/mpa/stage_pool.h"
#include "iwarp/verbs/transport_interface.h"
#include "wire/mpa.h"

namespace iwarp {

namespace verbs {

class Connection;
class SendBuffer;

/// The values of a Reply for the initiator's user.
struct PeersAnswer {
    std::vector<std::byte> private_data;
    std::uint16_t ird = wire::mpa_depth_unspecified;
    std::uint16_t ord = wire::mpa_depth_unspecified;
};

/// An Event that was not fetched yet. Keeps no object alive: a program that drops its handles gets no events about
/// them.
struct PendingEvent {
    Event::Kind kind = Event::Kind::disconnected;
    std::weak_ptr<QueuePair> queue_pair;
    const QueuePair::Impl* of = nullptr;  ///< its queue pair, only for comparison
    std::weak_ptr<CompletionQueue> completion_queue;
    std::weak_ptr<SharedReceiveQueue> shared_receive_queue;
    std::shared_ptr<Connection> request;
    std::optional<Terminate> terminate;
    PeersAnswer answer;
    std::string text;
    Failure failure = Failure::none;
};

}  // namespace verbs

struct Device::Impl {
    explicit Impl(const DeviceOptions&);
    ~Impl();

    /// Work that must not be done inside another object's call; done at the end of every call from outside.
    class Scope {
    public:
        explicit Scope(Impl& device) : device_(device) { ++device_.depth; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope() {
            if (--device_.depth == 0 && !device_.overflowed.empty()) device_.end_overflowed();
        }

    private:
        Impl& device_;
    };

    void raise(verbs::PendingEvent event) { events.push_back(std::move(event)); }
    /// Removes the events that `which` selects.
    template <class Which>
    void forget(Which which) {
        std::erase_if(events, which);
    }
    void end_overflowed();
    /// The owner removes this memory: data that is still to be sent from it is copied first.
    void withdraw(std::span<const std::byte> memory);

    DeviceOptions options;
    ddp::TaggedBuffers memory;
    std::shared_ptr<mpa::StagePool> stages = std::make_shared<mpa::StagePool>();
    std::weak_ptr<Device> self;
    std::deque<verbs::PendingEvent> events;
    DeviceCounters counters;
    std::uint32_t last_domain = 0;
    std::uint32_t last_queue_pair = 0;
    std::size_t queue_pairs = 0;
    std::size_t connections = 0;
    std::vector<verbs::SendBuffer*> sending;  ///< buffers with bytes that wait for the transport
    std::vector<CompletionQueue::Impl*> overflowed;
    unsigned depth = 0;
    /// Last, so that its streams are destroyed first.
    std::unique_ptr<verbs::Transport> transport;
};

}  // namespace iwarp
