// late_program LIBRARY: a program that is not linked with libibverbs, but loads it and looks its functions up, as NCCL
// does. Tells of its posts as verbs_program does.
// late_program LIBRARY ROUNDS: so often, several threads at once have the interposer learn of the same device.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <thread>
#include <vector>

namespace {

template <class Function>
Function* look_up(void* library, const char* name) {
    auto* const found = reinterpret_cast<Function*>(dlvsym(library, name, "IBVERBS_1.1"));
    if (found == nullptr) std::abort();
    return found;
}

int take_receive(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) { return 0; }
int find_nothing(ibv_cq*, int, ibv_wc*) { return 0; }

/// Contexts of a provider that nobody has been told of, as a connection manager's are that brings its own; the thread
/// that waits for its events comes to them together with the one that posts.
int learn_at_once(ibv_device* device, int rounds) {
    constexpr int threads = 4;
    // The interposer's: it comes before every library.
    auto* const allocate = reinterpret_cast<ibv_pd* (*)(ibv_context*)>(dlsym(RTLD_DEFAULT, "ibv_alloc_pd"));
    if (allocate == nullptr) std::abort();
    std::vector<verbs_context> contexts = [&] {
        verbs_context fresh{};
        fresh.sz = sizeof fresh;
        fresh.context.device = device;
        fresh.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        fresh.context.ops.post_recv = take_receive;
        fresh.context.ops.poll_cq = find_nothing;
        return std::vector<verbs_context>(static_cast<std::size_t>(rounds), fresh);
    }();
    std::atomic<int> arrived = 0;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                ibv_context& context = contexts[static_cast<std::size_t>(round)].context;
                ibv_qp pair{};
                pair.context = &context;
                pair.qp_num = 7;
                ++arrived;
                while (arrived < threads * (round + 1)) {
                }
                if (allocate(&context) == nullptr) std::abort();
                ibv_recv_wr wr{};
                ibv_recv_wr* bad = nullptr;
                if (context.ops.post_recv(&pair, &wr, &bad) != 0) std::abort();
            }
        });
    for (std::thread& one : running) one.join();
    return 0;
}

}  // namespace

int main(int words, char** argv) {
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int count = 0;
    ibv_device** const list = look_up<ibv_device**(int*)>(library, "ibv_get_device_list")(&count);
    if (words > 2) return learn_at_once(list[1], std::atoi(argv[2]));
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
