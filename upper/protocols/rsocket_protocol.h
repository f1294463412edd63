#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// The streams of rsockets (librdmacm). The protocol has messages and no commands.
extern const Protocol rsocket;

}  // namespace upper::protocols
