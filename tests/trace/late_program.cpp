// late_program LIBRARY: a program that is not linked with libibverbs, but loads it and looks its functions up, as NCCL
// does. Tells of its posts as verbs_program does.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <infiniband/verbs.h>

namespace {

template <class Function>
Function* look_up(void* library, const char* name) {
    auto* const found = reinterpret_cast<Function*>(dlvsym(library, name, "IBVERBS_1.1"));
    if (found == nullptr) std::abort();
    return found;
}

}  // namespace

int main(int, char** argv) {
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int count = 0;
    ibv_device** const list = look_up<ibv_device**(int*)>(library, "ibv_get_device_list")(&count);
    ibv_context* const context = look_up<ibv_context*(ibv_device*)>(library, "ibv_open_device")(list[1]);
    ibv_pd* const domain = look_up<ibv_pd*(ibv_context*)>(library, "ibv_alloc_pd")(context);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = look_up<ibv_cq*(ibv_context*, int, void*, ibv_comp_channel*, int)>(
        library, "ibv_create_cq")(context, 10, nullptr, nullptr, 0);
    attributes.cap.max_send_wr = 8;
    ibv_qp* const pair = look_up<ibv_qp*(ibv_pd*, ibv_qp_init_attr*)>(library, "ibv_create_qp")(domain, &attributes);
    ibv_qp_attr change{};
    change.qp_state = IBV_QPS_RTS;
    change.dest_qp_num = 99;
    look_up<int(ibv_qp*, ibv_qp_attr*, int)>(library, "ibv_modify_qp")(pair, &change, IBV_QP_STATE | IBV_QP_DEST_QPN);
    ibv_sge piece{0, 64, 0};
    ibv_send_wr wr{};
    wr.sg_list = &piece;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    for (wr.wr_id = 1; wr.wr_id <= 10; ++wr.wr_id) {
        ibv_send_wr* bad = nullptr;
        std::printf("send %u %llu 0 64 1 1 0 0\n", pair->qp_num, static_cast<unsigned long long>(wr.wr_id));
        if (ibv_post_send(pair, &wr, &bad) != 0) std::abort();
        ibv_wc done{};
        if (ibv_poll_cq(pair->send_cq, 1, &done) != 1) std::abort();
        std::printf("done %u %llu 1 64 0 0 0\n", done.qp_num, static_cast<unsigned long long>(done.wr_id));
    }
    return 0;
}
