#pragma once
#include <memory>
#include <unordered_set>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/device_impl.h"
#include "iwarp/verbs/transport_interface.h"

namespace iwarp {

struct Listener::Impl final : verbs::Acceptor {
    ~Impl() override;
    std::shared_ptr<verbs::Stream> accepted(const std::string& peer) override;

    const Listener* self = nullptr;
    std::shared_ptr<Device> device;
    ConnectionOptions options;
    verbs::Listening listening;
    std::unordered_set<verbs::Connection*> waiting;  ///< those that nobody has answered
};

}  // namespace iwarp
