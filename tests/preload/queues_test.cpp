#include <array>
#include <cerrno>
#include <cstring>
#include <endian.h>
#include <memory>
#include <numeric>
#include <thread>

#include "tests/preload/preload_harness.h"

// Queue pairs and shared receive queues: their states, sizes and events; batches of ibv_wr_*; several threads.
namespace {

using preload_test::Connection;
using preload_test::eventually;
using preload_test::Side;
using preload_test::Wishes;

int modify(const Side& side, ibv_qp_state to) {
    ibv_qp_attr attributes{};
    attributes.qp_state = to;
    return ibv_modify_qp(side.qp, &attributes, IBV_QP_STATE);
}

TEST(PreloadQueuePair, TellsWhatItGranted) {
    Side side({});
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = side.cq;
    wanted.cap = {10, 20, 3, 5, 100};
    wanted.qp_type = IBV_QPT_RC;
    wanted.qp_context = &side;
    ibv_qp* const qp = ibv_create_qp(side.pd, &wanted);
    ASSERT_NE(qp, nullptr);
    EXPECT_GE(wanted.cap.max_send_wr, 10U);
    EXPECT_GE(wanted.cap.max_recv_wr, 20U);
    EXPECT_GE(wanted.cap.max_send_sge, 3U);
    EXPECT_GE(wanted.cap.max_recv_sge, 5U);
    EXPECT_GE(wanted.cap.max_inline_data, 100U);
    EXPECT_EQ(qp->state, IBV_QPS_RESET);
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    ASSERT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_CAP, &initial), 0);
    EXPECT_EQ(attributes.qp_state, IBV_QPS_RESET);
    EXPECT_EQ(std::memcmp(&initial.cap, &wanted.cap, sizeof wanted.cap), 0);
    EXPECT_EQ(initial.qp_context, &side);
    attributes.cap = {40, 50, 1, 1, 0};
    EXPECT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_CAP), 0);
    ASSERT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_CAP, &initial), 0);
    EXPECT_EQ(initial.cap.max_send_wr, 40U);
    EXPECT_EQ(initial.cap.max_recv_wr, 50U);
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_recv(qp, &receive, &bad), EINVAL) << "in RESET nothing can be posted";
    EXPECT_EQ(bad, &receive);
    EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST(PreloadQueuePair, ExcessiveWishesAreRefused) {
    Side side({});
    ibv_device_attr limits{};
    ASSERT_EQ(ibv_query_device(side.context, &limits), 0);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = side.cq;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {static_cast<std::uint32_t>(limits.max_qp_wr) + 1, 1, 1, 1, 0};
    EXPECT_EQ(ibv_create_qp(side.pd, &wanted), nullptr);
    EXPECT_EQ(errno, EINVAL);
    wanted.cap = {1, 1, static_cast<std::uint32_t>(limits.max_sge) + 1, 1, 0};
    EXPECT_EQ(ibv_create_qp(side.pd, &wanted), nullptr);
    EXPECT_EQ(errno, EINVAL);
    wanted.cap = {1, 1, 1, 1, 1 << 20};
    EXPECT_EQ(ibv_create_qp(side.pd, &wanted), nullptr);
    EXPECT_EQ(errno, EINVAL);
    wanted.cap = {1, 1, 1, 1, 0};
    wanted.recv_cq = nullptr;
    EXPECT_EQ(ibv_create_qp(side.pd, &wanted), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(PreloadQueuePair, IsConnectedByTheConnectionManagerAlone) {
    Side side({});
    EXPECT_EQ(modify(side, IBV_QPS_RTR), EOPNOTSUPP);
    EXPECT_EQ(side.state(), IBV_QPS_INIT);
    ibv_sge from = side.piece(0, 8);
    EXPECT_EQ(side.send(side.request(IBV_WR_SEND, 1, &from, 1)), EINVAL);
    Connection connection;
    EXPECT_EQ(connection.active.state(), IBV_QPS_RTS);
    EXPECT_EQ(connection.active.qp->state, IBV_QPS_RTS);
    EXPECT_EQ(modify(connection.active, IBV_QPS_RTS), 0) << "as programs do after rdma_init_qp_attr";
}

// rdma_get_cm_event(3): each "matches" what the remote node said when it called rdma_accept, and RFC 6581 section 9.1.
TEST(PreloadQueuePair, KnowsTheDepthsThatTheOtherSideGave) {
    Wishes active;
    active.responder_resources = 9;
    active.initiator_depth = 7;
    Wishes passive;
    passive.responder_resources = 20;
    passive.initiator_depth = 3;
    Connection connection(active, passive);
    EXPECT_EQ(connection.established_with.responder_resources, 3);
    EXPECT_EQ(connection.established_with.initiator_depth, 7);  // of 20, what was asked for
}

TEST(PreloadQueuePair, ErrorFlushesAndResetBeginsAnew) {
    Side side({});
    ASSERT_EQ(side.receive(1, 0, 8), 0);
    ASSERT_EQ(side.receive(2, 0, 8), 0);
    ASSERT_EQ(modify(side, IBV_QPS_ERR), 0);
    for (std::uint64_t i = 1; i <= 2; ++i) {
        const ibv_wc flushed = side.completion();
        EXPECT_EQ(flushed.wr_id, i);
        EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
    }
    EXPECT_EQ(modify(side, IBV_QPS_INIT), EINVAL) << "by way of RESET";
    ASSERT_EQ(modify(side, IBV_QPS_RESET), 0);
    EXPECT_EQ(side.state(), IBV_QPS_RESET);
    ASSERT_EQ(modify(side, IBV_QPS_INIT), 0);
    ASSERT_EQ(side.receive(3, 0, 8), 0);
}

TEST(PreloadQueuePair, ErrorOfTheOneEndsTheOther) {
    Connection connection;
    ASSERT_EQ(connection.passive.receive(1, 0, 8), 0);
    ASSERT_EQ(modify(connection.active, IBV_QPS_ERR), 0);
    EXPECT_EQ(connection.active.state(), IBV_QPS_ERR);
    const ibv_wc flushed = connection.passive.completion();
    EXPECT_EQ(flushed.wr_id, 1U);
    EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_TRUE(eventually([&] { return connection.passive.state() == IBV_QPS_ERR; }));
}

TEST(PreloadQueuePair, DisconnectIsNoError) {
    Connection connection;
    ASSERT_EQ(connection.passive.receive(1, 0, 8), 0);
    connection.disconnect();
    EXPECT_EQ(connection.passive.completion().status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_TRUE(eventually([&] { return connection.active.state() == IBV_QPS_ERR; }));
    EXPECT_TRUE(eventually([&] { return connection.passive.state() == IBV_QPS_ERR; }));
}

// RFC 5040 section 5.5, rule 15: in the order of posting, those that come too late too.
TEST(PreloadQueuePair, RequestsThatComeTooLateCompleteInTheirTurn) {
    constexpr std::uint64_t count = 60;
    constexpr std::size_t size = 1 << 20;  // all together more than TCP's buffers hold
    Connection connection;
    const Side& active = connection.active;
    ASSERT_EQ(active.receive(1000, 0, 8), 0);
    ibv_sge from = active.piece(0, size);
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(active.send(active.request(IBV_WR_SEND, i, &from, 1)), 0);
    connection.disconnect();
    ASSERT_EQ(active.send(active.request(IBV_WR_SEND, count, &from, 1)), 0);
    ASSERT_EQ(active.receive(1001, 0, 8), 0);
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(connection.passive.receive(i, 0, size), 0);
    std::vector<std::uint64_t> sent;
    std::vector<std::uint64_t> received;
    for (std::uint64_t i = 0; i < count + 3; ++i) {
        const ibv_wc one = active.completion();
        EXPECT_EQ(one.status, one.wr_id < count ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR) << one.wr_id;
        (one.wr_id < 1000 ? sent : received).push_back(one.wr_id);
    }
    std::vector<std::uint64_t> posted(count + 1);
    std::iota(posted.begin(), posted.end(), 0);
    EXPECT_EQ(sent, posted);
    EXPECT_EQ(received, (std::vector<std::uint64_t>{1000, 1001}));
}

// rdma_xclient and rdma_xserver of rdma-core ask for none, and post 16 octets so.
TEST(PreloadQueuePair, TakesAFewOctetsInlineFromWhoAskedForNone) {
    Wishes none;
    none.capabilities.max_inline_data = 0;
    Connection connection(none);
    ASSERT_EQ(connection.passive.receive(1, 0, 64), 0);
    ibv_sge from = connection.active.piece(0, 16);
    ibv_send_wr request = connection.active.request(IBV_WR_SEND, 2, &from, 1);
    request.send_flags |= IBV_SEND_INLINE;
    ASSERT_EQ(connection.active.send(request), 0);
    EXPECT_EQ(connection.passive.completion().byte_len, 16U);
}

TEST(PreloadSharedReceives, ServeTheirQueuePairsAndTellWhenTheyRunLow) {
    Wishes shared;
    shared.shared_receives = true;
    Connection connection({}, shared);
    const Side& passive = connection.passive;
    ibv_recv_wr own{};
    ibv_recv_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_recv(passive.qp, &own, &bad), EINVAL);
    EXPECT_EQ(ibv_destroy_srq(passive.srq), EBUSY);
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(passive.receive(i, 8 * i, 8), 0);
    ibv_srq_attr attributes{};
    attributes.srq_limit = 3;
    ASSERT_EQ(ibv_modify_srq(passive.srq, &attributes, IBV_SRQ_LIMIT), 0);
    attributes = {};
    ASSERT_EQ(ibv_query_srq(passive.srq, &attributes), 0);
    EXPECT_EQ(attributes.max_wr, 64U);
    EXPECT_EQ(attributes.max_sge, 4U);
    EXPECT_EQ(attributes.srq_limit, 3U);
    ibv_sge from = connection.active.piece(0, 8);
    for (std::uint64_t i = 0; i < 2; ++i) {
        ASSERT_EQ(connection.active.send(connection.active.request(IBV_WR_SEND, i, &from, 1)), 0);
        EXPECT_EQ(passive.completion().wr_id, i);
    }
    ibv_async_event event = passive.async_event();  // two are left, fewer than three
    EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(event.element.srq, passive.srq);
    ibv_ack_async_event(&event);
    ASSERT_EQ(ibv_query_srq(passive.srq, &attributes), 0);
    EXPECT_EQ(attributes.srq_limit, 0U) << "told once";

    attributes.max_wr = 1;
    EXPECT_EQ(ibv_modify_srq(passive.srq, &attributes, IBV_SRQ_MAX_WR), EINVAL) << "two are posted";
    attributes.max_wr = 2;
    EXPECT_EQ(ibv_modify_srq(passive.srq, &attributes, IBV_SRQ_MAX_WR), 0);
    EXPECT_EQ(passive.receive(9, 0, 8), ENOMEM);

    connection.disconnect();
    event = passive.async_event();
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
    EXPECT_EQ(event.element.qp, passive.qp);
    ibv_ack_async_event(&event);
}

TEST(PreloadBatch, IsPostedAsAWhole) {
    Wishes wishes;
    wishes.builders = true;
    Connection connection(wishes);
    ibv_qp_ex* const qp = ibv_qp_to_qp_ex(connection.active.qp);
    ASSERT_NE(qp, nullptr);
    const Side& active = connection.active;
    const Side& passive = connection.passive;
    std::uint64_t number = 100;
    std::memcpy(connection.passive.memory.data() + 800, &number, sizeof number);
    connection.active.memory[0] = 0xa1;
    connection.active.memory[8] = 0xa2;
    ASSERT_EQ(passive.receive(50, 2048, 64), 0);
    ASSERT_EQ(passive.receive(51, 0, 0), 0);
    std::uint8_t octets[] = {1, 2, 3, 4};

    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    qp->wr_id = 1;
    ibv_wr_rdma_write(qp, passive.mr->rkey, passive.offset(0));
    ibv_wr_set_sge(qp, active.mr->lkey, active.offset(0), 1);
    qp->wr_id = 2;
    ibv_wr_send(qp);
    ibv_data_buf buffers[] = {{octets, 2}, {octets + 2, 2}};
    ibv_wr_set_inline_data_list(qp, 2, buffers);
    std::memset(octets, 0, sizeof octets);  // the batch has its own
    qp->wr_id = 3;
    ibv_wr_rdma_write_imm(qp, passive.mr->rkey, passive.offset(1), htobe32(77));
    ibv_sge pieces[] = {active.piece(0, 1), active.piece(8, 1)};
    ibv_wr_set_sge_list(qp, 2, pieces);
    qp->wr_id = 4;
    ibv_wr_atomic_fetch_add(qp, passive.mr->rkey, passive.offset(800), 11);
    ibv_wr_set_sge(qp, active.mr->lkey, active.offset(1000), 8);
    qp->wr_id = 5;
    ibv_wr_atomic_cmp_swp(qp, passive.mr->rkey, passive.offset(800), 111, 5);
    ibv_wr_set_sge(qp, active.mr->lkey, active.offset(1008), 8);
    qp->wr_id = 6;
    ibv_wr_rdma_read(qp, passive.mr->rkey, passive.offset(800));
    ibv_wr_set_sge(qp, active.mr->lkey, active.offset(1016), 8);
    ASSERT_EQ(ibv_wr_complete(qp), 0);

    const ibv_wc_opcode expected[] = {IBV_WC_RDMA_WRITE, IBV_WC_SEND,      IBV_WC_RDMA_WRITE,
                                      IBV_WC_FETCH_ADD,  IBV_WC_COMP_SWAP, IBV_WC_RDMA_READ};
    for (std::uint64_t i = 0; i < 6; ++i) {
        const ibv_wc done = active.completion();
        EXPECT_EQ(done.wr_id, i + 1);
        EXPECT_EQ(done.status, IBV_WC_SUCCESS);
        EXPECT_EQ(done.opcode, expected[i]);
    }
    EXPECT_EQ(passive.completion().byte_len, 4U);
    EXPECT_EQ(passive.completion().imm_data, htobe32(77));
    EXPECT_EQ(std::memcmp(passive.memory.data(), "\xa1\xa1\xa2", 3), 0);
    EXPECT_EQ(std::memcmp(passive.memory.data() + 2048, "\x01\x02\x03\x04", 4), 0);
    const auto read_back = [&](std::size_t at) {
        std::memcpy(&number, active.memory.data() + at, sizeof number);
        return number;
    };
    EXPECT_EQ(read_back(1000), 100U);
    EXPECT_EQ(read_back(1008), 111U);
    EXPECT_EQ(read_back(1016), 5U);
}

TEST(PreloadBatch, ThatFailsPostsNothing) {
    Wishes wishes;
    wishes.builders = true;
    wishes.capabilities.max_send_wr = 2;
    Connection connection(wishes);
    ibv_qp_ex* const qp = ibv_qp_to_qp_ex(connection.active.qp);
    const auto send = [&](std::uint64_t id, std::size_t pieces) {
        qp->wr_id = id;
        qp->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_send(qp);
        const std::vector<ibv_sge> list(pieces, connection.active.piece(0, 1));
        ibv_wr_set_sge_list(qp, list.size(), list.data());
    };
    ibv_wr_start(qp);
    for (std::uint64_t i = 0; i < 3; ++i) send(i, 1);
    EXPECT_EQ(ibv_wr_complete(qp), ENOMEM);
    ibv_wr_start(qp);
    send(10, 1);
    send(11, 33);
    EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
    ibv_wr_start(qp);
    send(20, 1);
    ibv_wr_abort(qp);
    // What comes next is the first that the peer sees.
    ASSERT_EQ(connection.passive.receive(1, 0, 8), 0);
    ibv_wr_start(qp);
    send(30, 1);
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    EXPECT_EQ(connection.active.completion().wr_id, 30U);
    EXPECT_EQ(connection.passive.completion().wr_id, 1U);
    ibv_wc none{};
    EXPECT_EQ(ibv_poll_cq(connection.active.cq, 1, &none), 0);
}

TEST(PreloadThreads, EachDrivesItsOwnConnection) {
    constexpr int threads = 4;
    constexpr std::uint64_t rounds = 300;
    std::vector<std::unique_ptr<Connection>> connections;
    for (int i = 0; i < threads; ++i) connections.push_back(std::make_unique<Connection>());
    std::vector<std::thread> running;
    std::array<std::uint64_t, threads> wrong{};
    for (int i = 0; i < threads; ++i)
        running.emplace_back([&, i] {
            Connection& mine = *connections[static_cast<std::size_t>(i)];
            for (std::uint64_t round = 0; round < rounds; ++round) {
                const std::uint64_t value = round * 1000 + static_cast<std::uint64_t>(i);
                std::memcpy(mine.active.memory.data(), &value, sizeof value);
                ibv_sge from = mine.active.piece(0, 8);
                bool well = mine.passive.receive(round, 64, 8) == 0 &&
                            mine.active.send(mine.active.request(IBV_WR_SEND, round, &from, 1)) == 0;
                well = well && mine.passive.completion().wr_id == round && mine.active.completion().wr_id == round;
                std::uint64_t arrived = 0;
                std::memcpy(&arrived, mine.passive.memory.data() + 64, sizeof arrived);
                if (!well || arrived != value) ++wrong[static_cast<std::size_t>(i)];
            }
        });
    for (std::thread& thread : running) thread.join();
    for (const std::uint64_t count : wrong) EXPECT_EQ(count, 0U);
}

}  // namespace
