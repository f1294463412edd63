#pragma once
#include <infiniband/verbs.h>

namespace iwarp::preload {

struct Qp;

/// Posts one request of a list, and ignores its `next`. Returns 0, or its errno. With the lock held.
int post_one(Qp& qp, const ibv_send_wr& request);

}  // namespace iwarp::preload
