#pragma once
#include <cstdint>

#include "base/bytes.h"
#include "dissect/dissection.h"

namespace dissect {

/// Where the packet of a layer, one of the dissection's, ends within the described bytes: what its own length field
/// and those of the layers below it leave over, padding and check sequences of the link cut off.
std::uint32_t end_of_packet(const Dissection& dissection, unsigned layer, base::Bytes described);

}  // namespace dissect
