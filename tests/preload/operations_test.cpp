#include <cerrno>
#include <cstring>
#include <endian.h>
#include <numeric>

#include "tests/preload/preload_harness.h"
#include "tests/support/allocations.h"

// Work requests of each kind, and what completes.
namespace {

using preload_test::Connection;
using preload_test::Side;
using preload_test::Wishes;

TEST(PreloadOperations, SendOfSeveralPiecesArrives) {
    Connection connection;
    std::iota(connection.active.memory.begin(), connection.active.memory.begin() + 256, std::uint8_t{0});
    ASSERT_EQ(connection.passive.receive(9, 500, 300), 0);
    ibv_sge pieces[] = {connection.active.piece(0, 10), connection.active.piece(100, 50),
                        connection.active.piece(20, 0), connection.active.piece(200, 1)};
    ASSERT_EQ(connection.active.send(connection.active.request(IBV_WR_SEND, 8, pieces, 4)), 0);
    const ibv_wc sent = connection.active.completion();
    EXPECT_EQ(sent.wr_id, 8U);
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
    EXPECT_EQ(sent.opcode, IBV_WC_SEND);
    EXPECT_EQ(sent.qp_num, connection.active.qp->qp_num);
    const ibv_wc received = connection.passive.completion();
    EXPECT_EQ(received.wr_id, 9U);
    EXPECT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(received.opcode, IBV_WC_RECV);
    EXPECT_EQ(received.byte_len, 61U);
    EXPECT_EQ(received.qp_num, connection.passive.qp->qp_num);
    EXPECT_EQ(received.wc_flags, 0U);
    std::vector<std::uint8_t> expected(10);
    std::iota(expected.begin(), expected.end(), std::uint8_t{0});
    for (int i = 100; i < 150; ++i) expected.push_back(static_cast<std::uint8_t>(i));
    expected.push_back(200);
    EXPECT_EQ(
        std::vector<std::uint8_t>(connection.passive.memory.begin() + 500, connection.passive.memory.begin() + 561),
        expected);
}

TEST(PreloadOperations, EitherSideMaySpeakFirst) {
    Connection connection;  // RFC 5044 section 7.1.2 would have the passive side wait, but RFC 6581
    ASSERT_EQ(connection.active.receive(1, 0, 8), 0);
    ibv_sge from = connection.passive.piece(0, 8);
    ASSERT_EQ(connection.passive.send(connection.passive.request(IBV_WR_SEND, 2, &from, 1)), 0);
    EXPECT_EQ(connection.active.completion().status, IBV_WC_SUCCESS);
}

TEST(PreloadOperations, InlineDataMayChangeAfterPosting) {
    Connection connection;
    ASSERT_EQ(connection.passive.receive(1, 0, 256), 0);
    std::vector<std::uint8_t> unregistered(256, 0x42);
    ibv_sge from{reinterpret_cast<std::uint64_t>(unregistered.data()), 256, 0xdead};
    ibv_send_wr request = connection.active.request(IBV_WR_SEND, 2, &from, 1);
    request.send_flags |= IBV_SEND_INLINE;
    ASSERT_EQ(connection.active.send(request), 0);
    std::fill(unregistered.begin(), unregistered.end(), std::uint8_t{0});
    EXPECT_EQ(connection.passive.completion().byte_len, 256U);
    EXPECT_EQ(std::count(connection.passive.memory.begin(), connection.passive.memory.begin() + 256, 0x42), 256);
    from.length = 257;  // beyond what the queue pair was made for
    EXPECT_EQ(connection.active.send(request), EINVAL);
}

TEST(PreloadOperations, ReadBringsWhatAWriteTook) {
    Connection connection;
    const std::size_t length = 300'000;  // several FPDUs
    for (std::size_t i = 0; i < length; ++i) connection.active.memory[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    ibv_sge from = connection.active.piece(0, length);
    ibv_send_wr write = connection.active.request(IBV_WR_RDMA_WRITE, 1, &from, 1);
    write.wr.rdma = {connection.passive.offset(1), connection.passive.mr->rkey};
    ASSERT_EQ(connection.active.send(write), 0);
    ibv_sge into = connection.active.piece(500'000, length);
    ibv_send_wr read = connection.active.request(IBV_WR_RDMA_READ, 2, &into, 1);
    read.wr.rdma = {connection.passive.offset(1), connection.passive.mr->rkey};
    ASSERT_EQ(connection.active.send(read), 0);
    EXPECT_EQ(connection.active.completion().opcode, IBV_WC_RDMA_WRITE);
    const ibv_wc done = connection.active.completion();
    EXPECT_EQ(done.opcode, IBV_WC_RDMA_READ);
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(connection.active.memory.data(), connection.active.memory.data() + 500'000, length), 0);
    EXPECT_EQ(std::memcmp(connection.active.memory.data(), connection.passive.memory.data() + 1, length), 0);
}

TEST(PreloadOperations, ReadHasOneSink) {
    Connection connection;
    ibv_sge pieces[] = {connection.active.piece(0, 8), connection.active.piece(8, 8)};
    ibv_send_wr read = connection.active.request(IBV_WR_RDMA_READ, 1, pieces, 2);
    read.wr.rdma = {connection.passive.offset(0), connection.passive.mr->rkey};
    EXPECT_EQ(connection.active.send(read), EINVAL);
}

TEST(PreloadOperations, AtomicsReturnTheOriginal) {
    Connection connection;
    std::uint64_t value = 40;
    std::memcpy(connection.passive.memory.data(), &value, sizeof value);
    ibv_sge into = connection.active.piece(8, 8);
    ibv_send_wr add = connection.active.request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, &into, 1);
    add.wr.atomic = {connection.passive.offset(0), 2, 0, connection.passive.mr->rkey};
    ASSERT_EQ(connection.active.send(add), 0);
    EXPECT_EQ(connection.active.completion().opcode, IBV_WC_FETCH_ADD);
    std::memcpy(&value, connection.active.memory.data() + 8, sizeof value);
    EXPECT_EQ(value, 40U);

    ibv_send_wr swap = connection.active.request(IBV_WR_ATOMIC_CMP_AND_SWP, 2, &into, 1);
    swap.wr.atomic = {connection.passive.offset(0), 42, 7, connection.passive.mr->rkey};
    ASSERT_EQ(connection.active.send(swap), 0);
    EXPECT_EQ(connection.active.completion().opcode, IBV_WC_COMP_SWAP);
    std::memcpy(&value, connection.active.memory.data() + 8, sizeof value);
    EXPECT_EQ(value, 42U);
    ASSERT_EQ(connection.active.send(swap), 0);  // 7 is not 42: nothing is swapped
    EXPECT_EQ(connection.active.completion().status, IBV_WC_SUCCESS);
    std::memcpy(&value, connection.active.memory.data() + 8, sizeof value);
    EXPECT_EQ(value, 7U);
    std::memcpy(&value, connection.passive.memory.data(), sizeof value);
    EXPECT_EQ(value, 7U);
}

TEST(PreloadOperations, ImmediateDataFollowsAWrite) {
    Connection connection;
    ASSERT_EQ(connection.passive.receive(3, 0, 0), 0);
    connection.active.memory[0] = 0x5e;
    ibv_sge from = connection.active.piece(0, 1);
    ibv_send_wr write = connection.active.request(IBV_WR_RDMA_WRITE_WITH_IMM, 1, &from, 1);
    write.wr.rdma = {connection.passive.offset(700), connection.passive.mr->rkey};
    write.imm_data = htobe32(0x01020304);
    ASSERT_EQ(connection.active.send(write), 0);
    const ibv_wc received = connection.passive.completion();
    EXPECT_EQ(received.wr_id, 3U);
    EXPECT_EQ(received.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(received.wc_flags, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(received.imm_data, htobe32(0x01020304));
    EXPECT_EQ(connection.passive.memory[700], 0x5e);
    EXPECT_EQ(connection.active.completion().opcode, IBV_WC_RDMA_WRITE);
}

TEST(PreloadOperations, SendWithImmediateDataIsNotIwarps) {
    Connection connection;
    ibv_sge from = connection.active.piece(0, 1);
    EXPECT_EQ(connection.active.send(connection.active.request(IBV_WR_SEND_WITH_IMM, 1, &from, 1)), EOPNOTSUPP);
}

TEST(PreloadOperations, UnsignalledRequestsCompleteSilently) {
    Connection connection;
    ibv_sge from = connection.active.piece(0, 1);
    for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_EQ(connection.passive.receive(i, i * 8, 8), 0);
        ibv_send_wr request = connection.active.request(IBV_WR_SEND, i, &from, 1);
        request.send_flags = i == 2 ? unsigned{IBV_SEND_SIGNALED} : 0U;
        ASSERT_EQ(connection.active.send(request), 0);
    }
    EXPECT_EQ(connection.active.completion().wr_id, 2U);
    Wishes wishes;
    wishes.signal_all = true;
    Connection loud(wishes);
    ASSERT_EQ(loud.passive.receive(0, 0, 8), 0);
    from = loud.active.piece(0, 1);
    ibv_send_wr request = loud.active.request(IBV_WR_SEND, 4, &from, 1);
    request.send_flags = 0;
    ASSERT_EQ(loud.active.send(request), 0);
    EXPECT_EQ(loud.active.completion().wr_id, 4U);
}

TEST(PreloadOperations, ListStopsAtTheOneThatIsWrong) {
    Connection connection;
    ASSERT_EQ(connection.passive.receive(1, 0, 8), 0);
    ASSERT_EQ(connection.passive.receive(2, 8, 8), 0);
    ibv_sge from = connection.active.piece(0, 8);
    ibv_send_wr list[] = {connection.active.request(IBV_WR_SEND, 10, &from, 1),
                          connection.active.request(IBV_WR_SEND, 11, &from, 1),
                          connection.active.request(IBV_WR_SEND, 12, &from, 33),  // more pieces than anybody has
                          connection.active.request(IBV_WR_SEND, 13, &from, 1)};
    for (int i = 0; i < 3; ++i) list[i].next = &list[i + 1];
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(connection.active.qp, list, &bad), EINVAL);
    EXPECT_EQ(bad, &list[2]);
    EXPECT_EQ(connection.active.completion().wr_id, 10U);
    EXPECT_EQ(connection.active.completion().wr_id, 11U);
    EXPECT_EQ(connection.passive.completion().wr_id, 1U);
    EXPECT_EQ(connection.passive.completion().wr_id, 2U);

    ibv_recv_wr receives[] = {{20, &receives[1], &from, 1}, {21, nullptr, &from, -1}};
    ibv_recv_wr* bad_receive = nullptr;
    EXPECT_EQ(ibv_post_recv(connection.passive.qp, receives, &bad_receive), EINVAL);
    EXPECT_EQ(bad_receive, &receives[1]);
}

TEST(PreloadOperations, FullQueueSaysSo) {
    Wishes wishes;
    wishes.capabilities.max_send_wr = 2;
    wishes.capabilities.max_recv_wr = 1;
    Connection connection(wishes);
    EXPECT_EQ(connection.active.receive(1, 0, 8), 0);
    EXPECT_EQ(connection.active.receive(2, 0, 8), ENOMEM);
    // Reads wait for their answers, and the passive side is this very thread: nothing is answered between two posts
    // unless the service thread does it, so that only the bound can be relied on.
    ibv_sge into = connection.active.piece(0, 8);
    ibv_send_wr list[64];
    for (ibv_send_wr& request : list) {
        request = connection.active.request(IBV_WR_RDMA_READ, 0, &into, 1);
        request.wr.rdma = {connection.passive.offset(0), connection.passive.mr->rkey};
        request.next = &request == &list[63] ? nullptr : &request + 1;
    }
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(connection.active.qp, list, &bad), ENOMEM);
    EXPECT_EQ(bad, &list[2]);
    EXPECT_EQ(connection.active.completion().status, IBV_WC_SUCCESS);
    EXPECT_EQ(connection.active.completion().status, IBV_WC_SUCCESS);
}

TEST(PreloadOperations, AllocateNothingOnceWarm) {
    Connection connection;
    ibv_sge from = connection.active.piece(0, 64);
    const auto round = [&](std::uint64_t id) {
        ASSERT_EQ(connection.passive.receive(id, 64, 64), 0);
        ASSERT_EQ(connection.active.send(connection.active.request(IBV_WR_SEND, id, &from, 1)), 0);
        ASSERT_EQ(connection.active.completion().wr_id, id);
        ASSERT_EQ(connection.passive.completion().wr_id, id);
    };
    for (std::uint64_t i = 0; i < 200; ++i) round(i);
    const std::uint64_t before = support::allocations();
    for (std::uint64_t i = 0; i < 1000; ++i) round(i);
    EXPECT_EQ(support::allocations(), before);
}

TEST(PreloadOperations, MessageLongerThanItsReceiveEndsBothSides) {
    Connection connection;
    ASSERT_EQ(connection.passive.receive(1, 0, 4), 0);
    ibv_sge from = connection.active.piece(0, 8);
    ASSERT_EQ(connection.active.send(connection.active.request(IBV_WR_SEND, 2, &from, 1)), 0);
    const ibv_wc received = connection.passive.completion();
    EXPECT_EQ(received.wr_id, 1U);
    EXPECT_EQ(received.status, IBV_WC_LOC_LEN_ERR);
    EXPECT_TRUE(preload_test::eventually([&] { return connection.passive.state() == IBV_QPS_ERR; }));
    EXPECT_TRUE(preload_test::eventually([&] { return connection.active.state() == IBV_QPS_ERR; }));
}

TEST(PreloadOperations, QueuePairInErrorTakesRequestsAndFlushesThem) {
    Connection connection;
    ASSERT_EQ(connection.passive.receive(1, 0, 8), 0);
    ibv_sge into = connection.active.piece(0, 8);
    ibv_send_wr read = connection.active.request(IBV_WR_RDMA_READ, 2, &into, 1);
    read.wr.rdma = {connection.passive.offset(0), connection.passive.mr->rkey ^ 0xff00};  // of no post key
    ASSERT_EQ(connection.active.send(read), 0);
    EXPECT_EQ(connection.active.completion().status, IBV_WC_REM_ACCESS_ERR);
    const ibv_wc flushed = connection.passive.completion();
    EXPECT_EQ(flushed.wr_id, 1U);
    EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
    for (const Side* const side : {&connection.active, &connection.passive}) {
        EXPECT_TRUE(preload_test::eventually([&] { return side->state() == IBV_QPS_ERR; }));
        ASSERT_EQ(side->receive(3, 0, 8), 0);
        const ibv_wc receive = side->completion();
        EXPECT_EQ(receive.wr_id, 3U);
        EXPECT_EQ(receive.status, IBV_WC_WR_FLUSH_ERR);
        ibv_sge from = side->piece(0, 8);
        ASSERT_EQ(side->send(side->request(IBV_WR_SEND, 4, &from, 1)), 0);
        const ibv_wc send = side->completion();
        EXPECT_EQ(send.wr_id, 4U);
        EXPECT_EQ(send.status, IBV_WC_WR_FLUSH_ERR);
    }
    // The one whose memory was meant hears of an access error, the other of the end.
    EXPECT_EQ(connection.passive.async_event().event_type, IBV_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(connection.active.async_event().event_type, IBV_EVENT_QP_FATAL);
    for (const Side* const side : {&connection.active, &connection.passive}) {
        ibv_async_event event{};
        event.event_type = IBV_EVENT_QP_FATAL;
        event.element.qp = side->qp;
        ibv_ack_async_event(&event);
    }
}

}  // namespace
