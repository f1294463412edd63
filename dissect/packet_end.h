#pragma once
#include <cstdint>

#include "base/bytes.h"
#include "dissect/dissection.h"

namespace dissect {

/// Where the packet of a layer ends within the described bytes: what is left by its own length field and by those of
/// the layers below it, without padding and check sequences of the link.
std::uint32_t end_of_packet(const Dissection& dissection, unsigned layer, base::Bytes described);

}  // namespace dissect
