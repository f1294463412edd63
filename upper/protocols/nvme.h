#pragma once
#include "upper/protocol.h"

namespace upper::protocols {

extern const Protocol nvme;

}  // namespace upper::protocols
