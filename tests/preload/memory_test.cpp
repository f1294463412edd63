#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/preload/preload_harness.h"

// Protection domains, regions and windows: who reaches what, and when no longer.
namespace {

using preload_test::all_rights;
using preload_test::Connection;
using preload_test::Side;

ibv_mr* register_memory(const Side& side, void* memory, std::size_t length, unsigned rights) {
    return ibv_reg_mr_iova2(side.pd, memory, length, reinterpret_cast<std::uint64_t>(memory), rights);
}

/// A Write of the first `length` octets of the active side.
ibv_wc_status write(const Connection& connection, std::uint32_t key, std::uint64_t offset, std::size_t length) {
    ibv_sge from = connection.active.piece(0, length);
    ibv_send_wr request = connection.active.request(IBV_WR_RDMA_WRITE, 1, &from, 1);
    request.wr.rdma = {offset, key};
    EXPECT_EQ(connection.active.send(request), 0);
    return connection.active.completion().status;
}

/// A Read of as much into the active side's memory: when it is done, everything before it has been performed.
ibv_wc_status read(const Connection& connection, std::uint32_t key, std::uint64_t offset, std::size_t length) {
    ibv_sge into = connection.active.piece(65536, length);
    ibv_send_wr request = connection.active.request(IBV_WR_RDMA_READ, 2, &into, 1);
    request.wr.rdma = {offset, key};
    EXPECT_EQ(connection.active.send(request), 0);
    return connection.active.completion().status;
}

TEST(PreloadMemory, RightsThatContradictEachOtherAreRefused) {
    Side side({});
    std::vector<char> memory(4096);
    EXPECT_EQ(register_memory(side, memory.data(), memory.size(), IBV_ACCESS_REMOTE_WRITE), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(register_memory(side, memory.data(), 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(register_memory(side, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND),
              nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    // Hints that may be ignored.
    ibv_mr* const hinted = register_memory(side, memory.data(), memory.size(),
                                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_HUGETLB);
    ASSERT_NE(hinted, nullptr);
    EXPECT_EQ(ibv_dereg_mr(hinted), 0);
}

TEST(PreloadMemory, WhatIsNotThereCannotBeRegistered) {
    Side side({});
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const pages = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    auto* const first = static_cast<std::uint8_t*>(pages);
    ASSERT_EQ(munmap(first + page, page), 0);
    ASSERT_EQ(mprotect(first + 2 * page, page, PROT_READ), 0);
    EXPECT_EQ(register_memory(side, first, page + 1, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(register_memory(side, first + 2 * page, page, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EFAULT);
    ibv_mr* const read_only = register_memory(side, first + 2 * page + 5, 100, IBV_ACCESS_REMOTE_READ);
    ASSERT_NE(read_only, nullptr);
    EXPECT_EQ(ibv_dereg_mr(read_only), 0);
    ASSERT_EQ(munmap(pages, 3 * page), 0);
}

TEST(PreloadMemory, DomainInUseStays) {
    Side side({});
    EXPECT_EQ(ibv_dealloc_pd(side.pd), EBUSY);
    ibv_pd* const empty = ibv_alloc_pd(side.context);
    ASSERT_NE(empty, nullptr);
    ibv_mw* const window = ibv_alloc_mw(empty, IBV_MW_TYPE_2);
    ASSERT_NE(window, nullptr);
    EXPECT_EQ(ibv_dealloc_pd(empty), EBUSY);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(ibv_dealloc_pd(empty), 0);
}

TEST(PreloadMemory, DeregisteredMemoryIsOutOfReach) {
    Connection connection;
    std::vector<std::uint8_t> memory(4096, 0x11);
    ibv_mr* const mr = register_memory(connection.passive, memory.data(), memory.size(), all_rights);
    ASSERT_NE(mr, nullptr);
    const std::uint32_t key = mr->rkey;
    const auto offset = reinterpret_cast<std::uint64_t>(memory.data());
    connection.active.memory[0] = 0x22;
    EXPECT_EQ(write(connection, key, offset, 1), IBV_WC_SUCCESS);
    EXPECT_EQ(read(connection, key, offset, 1), IBV_WC_SUCCESS);
    EXPECT_EQ(connection.active.memory[65536], 0x22);
    ASSERT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(read(connection, key, offset, 1), IBV_WC_REM_ACCESS_ERR);
}

TEST(PreloadMemory, ReregisteredMemoryHasAnotherKeyAndOtherRights) {
    Connection connection;
    std::vector<std::uint8_t> memory(8192, 0x33);
    ibv_mr* const mr = register_memory(connection.passive, memory.data(), 4096, all_rights);
    ASSERT_NE(mr, nullptr);
    const std::uint32_t before = mr->rkey;
    ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, nullptr,
                           memory.data() + 4096, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
              0);
    EXPECT_NE(mr->rkey, before);
    EXPECT_EQ(mr->addr, memory.data() + 4096);
    memory[4096] = 0x44;
    EXPECT_EQ(read(connection, mr->rkey, reinterpret_cast<std::uint64_t>(mr->addr), 1), IBV_WC_SUCCESS);
    EXPECT_EQ(connection.active.memory[65536], 0x44);
    EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
              IBV_REREG_MR_ERR_INPUT);
    // The peer's Write is out of its rights now: the stream ends.
    EXPECT_EQ(write(connection, mr->rkey, reinterpret_cast<std::uint64_t>(mr->addr), 1), IBV_WC_SUCCESS);
    EXPECT_NE(read(connection, mr->rkey, reinterpret_cast<std::uint64_t>(mr->addr), 1), IBV_WC_SUCCESS);
    EXPECT_EQ(memory[4096], 0x44);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST(PreloadMemory, ReregistrationMovesBetweenDomains) {
    Connection connection;
    std::vector<std::uint8_t> memory(4096, 0x55);
    ibv_mr* const mr = register_memory(connection.passive, memory.data(), memory.size(), all_rights);
    ASSERT_NE(mr, nullptr);
    ibv_pd* const other = ibv_alloc_pd(connection.passive.context);
    ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0), 0);
    EXPECT_EQ(mr->pd, other);
    EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
    // RFC 5040 section 8.1.1: a region of another domain is not for this queue pair.
    EXPECT_EQ(read(connection, mr->rkey, reinterpret_cast<std::uint64_t>(mr->addr), 1), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST(PreloadMemory, CountsFromWhereTheProgramWants) {
    Connection connection;
    std::vector<std::uint8_t> memory(4096);
    constexpr std::uint64_t iova = 0x1000'0000'0000;
    ibv_mr* const target = ibv_reg_mr_iova2(connection.passive.pd, memory.data(), memory.size(), iova, all_rights);
    ASSERT_NE(target, nullptr);
    std::vector<std::uint8_t> own(4096, 0x66);
    ibv_mr* const source = ibv_reg_mr_iova2(connection.active.pd, own.data(), own.size(), 0, IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(source, nullptr);
    own[100] = 0x77;
    ibv_sge from{100, 1, source->lkey};  // by its offset, as the region counts
    ibv_send_wr request = connection.active.request(IBV_WR_RDMA_WRITE, 1, &from, 1);
    request.wr.rdma = {iova + 200, target->rkey};
    ASSERT_EQ(connection.active.send(request), 0);
    EXPECT_EQ(connection.active.completion().status, IBV_WC_SUCCESS);
    EXPECT_EQ(read(connection, target->rkey, iova + 199, 3), IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(connection.active.memory.data() + 65536, "\x00\x77\x00", 3), 0);
    EXPECT_EQ(memory[200], 0x77);
    EXPECT_EQ(ibv_dereg_mr(source), 0);
    EXPECT_EQ(ibv_dereg_mr(target), 0);
}

TEST(PreloadMemory, ZeroBasedCountsFromNought) {
    Connection connection;
    std::vector<std::uint8_t> memory(4096);
    ibv_mr* const target =
        register_memory(connection.passive, memory.data(), memory.size(), all_rights | IBV_ACCESS_ZERO_BASED);
    ASSERT_NE(target, nullptr);
    connection.active.memory[0] = 0x88;
    EXPECT_EQ(write(connection, target->rkey, 4095, 1), IBV_WC_SUCCESS);
    EXPECT_EQ(read(connection, target->rkey, 4095, 1), IBV_WC_SUCCESS);
    EXPECT_EQ(memory[4095], 0x88);
    EXPECT_EQ(ibv_dereg_mr(target), 0);
}

TEST(PreloadMemory, WindowOfType1IsBoundAndUnboundInOrder) {
    Connection connection;
    const Side& passive = connection.passive;
    ibv_mw* const window = ibv_alloc_mw(passive.pd, IBV_MW_TYPE_1);
    ASSERT_NE(window, nullptr);
    const std::uint32_t before = window->rkey;
    ibv_mw_bind bind{};
    bind.wr_id = 5;
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {passive.mr, passive.offset(4096), 16, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    ASSERT_EQ(ibv_bind_mw(passive.qp, window, &bind), 0);
    EXPECT_EQ(window->rkey, ibv_inc_rkey(before));
    const ibv_wc bound = passive.completion();
    EXPECT_EQ(bound.status, IBV_WC_SUCCESS);
    EXPECT_EQ(bound.opcode, IBV_WC_BIND_MW);
    EXPECT_EQ(bound.wr_id, 5U);
    EXPECT_EQ(ibv_dereg_mr(passive.mr), EBUSY);
    connection.active.memory[0] = 0x99;
    EXPECT_EQ(write(connection, window->rkey, passive.offset(4096), 1), IBV_WC_SUCCESS);
    EXPECT_EQ(read(connection, window->rkey, passive.offset(4096), 1), IBV_WC_SUCCESS);
    EXPECT_EQ(passive.memory[4096], 0x99);
    // A length of nought takes it off again.
    const std::uint32_t key = window->rkey;
    bind.bind_info = {nullptr, 0, 0, 0};
    ASSERT_EQ(ibv_bind_mw(passive.qp, window, &bind), 0);
    EXPECT_EQ(passive.completion().status, IBV_WC_SUCCESS);
    EXPECT_EQ(read(connection, key, passive.offset(4096), 1), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST(PreloadMemory, WindowOfType2TakesTheProgramsKeyAndIsInvalidatedByThePeer) {
    Connection connection;
    const Side& passive = connection.passive;
    ibv_mw* const window = ibv_alloc_mw(passive.pd, IBV_MW_TYPE_2);
    ASSERT_NE(window, nullptr);
    const std::uint32_t key = (window->rkey & ~0xffU) | ((window->rkey + 77) & 0xffU);
    ibv_send_wr bind = passive.request(IBV_WR_BIND_MW, 6, nullptr, 0);
    bind.bind_mw = {window, key, {passive.mr, passive.offset(0), 64, IBV_ACCESS_REMOTE_READ}};
    ASSERT_EQ(passive.send(bind), 0);
    EXPECT_EQ(passive.completion().opcode, IBV_WC_BIND_MW);
    EXPECT_EQ(read(connection, key, passive.offset(0), 64), IBV_WC_SUCCESS);

    ASSERT_EQ(passive.receive(7, 1024, 64), 0);
    ibv_sge from = connection.active.piece(0, 8);
    ibv_send_wr send = connection.active.request(IBV_WR_SEND_WITH_INV, 8, &from, 1);
    send.invalidate_rkey = key;
    ASSERT_EQ(connection.active.send(send), 0);
    EXPECT_EQ(connection.active.completion().status, IBV_WC_SUCCESS);
    const ibv_wc received = passive.completion();
    EXPECT_EQ(received.wc_flags, unsigned{IBV_WC_WITH_INV});
    EXPECT_EQ(received.invalidated_rkey, key);
    EXPECT_EQ(read(connection, key, passive.offset(0), 64), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST(PreloadMemory, LocalInvalidateTakesAWindowBack) {
    Connection connection;
    const Side& passive = connection.passive;
    ibv_mw* const window = ibv_alloc_mw(passive.pd, IBV_MW_TYPE_2);
    ASSERT_NE(window, nullptr);
    const std::uint32_t key = ibv_inc_rkey(window->rkey);
    ibv_send_wr bind = passive.request(IBV_WR_BIND_MW, 1, nullptr, 0);
    bind.bind_mw = {window, key, {passive.mr, passive.offset(0), 64, IBV_ACCESS_REMOTE_READ}};
    ASSERT_EQ(passive.send(bind), 0);
    ibv_send_wr invalidate = passive.request(IBV_WR_LOCAL_INV, 2, nullptr, 0);
    invalidate.invalidate_rkey = key;
    ASSERT_EQ(passive.send(invalidate), 0);
    EXPECT_EQ(passive.completion().opcode, IBV_WC_BIND_MW);
    const ibv_wc done = passive.completion();
    EXPECT_EQ(done.opcode, IBV_WC_LOCAL_INV);
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
    EXPECT_EQ(read(connection, key, passive.offset(0), 64), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST(PreloadMemory, BindThatIsNotPermittedFails) {
    Connection connection;
    const Side& passive = connection.passive;
    std::vector<std::uint8_t> memory(4096);
    ibv_mr* const mr = register_memory(passive, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(mr, nullptr);
    ibv_mw* const window = ibv_alloc_mw(passive.pd, IBV_MW_TYPE_1);
    ASSERT_NE(window, nullptr);
    ibv_mw_bind bind{};
    bind.wr_id = 3;
    bind.bind_info = {mr, reinterpret_cast<std::uint64_t>(memory.data()), 16, IBV_ACCESS_REMOTE_READ};
    ASSERT_EQ(ibv_bind_mw(passive.qp, window, &bind), 0);
    const ibv_wc refused = passive.completion();
    EXPECT_EQ(refused.wr_id, 3U);
    EXPECT_EQ(refused.status, IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

}  // namespace
