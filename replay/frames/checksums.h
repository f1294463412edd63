#pragma once
#include "base/bytes.h"
#include "dissect/dissection.h"

namespace replay::inline frames {

/// Adjusts the checksums of a frame that was changed in place, so that they fit as they did `before`; see Rewriter.
/// Returns false if an ICRC over the changed bytes is not in the frame, or covers other frames' bytes.
bool mend_checksums(base::Bytes before, base::MutableBytes after, const dissect::Dissection& dissection);

}  // namespace replay::frames
