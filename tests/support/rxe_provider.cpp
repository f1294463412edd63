// A provider as a process maps it: a file of its own whose functions are in its symbol table, as debug builds have
// them.
#include <infiniband/verbs.h>

extern "C" {
__attribute__((visibility("default"), noinline)) int rxe_post_send(ibv_qp* pair, ibv_send_wr* request,
                                                                   ibv_send_wr** bad) {
    *bad = request->next;
    return pair->qp_num == 0 ? 22 : 0;
}
__attribute__((visibility("default"), noinline)) int rxe_post_recv(ibv_qp* pair, ibv_recv_wr* request,
                                                                   ibv_recv_wr** bad) {
    *bad = request->next;
    return pair->qp_num == 0 ? 22 : 0;
}
}
