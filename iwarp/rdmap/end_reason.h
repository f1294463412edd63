#pragma once
#include <string>

#include "base/bytes.h"
#include "iwarp/iwarp.h"
#include "iwarp/rdmap/send_queue.h"

namespace iwarp::rdmap {

/// Fills in `operation` and `reason` of a Terminate that is read or sent, from the headers in its body: the request at
/// fault, with its rkey, address and length. `reason` stays empty if the request is not the cause.
void explain_terminate(Terminate& why, base::Bytes body);

/// The same from the request itself, if this side has posted it and still has it. Adds wr_id.
void explain_terminate(Terminate& why, const WorkRequest& request);

}  // namespace iwarp::rdmap
