#pragma once

namespace iwarp::preload {

struct Qp;

/// Sets the functions of ibv_qp_ex by which ibv_wr_start, ibv_wr_rdma_write, ibv_wr_set_sge and so on work.
void set_builders(Qp& qp);

}  // namespace iwarp::preload
