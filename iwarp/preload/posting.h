#pragma once
#include <infiniband/verbs.h>

namespace iwarp::preload {

struct Qp;

/// One of a list, without looking at its `next`. 0, or the errno of it. With the lock held.
int post_one(Qp& qp, const ibv_send_wr& request);

}  // namespace iwarp::preload
