#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// Reliable Datagram Sockets: a datagram is a command, its acknowledgement by RDS the response.
extern const Protocol rds;

}  // namespace upper::protocols
