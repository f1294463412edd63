// What the interposer adds to a post and a poll, over a provider that does next to nothing; and what its parts cost.
//
// bench_interposer measures the parts; LD_PRELOAD=librdmascope-trace.so bench_interposer --benchmark_filter=verbs
// against the same without is the cost of an operation.
#include <atomic>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <ctime>
#include <infiniband/verbs.h>
#include <memory>
#include <vector>

#include "trace/ring/ring.h"
#include "trace/ring/ring_layout.h"

namespace {

using trace::Record;

int post_send(ibv_qp*, ibv_send_wr* wr, ibv_send_wr**) {
    benchmark::DoNotOptimize(wr);
    return 0;
}
int poll_cq(ibv_cq*, int, ibv_wc* wc) {
    wc->status = IBV_WC_SUCCESS;
    wc->opcode = IBV_WC_RDMA_WRITE;
    wc->qp_num = 7;
    return 1;
}
int poll_nothing(ibv_cq*, int, ibv_wc*) { return 0; }

/// A context as a provider fills it in, shown to the interposer by a name that it hooks.
struct Fake {
    ibv_device device{};
    verbs_context context{};
    ibv_pd domain{};
    ibv_cq cq{};
    ibv_qp qp{};

    explicit Fake(decltype(ibv_context_ops::poll_cq) poll) {
        context.sz = sizeof context;
        context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        context.context.device = &device;
        context.context.ops.post_send = post_send;
        context.context.ops.poll_cq = poll;
        qp.context = cq.context = domain.context = &context.context;
        qp.send_cq = qp.recv_cq = &cq;
        qp.qp_num = 7;
        ibv_qp_init_attr attributes{};
        attributes.qp_type = IBV_QPT_RC;
        attributes.qp_context = &qp;
        ibv_create_qp(&domain, &attributes);
    }
    ~Fake() { ibv_close_device(&context.context); }
    Fake(const Fake&) = delete;
    Fake& operator=(const Fake&) = delete;
};

void verbs_post_send(benchmark::State& state) {
    const auto fake = std::make_unique<Fake>(poll_cq);
    ibv_sge piece{0, 64, 0};
    ibv_send_wr wr{};
    wr.sg_list = &piece;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    ibv_send_wr* bad = nullptr;
    for (auto _ : state) {
        ++wr.wr_id;
        benchmark::DoNotOptimize(ibv_post_send(&fake->qp, &wr, &bad));
    }
}

void verbs_post_list_of_8(benchmark::State& state) {
    const auto fake = std::make_unique<Fake>(poll_cq);
    ibv_sge piece{0, 64, 0};
    ibv_send_wr list[8]{};
    for (int i = 0; i < 8; ++i) {
        list[i].sg_list = &piece;
        list[i].num_sge = 1;
        list[i].next = i < 7 ? &list[i + 1] : nullptr;
    }
    ibv_send_wr* bad = nullptr;
    for (auto _ : state) benchmark::DoNotOptimize(ibv_post_send(&fake->qp, list, &bad));
    state.SetItemsProcessed(state.iterations() * 8);
}

void verbs_poll(benchmark::State& state) {
    const auto fake = std::make_unique<Fake>(poll_cq);
    ibv_wc wc{};
    for (auto _ : state) benchmark::DoNotOptimize(ibv_poll_cq(&fake->cq, 1, &wc));
}

void verbs_poll_empty(benchmark::State& state) {
    const auto fake = std::make_unique<Fake>(poll_nothing);
    ibv_wc wc{};
    for (auto _ : state) benchmark::DoNotOptimize(ibv_poll_cq(&fake->cq, 1, &wc));
}

void part_clock(benchmark::State& state) {
    timespec now{};
    for (auto _ : state) {
        clock_gettime(CLOCK_REALTIME, &now);
        benchmark::DoNotOptimize(now);
    }
}

/// One ring for all threads of a benchmark.
trace::Ring& ring() {
    static const auto made = [] {
        auto fresh = std::make_unique<trace::Ring>();
        char folder[] = "/dev/shm/rdmascope-bench-XXXXXX";
        if (mkdtemp(folder) == nullptr || fresh->open(folder, 1U << 16, 0) != 0) std::abort();
        return fresh;
    }();
    return *made;
}

void part_lane_of_a_thread(benchmark::State& state) {
    trace::Lane* const lane = ring().claim();
    std::uint64_t id = 0;
    for (auto _ : state) {
        lane->begin(1);
        Record& record = lane->next();
        record = Record{};
        record.work.id = ++id;
        lane->publish();
        lane->end();
    }
    trace::Ring::give_back(*lane);
}

/// The other way to do it: one ring for all, whose next place is drawn by an atomic addition.
void part_one_ring_for_all(benchmark::State& state) {
    constexpr std::uint64_t capacity = 1U << 16;
    static std::vector<std::uint64_t> words(capacity * 8);
    alignas(128) static std::atomic<std::uint64_t> next;
    std::uint64_t record[8]{};
    for (auto _ : state) {
        ++record[3];
        const std::uint64_t place = next.fetch_add(1, std::memory_order_relaxed);
        std::uint64_t* const to = &words[(place & (capacity - 1)) * 8];
        for (int i = 1; i < 8; ++i) std::atomic_ref<std::uint64_t>(to[i]).store(record[i], std::memory_order_relaxed);
        std::atomic_ref<std::uint64_t>(to[0]).store(place, std::memory_order_release);
    }
}

BENCHMARK(verbs_post_send);
BENCHMARK(verbs_post_list_of_8);
BENCHMARK(verbs_poll);
BENCHMARK(verbs_poll_empty);
BENCHMARK(part_clock);
BENCHMARK(part_lane_of_a_thread)->ThreadRange(1, 4);
BENCHMARK(part_one_ring_for_all)->ThreadRange(1, 4);

}  // namespace

BENCHMARK_MAIN();
