#pragma once
#include <cstdint>
#include <infiniband/verbs.h>

#include "iwarp/iwarp.h"

/// The functions that programs call through pointers in ibv_context and verbs_context.
namespace iwarp::preload {

namespace operations {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int dealloc_mw(ibv_mw* mw);

int poll_cq(ibv_cq* cq, int most, ibv_wc* into);
int req_notify_cq(ibv_cq* cq, int solicited_only);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* wanted);

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* wanted);
int post_send(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad);

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* wanted);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* requests, ibv_recv_wr** bad);

}  // namespace operations

/// The limits that ibv_query_device reports and that the create functions enforce.
namespace limits {
inline constexpr std::uint32_t requests = 1U << 20;  ///< of a queue
inline constexpr std::uint32_t pieces = 32;          ///< of a request
inline constexpr std::uint32_t inline_octets = 4096;
inline constexpr std::uint32_t least_inline_octets = 64;  ///< granted if a program asks for less
inline constexpr std::uint32_t completions = 1U << 22;
inline constexpr int reads = 128;  ///< reads and atomics outstanding on a connection, in either direction
}  // namespace limits

/// The options with which the device is opened.
const DeviceOptions& device_options();

}  // namespace iwarp::preload
