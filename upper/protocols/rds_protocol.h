#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// Reliable Datagram Sockets. A datagram counts as a command, and its acknowledgement by RDS as the response.
extern const Protocol rds;

}  // namespace upper::protocols
