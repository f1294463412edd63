#pragma once
#include <list>
#include <memory>

#include "iwarp/ddp/receive_queue.h"
#include "iwarp/iwarp.h"
#include "iwarp/verbs/device_impl.h"

namespace iwarp {

struct SharedReceiveQueue::Impl {
    Impl(std::uint32_t capacity, std::uint32_t max_pieces) : receives(capacity, max_pieces) {}
    void raise_limit();
    void offer();

    std::shared_ptr<ProtectionDomain> domain;
    std::weak_ptr<SharedReceiveQueue> self;
    ddp::ReceiveQueue receives;
    std::list<verbs::Connection*> waiting;  ///< connections with a message for a receive; the one served last stands
                                            ///< last
    bool limit_pending = false;
};

}  // namespace iwarp
