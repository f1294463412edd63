#include <array>
#include <ctime>
#include <limits>

#include "harness.h"

// Completion queues, shared receive queues, resizing.
namespace iwarp::test {
namespace {

TEST(CompletionQueues, EventComesOnceForOneRequest) {
    Two two;
    two.connect();
    for (std::uint64_t id = 1; id <= 8; ++id) ASSERT_EQ(two.server.receive(id, std::vector<Sge>{}), Posted::ok);
    const auto say = [&](bool solicited) {
        SendRequest request;
        request.solicited = solicited;
        ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
        two.run();
    };
    say(false);
    EXPECT_TRUE(two.server.events().empty());
    // One that waits already is an event at once.
    two.server.receive_queue->request_event();
    EXPECT_EQ(two.server.event().kind, Event::Kind::completion);
    say(false);
    EXPECT_TRUE(two.server.events().empty());
    std::array<Completion, 8> polled;
    EXPECT_EQ(two.server.receive_queue->poll(polled), 2U);
    two.server.receive_queue->request_event();
    EXPECT_TRUE(two.server.events().empty());
    say(false);
    say(false);
    const Event event = two.server.event();
    EXPECT_EQ(event.kind, Event::Kind::completion);
    EXPECT_EQ(event.completion_queue, two.server.receive_queue);
    EXPECT_TRUE(two.server.events().empty());
    // Solicited ones alone, of those that wait and of those that come.
    two.server.receive_queue->request_event(true);
    say(false);
    EXPECT_TRUE(two.server.events().empty());
    say(true);
    EXPECT_EQ(two.server.event().kind, Event::Kind::completion);
    // The one that has raised an event raises no other; the next one does, and so does one that came unasked for.
    two.server.receive_queue->request_event(true);
    EXPECT_TRUE(two.server.events().empty());
    say(true);
    EXPECT_EQ(two.server.event().kind, Event::Kind::completion);
    say(true);
    EXPECT_TRUE(two.server.events().empty());
    two.server.receive_queue->request_event(true);
    EXPECT_EQ(two.server.event().kind, Event::Kind::completion);
    EXPECT_EQ(two.server.receive_queue->size(), 6U);
}

// IBTA vol. 1, 11.4.2.2: what was asked for stands until it has come.
TEST(CompletionQueues, AWishForAnyIsNotNarrowedByOneForSolicited) {
    Two two;
    two.connect();
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    two.server.receive_queue->request_event();
    two.server.receive_queue->request_event(true);
    ASSERT_EQ(two.client.pair->post_send({}), Posted::ok);
    two.run();
    EXPECT_EQ(two.server.event().kind, Event::Kind::completion);
}

TEST(CompletionQueues, FailuresWakeWhoWaitsForSolicited) {
    Two two;
    two.connect();
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    two.server.receive_queue->request_event(true);
    two.server.pair->abort();
    const auto events = two.server.events();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].kind, Event::Kind::completion);
    EXPECT_EQ(events[1].kind, Event::Kind::disconnected);
}

TEST(CompletionQueues, OverflowEndsItsQueuePairs) {
    Options options;
    Two two(options);
    const auto small = two.server.device->create_completion_queue(2);
    two.server.pair = two.server.device->create_queue_pair(two.server.domain, two.server.send_queue, small);
    const auto bystander = two.server.device->create_queue_pair(two.server.domain, small, two.server.receive_queue);
    two.connect();
    for (std::uint64_t id = 1; id <= 4; ++id) ASSERT_EQ(two.server.receive(id, std::vector<Sge>{}), Posted::ok);
    for (int i = 0; i < 3; ++i) two.client.pair->post_send({});
    two.run();
    EXPECT_TRUE(small->overflowed());
    const auto events = two.server.events();
    ASSERT_GE(events.size(), 1U);
    EXPECT_TRUE(std::ranges::any_of(events, [&](const Event& event) {
        return event.kind == Event::Kind::completion_overflow && event.completion_queue == small;
    }));
    EXPECT_EQ(two.server.pair->state(), QueuePairState::error);
    EXPECT_EQ(bystander->state(), QueuePairState::error);
    EXPECT_EQ(ids(Side::take(*small)), "1 2");
    // RFC 5040 section 4.8: a local catastrophic error, layer 0, type 0, code 0.
    const auto told = two.client.events();
    ASSERT_GE(told.size(), 1U);
    EXPECT_EQ(told[0].kind, Event::Kind::terminated);
    EXPECT_EQ(told[0].terminate->layer, 0);
    EXPECT_EQ(told[0].terminate->type, 0);
    EXPECT_EQ(told[0].terminate->code, 0);
}

TEST(CompletionQueues, ResizeKeepsWhatWaits) {
    Two two;
    two.connect();
    const std::size_t many = 40;
    for (std::uint64_t id = 0; id < many; ++id) {
        ASSERT_EQ(two.server.receive(id, std::vector<Sge>{}), Posted::ok);
        two.client.pair->post_send({});
    }
    two.run();
    CompletionQueue& queue = *two.server.receive_queue;
    ASSERT_EQ(queue.size(), many);
    EXPECT_THROW(queue.resize(many - 1), Error);
    std::vector<Completion> first(7);
    EXPECT_EQ(queue.poll(first), 7U);
    queue.resize(many - 7);
    EXPECT_EQ(queue.capacity(), many - 7);
    queue.resize(1000);
    for (std::uint64_t id = many; id < 2 * many; ++id) {
        ASSERT_EQ(two.server.receive(id, std::vector<Sge>{}), Posted::ok);
        two.client.pair->post_send({});
    }
    two.run();
    const auto rest = two.server.received();
    ASSERT_EQ(rest.size(), 2 * many - 7);
    for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].id, i + 7);
}

TEST(CompletionQueues, NeedARoom) {
    Two two;
    EXPECT_THROW(two.client.device->create_completion_queue(0), Error);
}

TEST(SharedReceiveQueues, ServeSeveralQueuePairs) {
    Two two;
    const auto shared = two.server.device->create_shared_receive_queue(two.server.domain, 64, 2);
    Memory heard = zeros(8 * 100);
    const auto sink = two.server.share(heard);
    for (std::uint64_t id = 0; id < 8; ++id) {
        const std::vector<Sge> pieces{piece(*sink, 100 * id, 100)};
        ASSERT_EQ(shared->post_receive({id, pieces}), Posted::ok);
    }
    std::vector<std::shared_ptr<QueuePair>> near;
    std::vector<std::shared_ptr<QueuePair>> far;
    for (int i = 0; i < 3; ++i) {
        two.client.pair = two.client.make_pair();
        two.server.pair = two.server.make_pair({}, shared);
        two.connect();
        near.push_back(two.client.pair);
        far.push_back(two.server.pair);
    }
    EXPECT_EQ(far[0]->post_receive({1, {}}), Posted::invalid);
    for (std::uint8_t i = 0; i < 6; ++i) {
        std::byte octet{i};
        const std::vector<Sge> pieces{{&octet, 1, 0}};
        SendRequest request = send_of(i, pieces);
        request.inline_data = true;
        ASSERT_EQ(near[i % 3U]->post_send(request), Posted::ok);
        two.run();
    }
    const auto received = two.server.received();
    ASSERT_EQ(ids(received), "0 1 2 3 4 5");
    for (std::uint8_t i = 0; i < 6; ++i) {
        EXPECT_EQ(received[i].queue_pair, far[i % 3U]->number());
        EXPECT_EQ(heard[100U * i], std::byte{i});
    }
    EXPECT_EQ(shared->size(), 2U);
    // One queue pair's end leaves the receives to the others.
    far[0]->abort();
    EXPECT_TRUE(two.server.received().empty());
    EXPECT_EQ(shared->size(), 2U);
    near[1]->post_send({});
    two.run();
    EXPECT_EQ(ids(two.server.received()), "6");
}

// What a post costs must not depend on who else is connected to the device.
TEST(SharedReceiveQueues, TakeAReceiveAsFastAmongManyConnections) {
    Options options;
    Two two(options);
    const auto shared = two.server.device->create_shared_receive_queue(two.server.domain, 10'000);
    const auto cost_ns = [&] {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (int round = 0; round < 20; ++round) {
            timespec begun{};
            timespec done{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
            for (std::uint64_t id = 0; id < 100; ++id) EXPECT_EQ(shared->post_receive({id, {}}), Posted::ok);
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &done);
            least = std::min(least, (done.tv_sec - begun.tv_sec) * second_ns + done.tv_nsec - begun.tv_nsec);
        }
        return least;
    };
    const std::int64_t alone_ns = cost_ns();
    std::vector<std::shared_ptr<QueuePair>> pairs;
    for (int i = 0; i < 1000; ++i) {
        pairs.push_back(two.client.pair = two.client.make_pair());
        pairs.push_back(two.server.pair = two.server.make_pair({}, shared));
        two.connect();
    }
    EXPECT_LT(cost_ns(), 20 * alone_ns);
}

TEST(SharedReceiveQueues, TellOnceWhenTheyRunLow) {
    Two two;
    const auto shared = two.server.device->create_shared_receive_queue(two.server.domain, 64);
    two.server.pair = two.server.make_pair({}, shared);
    for (std::uint64_t id = 0; id < 5; ++id) ASSERT_EQ(shared->post_receive({id, {}}), Posted::ok);
    two.connect();
    shared->arm_limit(3);
    const auto say = [&] {
        two.client.pair->post_send({});
        two.run();
    };
    say();
    say();
    EXPECT_TRUE(two.server.events().empty());
    say();  // two are left, fewer than three
    const Event event = two.server.event();
    EXPECT_EQ(event.kind, Event::Kind::receive_limit);
    EXPECT_EQ(event.shared_receive_queue, shared);
    say();
    EXPECT_TRUE(two.server.events().empty());
    EXPECT_THROW(shared->resize(0), Error);
    shared->resize(1);
    EXPECT_EQ(shared->post_receive({9, {}}), Posted::queue_full);
    shared->resize(2);
    EXPECT_EQ(shared->post_receive({9, {}}), Posted::ok);
}

TEST(SharedReceiveQueues, BelongToADomainOfTheirOwn) {
    Two two;
    const auto domain = two.server.device->allocate_protection_domain();
    const auto shared = two.server.device->create_shared_receive_queue(domain, 8);
    Memory heard = zeros(10);
    const auto sink = domain->register_memory(heard, Access::local_write);
    two.server.pair = two.server.make_pair({}, shared);
    const std::vector<Sge> pieces{piece(*sink)};
    ASSERT_EQ(shared->post_receive({1, pieces}), Posted::ok);
    two.connect();
    Memory data = text("ten octets");
    const std::vector<Sge> inlined{{data.data(), 10, 0}};
    SendRequest request = send_of(1, inlined);
    request.inline_data = true;
    two.client.pair->post_send(request);
    two.run();
    EXPECT_EQ(ids(two.server.received()), "1");
    EXPECT_EQ(heard, data);
}

TEST(QueuePairs, ResizeWhileConnected) {
    Options options;
    options.client_pair.max_send = 2;
    options.server_pair.max_receive = 2;
    Two two(options);
    two.connect();
    QueuePair& pair = *two.client.pair;
    EXPECT_EQ(pair.post_send(send_of(1, {})), Posted::ok);
    EXPECT_EQ(pair.post_send(send_of(2, {})), Posted::ok);
    EXPECT_EQ(pair.post_send(send_of(3, {})), Posted::queue_full);
    EXPECT_THROW(pair.resize(1, 1), Error);
    pair.resize(100, 1);
    for (std::uint64_t id = 3; id <= 100; ++id) EXPECT_EQ(pair.post_send(send_of(id, {})), Posted::ok);
    EXPECT_EQ(pair.post_send(send_of(101, {})), Posted::queue_full);
    two.server.pair->resize(1, 100);
    for (std::uint64_t id = 1; id <= 100; ++id) EXPECT_EQ(two.server.receive(id, std::vector<Sge>{}), Posted::ok);
    two.run();
    const auto sent = two.client.sent();
    ASSERT_EQ(sent.size(), 100U);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(sent[i].id, i + 1);
    EXPECT_EQ(two.server.received().size(), 100U);
    pair.resize(1, 1);
    EXPECT_EQ(pair.post_send(send_of(1, {})), Posted::ok);
    EXPECT_EQ(pair.post_send(send_of(2, {})), Posted::queue_full);
}

TEST(QueuePairs, OptionsHaveRanges) {
    Two two;
    const auto make = [&](const QueuePairOptions& options) { two.client.make_pair(options); };
    EXPECT_THROW(make({.max_send = 0}), Error);
    EXPECT_THROW(make({.max_receive = 0}), Error);
    EXPECT_THROW(make({.max_pieces = 33}), Error);
    EXPECT_THROW(make({.max_inline = 4097}), Error);
    EXPECT_NO_THROW(make({.max_pieces = 32, .max_inline = 4096}));
    Side other(two.network, "other");
    EXPECT_THROW(two.client.device->create_queue_pair(other.domain, two.client.send_queue, two.client.send_queue),
                 Error);
}

TEST(QueuePairs, AsManyAsTheDeviceWasOpenedFor) {
    Options options;
    options.device.max_queue_pairs = 2;
    Two two(options);
    EXPECT_NO_THROW(two.client.make_pair());  // gone at once
    const auto second = two.client.make_pair();
    EXPECT_THROW(two.client.make_pair(), Error);
}

}  // namespace
}  // namespace iwarp::test
