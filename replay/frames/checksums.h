#pragma once
#include "base/bytes.h"
#include "dissect/dissection.h"

namespace replay::inline frames {

/// Makes the checksums of a frame that was changed in place agree with it as they did with what it was `before`; see
/// Rewriter. False where an ICRC that covers what was changed is not in the frame, or covers other frames' bytes.
bool mend_checksums(base::Bytes before, base::MutableBytes after, const dissect::Dissection& dissection);

}  // namespace replay::frames
