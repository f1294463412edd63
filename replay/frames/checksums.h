#pragma once
#include "dissect/dissection.h"
#include "wire/bytes.h"

namespace replay {

/// Makes the checksums of a frame that was changed in place agree with it as they did with what it was `before`; see
/// Rewriter. False where an ICRC that covers what was changed is not in the frame, or covers other frames' octets.
bool mend_checksums(wire::Bytes before, wire::MutableBytes after, const dissect::Dissection& dissection);

}  // namespace replay
