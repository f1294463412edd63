#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

/// SMB 2 and 3 over SMB Direct.
extern const Protocol smb;

}  // namespace upper::protocols
