#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// iSCSI with its extensions for RDMA.
extern const Protocol iser;

}  // namespace upper::protocols
