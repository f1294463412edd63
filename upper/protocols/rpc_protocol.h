#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// RPC over RDMA with NFS, NFSACL, NLM and mount.
extern const Protocol rpc;

}  // namespace upper::protocols
