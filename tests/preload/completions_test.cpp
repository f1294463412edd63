#include <atomic>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <thread>

#include "tests/preload/preload_harness.h"

// Completion queues, their channels, and the extended face of them.
namespace {

using preload_test::Connection;
using preload_test::eventually;
using preload_test::Side;
using preload_test::Wishes;

void send_one(const Connection& connection, unsigned flags) {
    ibv_sge from = connection.active.piece(0, 8);
    *reinterpret_cast<std::uint8_t*>(from.addr) = 0x5a;
    ibv_send_wr request = connection.active.request(IBV_WR_SEND, 1, &from, 1);
    request.send_flags = IBV_SEND_SIGNALED | flags;
    ASSERT_EQ(connection.active.send(request), 0);
    ASSERT_EQ(connection.active.completion().status, IBV_WC_SUCCESS);
}

bool is_readable(int descriptor) {
    pollfd wanted{descriptor, POLLIN, 0};
    return poll(&wanted, 1, 0) == 1;
}

/// One event, from whoever drives the device; acknowledged.
void expect_event(const Side& side) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(side.channel, &cq, &context), 0);
    EXPECT_EQ(cq, side.cq);
    EXPECT_EQ(context, &side);
    ibv_ack_cq_events(cq, 1);
}

TEST(PreloadCompletions, EventComesOnceForEachRequest) {
    Wishes waits;
    waits.with_channel = true;
    Connection connection({}, waits);
    const Side& passive = connection.passive;
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(passive.receive(i, 0, 8), 0);
    ASSERT_EQ(ibv_req_notify_cq(passive.cq, 0), 0);
    send_one(connection, 0);
    expect_event(passive);
    EXPECT_EQ(passive.completion().wr_id, 0U);
    // Not armed: the next ones come without an event.
    send_one(connection, 0);
    EXPECT_EQ(passive.completion().wr_id, 1U);
    EXPECT_FALSE(is_readable(passive.channel->fd));
    // Only a solicited one, or a failure, wakes who asked for those.
    ASSERT_EQ(ibv_req_notify_cq(passive.cq, 1), 0);
    send_one(connection, 0);
    EXPECT_EQ(passive.completion().wr_id, 2U);
    EXPECT_FALSE(is_readable(passive.channel->fd));
    ASSERT_EQ(passive.receive(3, 0, 8), 0);
    send_one(connection, IBV_SEND_SOLICITED);
    expect_event(passive);
    EXPECT_EQ(passive.completion().wr_id, 3U);
}

/// The pattern of programs that sleep: poll until nothing is there, ask for an event, wait.
enum class Arrival { before_the_last_poll, before_the_request, after_the_request };

/// No thread polls the receiver's queue: its completion is there once the payload is.
void expect_arrival(const Side& side) {
    const volatile std::uint8_t* const watched = side.memory.data();
    EXPECT_TRUE(eventually([&] { return *watched == 0x5a; }));
}

void check_pattern(Arrival arrival, int solicited_only) {
    Wishes waits;
    waits.with_channel = true;
    Connection connection({}, waits);
    const Side& passive = connection.passive;
    ASSERT_EQ(passive.receive(1, 0, 8), 0);
    const unsigned flags = solicited_only != 0 ? unsigned{IBV_SEND_SOLICITED} : 0U;
    ibv_wc found{};
    if (arrival == Arrival::before_the_last_poll) {
        send_one(connection, flags);
        EXPECT_EQ(passive.completion().wr_id, 1U);
    }
    EXPECT_EQ(ibv_poll_cq(passive.cq, 1, &found), 0);
    if (arrival == Arrival::before_the_request) {
        send_one(connection, flags);
        expect_arrival(passive);
    }
    ASSERT_EQ(ibv_req_notify_cq(passive.cq, solicited_only), 0);
    if (arrival == Arrival::after_the_request) send_one(connection, flags);
    if (arrival == Arrival::before_the_last_poll) {
        EXPECT_FALSE(is_readable(passive.channel->fd));
        return;
    }
    EXPECT_TRUE(eventually([&] { return is_readable(passive.channel->fd); }));
    if (!is_readable(passive.channel->fd)) return;  // else the wait would have no end
    expect_event(passive);
    EXPECT_EQ(passive.completion().wr_id, 1U);
    EXPECT_FALSE(is_readable(passive.channel->fd));
}

TEST(PreloadCompletions, ProgramThatPollsAsksAndWaitsMissesNothing) {
    for (const int solicited_only : {0, 1}) {
        SCOPED_TRACE(solicited_only);
        check_pattern(Arrival::before_the_last_poll, solicited_only);
        check_pattern(Arrival::before_the_request, solicited_only);
        check_pattern(Arrival::after_the_request, solicited_only);
    }
}

/// perftest's latency tests ask before they poll, poll once, and send the next message whatever they have found.
TEST(PreloadCompletions, ProgramThatAsksBeforeItPollsGetsNoEventForWhatItHasTaken) {
    Wishes waits;
    waits.with_channel = true;
    Connection connection({}, waits);
    const Side& passive = connection.passive;
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(passive.receive(i, 0, 8), 0);
    ASSERT_EQ(ibv_req_notify_cq(passive.cq, 0), 0);
    send_one(connection, 0);
    expect_event(passive);
    ASSERT_EQ(ibv_req_notify_cq(passive.cq, 0), 0);
    EXPECT_EQ(passive.completion().wr_id, 0U);
    EXPECT_FALSE(is_readable(passive.channel->fd));
    // It is armed: the next two are one event, and the one that is left after a poll another.
    send_one(connection, 0);
    expect_event(passive);
    connection.passive.memory[0] = 0;
    send_one(connection, 0);
    expect_arrival(passive);
    ASSERT_EQ(ibv_req_notify_cq(passive.cq, 0), 0);
    EXPECT_TRUE(eventually([&] { return is_readable(passive.channel->fd); })) << "for the one after the event";
    EXPECT_EQ(passive.completion().wr_id, 1U);
    expect_event(passive);
    EXPECT_EQ(passive.completion().wr_id, 2U);
}

TEST(PreloadCompletions, UnsolicitedOneThatWaitsIsNoSolicitedEvent) {
    Wishes waits;
    waits.with_channel = true;
    Connection connection({}, waits);
    const Side& passive = connection.passive;
    ASSERT_EQ(passive.receive(1, 0, 8), 0);
    ASSERT_EQ(passive.receive(2, 0, 8), 0);
    send_one(connection, 0);
    expect_arrival(passive);
    ASSERT_EQ(ibv_req_notify_cq(passive.cq, 1), 0);
    EXPECT_FALSE(is_readable(passive.channel->fd));
    send_one(connection, IBV_SEND_SOLICITED);
    expect_event(passive);
    EXPECT_EQ(passive.completion().wr_id, 1U);
    EXPECT_EQ(passive.completion().wr_id, 2U);
}

// perftest counts credits that the peer writes into its memory. Where they are used up it sleeps for an event of the
// queue of its Sends, of which hardly one asks for a completion.
TEST(PreloadCompletions, ProgramThatWaitsForMemoryIsWokenByAWrite) {
    Wishes waits;
    waits.with_channel = true;
    Connection connection(waits, {});
    const Side& active = connection.active;
    ASSERT_EQ(connection.passive.receive(1, 0, 8), 0);
    ASSERT_EQ(ibv_req_notify_cq(active.cq, 0), 0);
    ibv_sge from = active.piece(0, 8);
    ibv_send_wr silent = active.request(IBV_WR_SEND, 1, &from, 1);
    silent.send_flags = 0;
    ASSERT_EQ(active.send(silent), 0);
    EXPECT_EQ(connection.passive.completion().wr_id, 1U);
    EXPECT_FALSE(is_readable(active.channel->fd));
    ibv_sge credit = connection.passive.piece(0, 4);
    ibv_send_wr write = connection.passive.request(IBV_WR_RDMA_WRITE, 2, &credit, 1);
    write.wr.rdma = {active.offset(4096), active.mr->rkey};
    ASSERT_EQ(connection.passive.send(write), 0);
    EXPECT_EQ(connection.passive.completion().wr_id, 2U);
    EXPECT_TRUE(eventually([&] { return is_readable(active.channel->fd); }));
    if (!is_readable(active.channel->fd)) return;  // else the wait would have no end
    expect_event(active);
    ibv_wc found{};
    EXPECT_EQ(ibv_poll_cq(active.cq, 1, &found), 0);
}

TEST(PreloadCompletions, SleeperIsWokenByTheServiceThread) {
    Wishes waits;
    waits.with_channel = true;
    Connection connection({}, waits);
    const Side& passive = connection.passive;
    ASSERT_EQ(passive.receive(1, 0, 8), 0);
    ASSERT_EQ(ibv_req_notify_cq(passive.cq, 0), 0);
    std::atomic<bool> woken{false};
    std::thread sleeper([&] {
        expect_event(passive);
        woken = true;
    });
    // Posted and not polled: nobody but the service thread sends and receives it.
    ibv_sge from = connection.active.piece(0, 8);
    ASSERT_EQ(connection.active.send(connection.active.request(IBV_WR_SEND, 2, &from, 1)), 0);
    EXPECT_TRUE(eventually([&] { return woken.load(); }));
    sleeper.join();
    EXPECT_EQ(passive.completion().wr_id, 1U);
    EXPECT_EQ(connection.active.completion().wr_id, 2U);
}

TEST(PreloadCompletions, MemoryChangesWhileTheProgramOnlyLooks) {
    Connection connection;
    const Side& passive = connection.passive;
    connection.active.memory[0] = 1;
    ibv_sge from = connection.active.piece(0, 1);
    ibv_send_wr write = connection.active.request(IBV_WR_RDMA_WRITE, 1, &from, 1);
    write.wr.rdma = {passive.offset(4096), passive.mr->rkey};
    ASSERT_EQ(connection.active.send(write), 0);
    const volatile std::uint8_t* const watched = &passive.memory[4096];
    EXPECT_TRUE(eventually([&] { return *watched == 1; }));
    EXPECT_EQ(connection.active.completion().status, IBV_WC_SUCCESS);
}

TEST(PreloadCompletions, ChannelMayBeNonBlocking) {
    Wishes waits;
    waits.with_channel = true;
    Side side(waits);
    fcntl(side.channel->fd, F_SETFL, O_NONBLOCK);
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(side.channel, &cq, &context), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(ibv_destroy_comp_channel(side.channel), EBUSY);
}

TEST(PreloadCompletions, DestroyingWaitsForAcknowledgements) {
    Wishes waits;
    waits.with_channel = true;
    Connection connection({}, waits);
    const Side& passive = connection.passive;
    ibv_cq* const other = ibv_create_cq(passive.context, 8, nullptr, passive.channel, 0);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(ibv_destroy_cq(passive.cq), EBUSY);  // its queue pair is there
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = other;
    attributes.cap = {4, 4, 1, 1, 0};
    attributes.qp_type = IBV_QPT_RC;
    ibv_qp* const qp = ibv_create_qp(passive.pd, &attributes);
    ASSERT_NE(qp, nullptr);
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    ASSERT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE), 0);
    ASSERT_EQ(ibv_req_notify_cq(other, 0), 0);
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_recv(qp, &receive, &bad), 0);
    state.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE), 0);
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(passive.channel, &cq, &context), 0);
    ASSERT_EQ(cq, other);
    ASSERT_EQ(ibv_destroy_qp(qp), 0);
    std::atomic<bool> gone{false};
    std::thread destroyer([&] {
        EXPECT_EQ(ibv_destroy_cq(other), 0);
        gone = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(gone);
    ibv_ack_cq_events(other, 1);
    destroyer.join();
    EXPECT_TRUE(gone);
}

// rping asks on while its main thread tidies up, and ends with an error if it is told of one.
TEST(PreloadCompletions, WhoAsksADestroyedEventChannelWaits) {
    rdma_event_channel* const channel = rdma_create_event_channel();
    ASSERT_NE(channel, nullptr);
    std::atomic<int> returned = 0;
    const auto ask = [&] {
        rdma_cm_event* event = nullptr;
        static_cast<void>(rdma_get_cm_event(channel, &event));
        ++returned;
    };
    std::thread early(ask);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    rdma_destroy_event_channel(channel);
    std::thread late(ask);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_EQ(returned, 0);
    for (std::thread* const thread : {&early, &late}) {
        pthread_cancel(thread->native_handle());
        thread->join();
    }

    rdma_event_channel* const other = rdma_create_event_channel();
    ASSERT_NE(other, nullptr);
    fcntl(other->fd, F_SETFL, fcntl(other->fd, F_GETFL) | O_NONBLOCK);
    const int descriptor = other->fd;
    rdma_destroy_event_channel(other);
    EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(other, &event), -1);
    EXPECT_EQ(errno, EBADF);
}

TEST(PreloadCompletions, EventsOfWhatIsGoneAreForgotten) {
    Wishes waits;
    waits.with_channel = true;
    Side side(waits);
    {
        ibv_cq* const cq = ibv_create_cq(side.context, 8, nullptr, side.channel, 0);
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = cq;
        attributes.cap = {4, 4, 1, 1, 0};
        attributes.qp_type = IBV_QPT_RC;
        ibv_qp* const qp = ibv_create_qp(side.pd, &attributes);
        ASSERT_NE(qp, nullptr);
        ibv_qp_attr state{};
        state.qp_state = IBV_QPS_INIT;
        ASSERT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE), 0);
        ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
        ibv_recv_wr receive{};
        ibv_recv_wr* bad = nullptr;
        ASSERT_EQ(ibv_post_recv(qp, &receive, &bad), 0);
        state.qp_state = IBV_QPS_ERR;
        ASSERT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE), 0);
        EXPECT_TRUE(eventually([&] { return is_readable(side.channel->fd); }));
        ASSERT_EQ(ibv_destroy_qp(qp), 0);
        ASSERT_EQ(ibv_destroy_cq(cq), 0);
    }
    EXPECT_FALSE(is_readable(side.channel->fd));
    fcntl(side.channel->fd, F_SETFL, O_NONBLOCK);
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(side.channel, &cq, &context), -1);
}

TEST(PreloadCompletions, QueueCanBeResized) {
    Connection connection;
    EXPECT_EQ(ibv_resize_cq(connection.passive.cq, 1024), 0);
    EXPECT_EQ(connection.passive.cq->cqe, 1024);
    EXPECT_EQ(ibv_resize_cq(connection.passive.cq, 0), EINVAL);
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(connection.passive.receive(i, 0, 8), 0);
    for (int i = 0; i < 3; ++i) send_one(connection, 0);
    EXPECT_TRUE(eventually([&] {
        ibv_wc none{};
        ibv_poll_cq(connection.active.cq, 1, &none);               // drives
        return ibv_resize_cq(connection.passive.cq, 2) == EINVAL;  // three wait
    }));
    EXPECT_EQ(ibv_resize_cq(connection.passive.cq, 3), 0);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(connection.passive.completion().wr_id, i);
}

TEST(PreloadCompletions, OverflowIsAnEventAndTheEndOfItsQueuePairs) {
    Wishes narrow;
    narrow.completions = 2;
    Connection connection({}, narrow);
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(connection.passive.receive(i, 0, 8), 0);
    for (int i = 0; i < 3; ++i) {
        ibv_sge from = connection.active.piece(0, 8);
        ASSERT_EQ(connection.active.send(connection.active.request(IBV_WR_SEND, 1, &from, 1)), 0);
    }
    ibv_async_event event = connection.passive.async_event();
    EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
    EXPECT_EQ(event.element.cq, connection.passive.cq);
    ibv_ack_async_event(&event);
    EXPECT_TRUE(eventually([&] { return connection.passive.state() == IBV_QPS_ERR; }));
}

TEST(PreloadCompletions, BadWishesAreRefused) {
    Side side({});
    EXPECT_EQ(ibv_create_cq(side.context, 0, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(side.context, -1, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(side.context, 8, nullptr, nullptr, 1), nullptr);  // one vector: 0
    EXPECT_EQ(errno, EINVAL);
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 8;
    attributes.wc_flags = IBV_WC_EX_WITH_TM_INFO;
    EXPECT_EQ(ibv_create_cq_ex(side.context, &attributes), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

std::int64_t now_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

TEST(PreloadCompletions, AreReadFieldByField) {
    Wishes wishes;
    wishes.fields = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_IMM |
                    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    Connection connection({}, wishes);
    auto* const cq = reinterpret_cast<ibv_cq_ex*>(connection.passive.cq);
    ibv_poll_cq_attr attributes{};
    EXPECT_EQ(ibv_start_poll(cq, &attributes), ENOENT);
    for (std::uint64_t i = 0; i < 2; ++i) ASSERT_EQ(connection.passive.receive(40 + i, 0, 100), 0);
    const std::int64_t steady_before = now_ns(CLOCK_MONOTONIC);
    const std::int64_t wall_before = now_ns(CLOCK_REALTIME);
    send_one(connection, 0);
    send_one(connection, 0);
    ASSERT_TRUE(eventually([&] { return ibv_start_poll(cq, &attributes) == 0; }));
    std::uint64_t stamp = 0;
    for (std::uint64_t i = 0; i < 2; ++i) {
        if (i > 0) {
            ASSERT_TRUE(eventually([&] { return ibv_next_poll(cq) == 0; }));
        }
        EXPECT_EQ(cq->wr_id, 40 + i);
        EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
        EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
        EXPECT_EQ(ibv_wc_read_byte_len(cq), 8U);
        EXPECT_EQ(ibv_wc_read_qp_num(cq), connection.passive.qp->qp_num);
        EXPECT_EQ(ibv_wc_read_wc_flags(cq), 0U);
        EXPECT_GE(ibv_wc_read_completion_ts(cq), stamp);
        stamp = ibv_wc_read_completion_ts(cq);
        EXPECT_GE(static_cast<std::int64_t>(stamp), steady_before);
        EXPECT_LE(static_cast<std::int64_t>(stamp), now_ns(CLOCK_MONOTONIC));
        constexpr std::int64_t clocks_apart_ns = 1'000'000;  // they are read one after the other
        EXPECT_GE(static_cast<std::int64_t>(ibv_wc_read_completion_wallclock_ns(cq)), wall_before - clocks_apart_ns);
        EXPECT_LE(static_cast<std::int64_t>(ibv_wc_read_completion_wallclock_ns(cq)),
                  now_ns(CLOCK_REALTIME) + clocks_apart_ns);
    }
    EXPECT_EQ(ibv_next_poll(cq), ENOENT);
    ibv_end_poll(cq);
    EXPECT_EQ(ibv_start_poll(cq, &attributes), ENOENT);
}

}  // namespace
