#pragma once
#include <memory>
#include <vector>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/connection.h"

namespace iwarp {

struct ConnectionRequest::Impl {
    Impl(std::shared_ptr<Device> on_device, std::shared_ptr<verbs::Connection> waiting);

    std::shared_ptr<Device> device;
    std::shared_ptr<verbs::Connection> connection;
    std::vector<std::byte> private_data;
    std::uint16_t ird;
    std::uint16_t ord;
    bool peer_to_peer;
};

}  // namespace iwarp
