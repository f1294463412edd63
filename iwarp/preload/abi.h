#pragma once
#include <infiniband/verbs.h>

// Headers make macros of these names; the macros lead to the functions that we define.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/// For a function that programs find instead of libibverbs' or librdmacm's.
#define RDMA_ABI extern "C" __attribute__((visibility("default")))
