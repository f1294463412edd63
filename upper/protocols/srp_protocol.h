#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// SCSI RDMA Protocol.
extern const Protocol srp;

}  // namespace upper::protocols
