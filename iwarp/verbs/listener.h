#pragma once
#include <list>
#include <memory>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/device_impl.h"
#include "iwarp/verbs/transport_interface.h"

namespace iwarp {

struct Listener::Impl final : verbs::Acceptor {
    ~Impl() override;
    std::shared_ptr<verbs::Stream> accepted(const std::string& peer) override;
    /// Ends the oldest connection that has not sent a whole Request: connections that stay silent must not keep others
    /// out until they time out. False if there is no such connection.
    bool end_oldest_silent();

    const Listener* self = nullptr;
    std::shared_ptr<Device> device;
    ConnectionOptions options;
    verbs::Listening listening;
    std::list<verbs::Connection*> waiting;  ///< those that have no answer yet, the oldest first
};

}  // namespace iwarp
