#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// IP over InfiniBand: packets, and no commands.
extern const Protocol ipoib;

}  // namespace upper::protocols
