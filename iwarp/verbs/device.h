#pragma once
#include <memory>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/transport_interface.h"

namespace iwarp::verbs {

/// A device over any transport, which it owns: tests connect two of them over a network in memory. Device::open does
/// the same over TCP.
std::shared_ptr<Device> make_device(const DeviceOptions& options, std::unique_ptr<verbs::Transport> transport);

}  // namespace iwarp::verbs
