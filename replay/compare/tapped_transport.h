#pragma once
#include <memory>

#include "iwarp/iwarp.h"

namespace replay::inline compare {

class StackTap;

/// A device over the TCP of this machine that reports to the tap what its streams send and receive; `side` 0 connects,
/// 1 accepts.
std::shared_ptr<iwarp::Device> tapped_device(StackTap& tap, unsigned side);

}  // namespace replay::compare
