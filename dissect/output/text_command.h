#pragma once
#include <string>

#include "dissect/upper_message.h"

namespace dissect::output::text {

/// The line below that of the packet that completed a message of an upper layer, without its end:
///
///                     NVMe Read                  q 1 cid 0x800b ns 1 lba 520 blocks 504 len 258048 key 0x000044af
///
/// Nothing for a packet in the middle of a command's data, or at its end.
void command(std::string& out, const UpperMessage& message);

}  // namespace dissect::output::text
