#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// Streams of rsockets, of librdmacm: messages, and no commands.
extern const Protocol rsocket;

}  // namespace upper::protocols
