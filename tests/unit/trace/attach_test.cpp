// What can be traced of a running process: a provider with symbols (tests/support/rxe_provider.cpp), Debian's without,
// a program that has nothing to do with RDMA.
#include "trace/uprobe/attach.h"

#include <csignal>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef RDMASCOPE_FAKE_PROVIDER
#include <infiniband/verbs.h>
#endif

namespace trace {
namespace {

TEST(MappedCode, each_file_once_by_its_inode) {
    const auto files = mapped_code(
        "55d0-55d4 r--p 00000000 08:01 131 /usr/bin/prog\n"
        "55d4-55d8 r-xp 00004000 08:01 131 /usr/bin/prog\n"
        "7f00-7f10 r-xp 00001000 08:01 200 /opt/with blank/librxe-rdmav34.so (deleted)\n"
        "7f10-7f20 r-xp 00003000 08:01 200 /opt/with blank/librxe-rdmav34.so (deleted)\n"
        "7f20-7f30 rw-p 00000000 00:00 0 [heap]\n"
        "7f30-7f40 r-xp 00000000 00:00 0 [vdso]\n"
        "junk\n\n7f50-7f60 r-xp\n",
        "/proc/7");
    ASSERT_EQ(files.size(), 2U);
    EXPECT_EQ(files[0].path, "/usr/bin/prog");
    EXPECT_EQ(files[0].open_path, "/proc/7/map_files/55d4-55d8");
    EXPECT_EQ(files[1].path, "/opt/with blank/librxe-rdmav34.so");
}

#ifdef RDMASCOPE_FAKE_PROVIDER

TEST(AttachPlan, a_provider_with_symbols_can_be_traced) {
    const auto file = base::ElfFile::open(RDMASCOPE_FAKE_PROVIDER);
    ASSERT_TRUE(file.ok()) << file.error().text();
    AttachPlan plan;
    plan_file(file.value(), RDMASCOPE_FAKE_PROVIDER, plan);
    ASSERT_EQ(plan.points.size(), 2U);
    EXPECT_EQ(plan.points[0].name, "rxe:rxe_post_send");
    EXPECT_EQ(plan.points[1].name, "rxe:rxe_post_recv");
    EXPECT_TRUE(plan.not_traced.empty());
    EXPECT_EQ(plan.libraries.size(), 1U);
}

#endif

TEST(AttachPlan, a_stripped_provider_cannot_and_the_reason_is_said) {
    const std::string path = "/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so";
    const auto file = base::ElfFile::open(path);
    if (!file.ok()) GTEST_SKIP() << file.error().text();
    AttachPlan plan;
    plan_file(file.value(), path, plan, "/nonexistent");
    EXPECT_TRUE(plan.points.empty());
    ASSERT_EQ(plan.not_traced.size(), 2U);
    EXPECT_EQ(plan.not_traced[0].what, "rxe_post_send");
    EXPECT_NE(plan.not_traced[0].why.find("ibverbs-providers-dbgsym"), std::string::npos);
    EXPECT_NE(plan.not_traced[1].why.find("rdmascope run"), std::string::npos);
}

#ifdef RDMASCOPE_FAKE_PROVIDER

TEST(Attach, posts_of_a_running_process_without_a_restart) {
    int ready[2] = {};
    int gate[2] = {};
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(gate), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        void* const library = ::dlopen(RDMASCOPE_FAKE_PROVIDER, RTLD_NOW);
        const auto send =
            reinterpret_cast<int (*)(ibv_qp*, ibv_send_wr*, ibv_send_wr**)>(::dlsym(library, "rxe_post_send"));
        const auto receive =
            reinterpret_cast<int (*)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**)>(::dlsym(library, "rxe_post_recv"));
        char go = 'r';
        static_cast<void>(!::write(ready[1], &go, 1));
        static_cast<void>(!::read(gate[0], &go, 1));
        ibv_qp pair = {};
        pair.qp_num = 0x123456;
        ibv_sge piece{0x1000, 5000, 9};
        for (std::uint64_t id = 70; id < 73; ++id) {
            ibv_send_wr request = {};
            ibv_send_wr* bad = nullptr;
            request.wr_id = id;
            request.sg_list = &piece;
            request.num_sge = id == 72 ? 0 : 1;
            request.opcode = IBV_WR_RDMA_READ;
            request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
            static_cast<void>(send(&pair, &request, &bad));
        }
        ibv_recv_wr request = {};
        ibv_recv_wr* bad = nullptr;
        request.wr_id = ~std::uint64_t{0};
        request.sg_list = &piece;
        request.num_sge = 1;
        static_cast<void>(receive(&pair, &request, &bad));
        ::_exit(0);
    }
    char go = 0;
    ASSERT_EQ(::read(ready[0], &go, 1), 1);
    auto source = attach(child);
    ASSERT_EQ(::write(gate[1], "g", 1), 1);
    ::waitpid(child, nullptr, 0);
    for (const int end : {ready[0], ready[1], gate[0], gate[1]}) ::close(end);
    if (!source.ok()) GTEST_SKIP() << source.error().text();
    std::vector<Record> records(20);
    ASSERT_EQ((*source.value()).next(records, 2000).count, 4U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(records[i].kind, RecordKind::post_send);
        EXPECT_EQ(records[i].number, 0x123456U);
        EXPECT_EQ(records[i].process, static_cast<std::uint32_t>(child));
        EXPECT_EQ(records[i].work.id, 70 + i);
        EXPECT_EQ(records[i].work.opcode, IBV_WR_RDMA_READ);
        EXPECT_EQ(records[i].work.flags, Flag::signalled | Flag::fence);
        EXPECT_EQ(records[i].work.bytes, i == 2 ? 0U : 5000U);
    }
    EXPECT_EQ(records[3].kind, RecordKind::post_receive);
    EXPECT_EQ(records[3].work.id, ~std::uint64_t{0});
    EXPECT_EQ((*source.value()).next(records, 2000).status, TraceStatus::end);
}

#endif

TEST(Attach, what_has_nothing_to_trace_is_told) {
    const auto nobody = attach(0x3fffffff);
    ASSERT_FALSE(nobody.ok());
    EXPECT_EQ(nobody.error().text(), "process 1073741823: no such process");
    const pid_t child = ::fork();
    if (child == 0) {
        ::execlp("sleep", "sleep", "30", nullptr);
        ::_exit(1);
    }
    for (int i = 0; i < 200; ++i) {  // until exec has taken place
        if (std::filesystem::read_symlink("/proc/" + std::to_string(child) + "/exe").filename() !=
            std::filesystem::read_symlink("/proc/self/exe").filename())
            break;
        ::usleep(5000);
    }
    const auto plain = attach(child);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_FALSE(plain.ok());
    EXPECT_NE(plain.error().text().find("it has no library of verbs"), std::string::npos) << plain.error().text();
}

TEST(Attach, says_a_reason_once) {
    const std::vector<NotTraced> all{{"/usr/lib/libefa.so.1", "efa_post_send", "is not there"},
                                     {"/usr/lib/libefa.so.1", "efa_post_recv", "is not there"},
                                     {"/opt/libefa.so.1", "an argument", "cannot be fetched"},
                                     {"/usr/lib/libibverbs/librxe-rdmav34.so", "rxe_post_send", "is not there"}};
    EXPECT_EQ(
        sentences_of(all),
        (std::vector<std::string>{"libefa.so.1, librxe-rdmav34.so: efa_post_send and 2 more like it; each is not there",
                                  "/opt/libefa.so.1: an argument cannot be fetched"}));
    EXPECT_TRUE(sentences_of({}).empty());
}

}  // namespace
}  // namespace trace
