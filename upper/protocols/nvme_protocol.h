#pragma once
#include "upper/upper_protocol.h"

namespace upper::protocols {

extern const Protocol nvme;

}  // namespace upper::protocols
