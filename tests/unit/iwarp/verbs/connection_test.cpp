#include "harness.h"
#include "iwarp/verbs/device_impl.h"
#include "iwarp/verbs/queue_pair.h"

// Connecting, accepting, rejecting, closing, and what time does to all of it. RFC 5044 section 7, RFC 6581.
namespace iwarp::test {
namespace {

std::string kinds(const std::vector<Event>& events) {
    std::string all;
    for (const Event& event : events) {
        if (!all.empty()) all.append(", ");
        all.append(name_of(event.kind));
    }
    return all;
}

std::string string_of(std::span<const std::byte> octets) {
    return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

TEST(Connecting, PrivateDataTravelsBothWays) {
    Two two;
    ConnectionOptions options;
    options.private_data = text("may I come in?");
    options.ird = 7;
    options.ord = 9;
    two.client.pair->connect("server", Two::port, options);
    EXPECT_EQ(two.client.pair->state(), QueuePairState::idle);
    EXPECT_THROW(two.client.pair->connect("server", Two::port), Error) << "it is connecting";
    EXPECT_THROW(two.client.pair->reset(), Error);
    two.run();
    Event asked = two.server.event();
    ASSERT_EQ(asked.kind, Event::Kind::connect_request);
    EXPECT_EQ(string_of(asked.request->private_data()), "may I come in?");
    EXPECT_EQ(asked.request->ird(), 7U);
    EXPECT_EQ(asked.request->ord(), 9U);
    EXPECT_FALSE(asked.request->peer_to_peer());
    EXPECT_EQ(asked.request->peer().find("client"), 0U);
    options.private_data = text("you may");
    options.ird = 5;
    options.ord = 20;
    asked.request->accept(two.server.pair, options);
    EXPECT_THROW(asked.request->accept(two.server.pair, options), Error) << "the queue pair is connecting";
    EXPECT_EQ(string_of(asked.request->private_data()), "may I come in?");
    two.run();
    const Event answered = two.client.event();
    EXPECT_EQ(answered.kind, Event::Kind::established);
    EXPECT_EQ(answered.queue_pair, two.client.pair);
    EXPECT_EQ(string_of(answered.private_data), "you may");
    EXPECT_EQ(two.server.event().kind, Event::Kind::established);
    // RFC 6581 section 9.1: 9 outstanding were requested, 5 will be served; of 20, 7 will be.
    EXPECT_EQ(two.client.pair->agreement()->ord, 5U);
    EXPECT_EQ(two.client.pair->agreement()->ird, 7U);
    EXPECT_EQ(two.server.pair->agreement()->ord, 7U);
    EXPECT_EQ(two.server.pair->agreement()->ird, 5U);
    EXPECT_EQ(two.client.pair->agreement()->revision, 2U);
    EXPECT_TRUE(two.client.pair->agreement()->enhanced);
    EXPECT_TRUE(two.client.pair->agreement()->crc);
    EXPECT_EQ(two.client.pair->peer(), "server:4791");
    EXPECT_EQ(two.client.device->counters().connections_opened, 1U);
}

TEST(Connecting, RejectionBringsItsPrivateData) {
    Two two;
    two.client.pair->connect("server", Two::port);
    two.run();
    two.server.event().request->reject(text("not you"));
    two.run();
    const Event event = two.client.event();
    EXPECT_EQ(event.kind, Event::Kind::rejected);
    EXPECT_EQ(string_of(event.private_data), "not you");
    EXPECT_EQ(two.client.pair->state(), QueuePairState::idle);
    EXPECT_TRUE(two.server.events().empty());
    // It may try again at once, with what it had posted.
    two.connect();
}

TEST(Connecting, AnUnansweredRequestIsRejected) {
    Two two;
    two.client.pair->connect("server", Two::port);
    two.run();
    two.server.event();  // and the request in it is dropped
    two.run();
    EXPECT_EQ(two.client.event().kind, Event::Kind::rejected);
}

TEST(Connecting, AListenerThatGoesRejectsWhatItHas) {
    Two two;
    two.client.pair->connect("server", Two::port);
    two.run();
    Event asked = two.server.event();
    two.listener.reset();
    two.run();
    EXPECT_EQ(two.client.event().kind, Event::Kind::rejected);
    // Too late: the queue pair is notified and stays as it was.
    asked.request->accept(two.server.pair, {});
    two.run();
    EXPECT_EQ(two.server.event().kind, Event::Kind::connect_failed);
    EXPECT_EQ(two.server.pair->state(), QueuePairState::idle);
    two.client.pair->connect("server", Two::port);
    two.run();
    const Event refused = two.client.event();
    EXPECT_EQ(refused.kind, Event::Kind::connect_failed);
    EXPECT_NE(refused.text.find("server:4791"), std::string::npos) << refused.text;
}

TEST(Connecting, ReceivesPostedBeforehandAreKept) {
    Two two;
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    two.client.pair->connect("nowhere", 1);
    two.run();
    EXPECT_EQ(two.client.event().kind, Event::Kind::connect_failed);
    two.connect();
    two.client.pair->post_send({});
    two.run();
    EXPECT_EQ(ids(two.server.received()), "1");
}

TEST(Connecting, OptionsHaveRanges) {
    Two two;
    const auto with = [&](auto change) {
        ConnectionOptions options;
        change(options);
        two.client.pair->connect("server", 1, options);
    };
    EXPECT_THROW(with([](auto& options) { options.revision = 3; }), Error);
    EXPECT_THROW(with([](auto& options) { options.revision = 0; }), Error);
    EXPECT_THROW(with([](auto& options) { options.peer_to_peer = true, options.revision = 1; }), Error);
    EXPECT_THROW(with([](auto& options) { options.ird = 16384; }), Error);
    EXPECT_THROW(with([](auto& options) { options.ord = 16384; }), Error);
    EXPECT_THROW(with([](auto& options) { options.max_ulpdu = 127; }), Error);
    EXPECT_THROW(with([](auto& options) { options.max_ulpdu = 64769; }), Error);
    EXPECT_THROW(with([](auto& options) { options.private_data.resize(509); }), Error);
    EXPECT_THROW(with([](auto& options) { options.reply_timeout = std::chrono::milliseconds(0); }), Error);
    EXPECT_NO_THROW(with([](auto& options) { options.private_data.resize(512), options.revision = 1; }));
}

/// A whole request, of a connection that waits for the answer from then on.
Memory plain_request() {
    Memory request = text("MPA ID Req Frame");
    for (const int octet : {0x40, 1, 0, 0}) request.push_back(static_cast<std::byte>(octet));
    return request;
}

TEST(Connecting, WhoIsBeyondTheLimitIsTurnedAway) {
    Options options;
    options.device.max_connections = 2;
    Two two(options);
    const auto asking = [&] {
        auto stranger = two.network->connect_raw("server", Two::port);
        stranger->send(plain_request());
        two.run();
        return stranger;
    };
    auto one = asking();
    auto other = asking();
    auto third = two.network->connect_raw("server", Two::port);
    two.run();
    EXPECT_FALSE(one->peer_reset());
    EXPECT_FALSE(other->peer_reset());
    EXPECT_TRUE(third->peer_reset() || third->peer_closed());
    EXPECT_EQ(two.server.device->counters().connections_refused, 1U);
    EXPECT_THROW(two.server.pair->connect("client", 1), Error);
    one->reset();
    two.run();
    auto fourth = two.network->connect_raw("server", Two::port);
    two.run();
    EXPECT_FALSE(fourth->peer_reset());
}

// Silent connections must not keep others out.
TEST(Connecting, BeyondTheLimitTheOldestSilentOneGivesWay) {
    Options options;
    options.device.max_connections = 3;
    Two two(options);
    auto asked = two.network->connect_raw("server", Two::port);
    asked->send(plain_request());
    two.run();
    auto oldest = two.network->connect_raw("server", Two::port);
    oldest->send(text("MPA ID"));
    two.run();
    auto younger = two.network->connect_raw("server", Two::port);
    two.run();
    auto last = two.network->connect_raw("server", Two::port);
    two.run();
    EXPECT_FALSE(asked->peer_reset());
    EXPECT_TRUE(oldest->peer_reset());
    EXPECT_FALSE(younger->peer_reset());
    EXPECT_FALSE(last->peer_reset() || last->peer_closed());
    EXPECT_EQ(two.server.device->counters().connections_refused, 0U);
    EXPECT_EQ(two.server.device->counters().handshakes_failed, 1U);
}

TEST(Connecting, SilentAndWordyStrangersAreDropped) {
    Two two;
    auto silent = two.network->connect_raw("server", Two::port);
    auto slow = two.network->connect_raw("server", Two::port);
    auto wordy = two.network->connect_raw("server", Two::port);
    slow->send(text("MPA ID Req Fra"));
    wordy->send(text("GET / HTTP/1.1\r\n"));
    two.run();
    EXPECT_TRUE(wordy->peer_closed() || wordy->peer_reset());
    EXPECT_EQ(two.server.device->counters().handshakes_failed, 1U);
    two.network->advance(9'900'000'000);
    two.run(0);
    EXPECT_FALSE(silent->peer_closed() || silent->peer_reset());
    EXPECT_FALSE(slow->peer_closed() || slow->peer_reset());
    two.network->advance(200'000'000);
    two.run(0);
    EXPECT_TRUE(silent->peer_closed() || silent->peer_reset());
    EXPECT_TRUE(slow->peer_closed() || slow->peer_reset());
    EXPECT_EQ(two.server.device->counters().handshakes_failed, 3U);
    EXPECT_TRUE(two.server.events().empty());
}

TEST(Connecting, TheReplyIsNotWaitedForForEver) {
    Two two;
    two.network->listen_raw("quiet", 99);
    two.client.pair->connect("quiet", 99);
    two.run();
    two.network->advance(4'900'000'000);
    two.run(0);
    EXPECT_TRUE(two.client.events().empty());
    two.network->advance(200'000'000);
    two.run(0);
    const Event event = two.client.event();
    EXPECT_EQ(event.kind, Event::Kind::connect_failed);
    EXPECT_NE(event.text.find("quiet:99"), std::string::npos) << event.text;
    EXPECT_NE(event.text.find("5 s"), std::string::npos) << event.text;
    EXPECT_EQ(two.client.pair->state(), QueuePairState::idle);
}

TEST(Connecting, GivenUpByTheUser) {
    Two two;
    two.client.pair->connect("server", Two::port);
    two.client.pair->disconnect();
    EXPECT_EQ(two.client.event().kind, Event::Kind::connect_failed);
    two.run();
    EXPECT_TRUE(two.server.events().empty());
    two.connect();
}

TEST(Connecting, HandlesMayBeDroppedAtAnyTime) {
    Two two;
    two.client.pair->connect("server", Two::port);
    two.client.pair.reset();
    two.run();
    EXPECT_TRUE(two.client.events().empty());
    two.client.pair = two.client.make_pair();
    two.client.pair->connect("server", Two::port);
    two.run();
    std::vector<Event> events = two.server.events();
    ASSERT_FALSE(events.empty());
    events.back().request->accept(two.server.pair, {});
    two.server.pair.reset();
    two.run();
    EXPECT_FALSE(two.client.events().empty());
    EXPECT_NE(two.client.pair->state(), QueuePairState::connected);
    // The device outlives its last handle for as long as anything stands on it.
    two.client.pair = two.client.make_pair();
    two.client.device.reset();
    two.client.domain.reset();
    two.client.pair.reset();
}

TEST(Closing, WhatIsWithTheTransportArrivesAlthoughTheQueuePairGoes) {
    Options options;
    options.impairment.delay_ns = 1'000'000;
    Two two(options);
    two.connect();
    Memory message = pattern(100'000), place = zeros(100'000);
    const auto source = two.client.share(message);
    const auto sink = two.server.share(place);
    ASSERT_EQ(two.server.receive(1, piece(*sink)), Posted::ok);
    const std::vector<Sge> pieces{piece(*source)};
    ASSERT_EQ(two.client.pair->post_send({.id = 2, .pieces = pieces}), Posted::ok);
    while (two.client.send_queue->size() == 0) two.client.device->progress();
    // As many programs do: disconnect, and do not wait for it.
    two.client.pair->disconnect();
    two.client.pair.reset();
    two.run();
    const auto received = two.server.received();
    ASSERT_EQ(received.size(), 1U);
    EXPECT_EQ(received.front().status, Status::success);
    EXPECT_EQ(place, message);
    const Event event = two.server.event();
    EXPECT_EQ(event.kind, Event::Kind::disconnected);
    EXPECT_EQ(event.text, "");
}

TEST(Closing, WhatIsPostedIsStillSent) {
    Options options;
    options.impairment.window = 20000;
    options.impairment.delay_ns = 1'000'000;
    Two two(options);
    two.connect();
    Memory data = pattern(500000);
    Memory far = zeros(data.size());
    Memory near = zeros(1000);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    const auto back = two.client.share(near);
    const std::vector<Sge> pieces{piece(*source)};
    const std::vector<Sge> into{piece(*back)};
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    ASSERT_EQ(two.server.receive(2, std::vector<Sge>{}), Posted::ok);
    two.client.pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset()));
    two.client.pair->post_send(read_of(2, into, sink->stag(), sink->first_offset()));
    two.client.pair->post_send(send_of(3, {}));
    two.client.pair->disconnect();
    EXPECT_EQ(two.client.pair->state(), QueuePairState::closing);
    EXPECT_EQ(two.client.pair->post_send({}), Posted::wrong_state);
    two.run(10 * second_ns);
    EXPECT_EQ(ids(two.client.sent()), "1 2 3");
    EXPECT_EQ(ids(two.server.received()), "1 2~");
    EXPECT_TRUE(far == data);
    EXPECT_TRUE(std::equal(near.begin(), near.end(), data.begin()));
    const Event ours = two.client.event();
    const Event theirs = two.server.event();
    EXPECT_EQ(ours.kind, Event::Kind::disconnected);
    EXPECT_EQ(theirs.kind, Event::Kind::disconnected);
    EXPECT_EQ(ours.text, "");
    EXPECT_EQ(theirs.text, "");
    EXPECT_EQ(two.client.pair->state(), QueuePairState::error);
    EXPECT_EQ(two.server.pair->state(), QueuePairState::error);
}

TEST(Closing, ThePeersPostedSendsStillArrive) {
    Options options;
    options.impairment.delay_ns = 1'000'000;
    Two two(options);
    two.connect();
    two.client.pair->post_send(write_of(0, {}, 0, 0));
    two.run();
    two.client.sent();
    Memory data = pattern(300000);
    Memory far = zeros(data.size());
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    const std::vector<Sge> pieces{piece(*source)};
    two.client.pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset()));
    two.client.pair->disconnect();
    two.run(10 * second_ns);
    EXPECT_EQ(ids(two.client.sent()), "1");
    EXPECT_TRUE(far == data);
}

TEST(Closing, AQueuePairIsUsedAgain) {
    Two two;
    for (int round = 0; round < 3; ++round) {
        two.connect();
        ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
        ASSERT_EQ(two.server.receive(2, std::vector<Sge>{}), Posted::ok);
        two.client.pair->post_send({});
        two.run();
        EXPECT_EQ(ids(two.server.received()), "1");
        EXPECT_THROW(two.client.pair->reset(), Error);
        two.client.pair->disconnect();
        two.run();
        EXPECT_EQ(ids(two.server.received()), "2~");
        two.client.events();
        two.server.events();
        two.client.pair->reset();
        two.server.pair->reset();
        EXPECT_EQ(two.client.pair->state(), QueuePairState::idle);
        EXPECT_FALSE(two.client.pair->agreement());
        EXPECT_EQ(two.client.pair->peer(), "");
    }
    EXPECT_EQ(two.server.pair->counters().fpdus_received, 3U);
    EXPECT_EQ(two.client.device->counters().connections_opened, 3U);
}

TEST(Closing, ResetForgetsEventsOfTheLastConnection) {
    Two two;
    two.connect();
    two.client.pair->abort();
    EXPECT_EQ(two.client.pair->state(), QueuePairState::error);
    two.client.pair->reset();
    EXPECT_TRUE(two.client.events().empty());
}

TEST(Closing, AbortFlushesAndResets) {
    Two two;
    two.connect();
    ASSERT_EQ(two.client.receive(4, std::vector<Sge>{}), Posted::ok);
    two.client.pair->post_send(send_of(1, {}));
    two.client.pair->abort();
    EXPECT_EQ(ids(two.client.sent()), "1~");
    EXPECT_EQ(ids(two.client.received()), "4~");
    EXPECT_EQ(two.client.event().kind, Event::Kind::disconnected);
    two.run();
    EXPECT_EQ(two.server.event().kind, Event::Kind::disconnected);
}

TEST(Closing, APeerThatDoesNotCloseIsReset) {
    Two two;
    two.network->listen_raw("stubborn", 7);
    two.client.pair->connect("stubborn", 7);
    two.run();
    auto peer = two.network->accept_raw("stubborn", 7);
    ASSERT_TRUE(peer);
    EXPECT_EQ(peer->take().size(), 24U);  // RFC 5044 section 7.1.1, RFC 6581 section 9: 20 and 4
    Memory reply = text("MPA ID Rep Frame");
    // C, S; revision 2; four octets: IRD 1, ORD 1.
    for (const int octet : {0x50, 2, 0, 4, 0, 1, 0, 1}) reply.push_back(static_cast<std::byte>(octet));
    peer->send(reply);
    two.run();
    EXPECT_EQ(two.client.event().kind, Event::Kind::established);
    EXPECT_EQ(two.client.pair->agreement()->ord, 1U);
    two.client.pair->disconnect();
    two.run();
    EXPECT_TRUE(peer->peer_closed());
    EXPECT_EQ(two.client.pair->state(), QueuePairState::closing);
    two.network->advance(4'900'000'000);
    two.run(0);
    EXPECT_FALSE(peer->peer_reset());
    two.network->advance(200'000'000);
    two.run(0);
    EXPECT_TRUE(peer->peer_reset());
    const Event event = two.client.event();
    EXPECT_EQ(event.kind, Event::Kind::disconnected);
    EXPECT_NE(event.text.find("did not close within 5 s"), std::string::npos) << event.text;
}

// The time-out is for a peer that takes nothing, not for one that is slow.
TEST(Closing, WhatIsPostedHasAllTheTimeThatItNeeds) {
    Options options;
    options.impairment.window = 4000;
    options.impairment.delay_ns = 1'000'000;  // 2 MB/s
    options.client.close_timeout = std::chrono::milliseconds(50);
    Two two(options);
    two.connect();
    Memory data = pattern(500'000);
    Memory far = zeros(500'000);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    ASSERT_EQ(two.client.pair->post_send(write_of(1, {piece(*source)}, sink->stag(), sink->first_offset())),
              Posted::ok);
    two.client.pair->disconnect();
    two.run(second_ns);
    EXPECT_TRUE(far == data);
    EXPECT_EQ(ids(two.client.sent()), "1");
    const Event event = two.client.event();
    EXPECT_EQ(event.kind, Event::Kind::disconnected);
    EXPECT_EQ(event.text, "");
}

// A Terminate after what is under way has all the time that it needs, too.
TEST(Closing, ATerminateFollowsHoweverLongThePeerTakes) {
    Options options;
    options.impairment.window = 4000;
    options.impairment.delay_ns = 1'000'000;  // 2 MB/s
    options.client.close_timeout = std::chrono::milliseconds(50);
    Two two(options);
    two.connect();
    Memory data = pattern(400'000);
    Memory far = zeros(400'000);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    ASSERT_EQ(two.client.pair->post_send(write_of(1, {piece(*source)}, sink->stag(), sink->first_offset())),
              Posted::ok);
    ASSERT_EQ(two.server.pair->post_send(write_of(2, {}, 0, 0)), Posted::ok);
    two.run(10'000'000);
    two.client.pair->impl().fail("a fault of this side");
    two.run(second_ns);
    ASSERT_TRUE(two.server.pair->terminate());
    EXPECT_FALSE(two.server.pair->terminate()->sent_by_us);
}

TEST(Closing, FinInTheMiddleOfAnFpduIsALoss) {
    Two two;
    two.network->listen_raw("hasty", 7);
    two.client.pair->connect("hasty", 7);
    two.run();
    auto peer = two.network->accept_raw("hasty", 7);
    Memory reply = text("MPA ID Rep Frame");
    for (const int octet : {0x50, 2, 0, 4, 0, 1, 0, 1, 0, 40, 0x41}) reply.push_back(static_cast<std::byte>(octet));
    peer->send(reply);
    peer->close();
    two.run();
    EXPECT_EQ(kinds(two.client.events()), "established, disconnected");
    EXPECT_TRUE(peer->peer_reset());
}

TEST(Events, NeverPileUp) {
    Two two;
    // What the same queue pair reports again and again is not read,
    for (int i = 0; i < 5; ++i) {
        two.client.pair->connect("nowhere", 1);
        two.run();
    }
    EXPECT_EQ(kinds(two.client.events()), "connect failed");
    // and strangers that ask and go leave nothing.
    const Memory request = plain_request();
    for (int i = 0; i < 5; ++i) {
        auto stranger = two.network->connect_raw("server", Two::port);
        stranger->send(request);
        two.run();
        stranger->reset();
        two.run();
    }
    EXPECT_TRUE(two.server.device->impl().events.empty()) << "next_event() would have dropped them, if asked";
    EXPECT_TRUE(two.server.events().empty());
    auto last = two.network->connect_raw("server", Two::port);
    last->send(request);
    two.run();
    EXPECT_EQ(kinds(two.server.events()), "connect request");
}

// RFC 6581 section 9.2 and 9.3.
TEST(PeerToPeer, TheInitiatorSpeaksFirst) {
    Options options;
    options.client.peer_to_peer = true;
    options.impairment.delay_ns = 1'000'000;
    Two two(options);
    two.client.pair->connect("server", Two::port, options.client);
    two.run();
    Event asked = two.server.event();
    EXPECT_TRUE(asked.request->peer_to_peer());
    asked.request->accept(two.server.pair, {});
    asked.request.reset();
    two.server.device->progress();
    ASSERT_EQ(two.server.pair->state(), QueuePairState::connected);
    // Posted at once; leaves when the ready-to-receive message has come, without a word of the client's program.
    two.server.pair->post_send({});
    ASSERT_EQ(two.client.receive(1, std::vector<Sge>{}), Posted::ok);
    two.run();
    EXPECT_EQ(ids(two.client.received()), "1");
    EXPECT_EQ(kinds(two.server.events()), "established, communication established");
    EXPECT_TRUE(two.server.pair->agreement()->peer_to_peer);
    EXPECT_EQ(two.client.pair->counters().fpdus_sent, 1U);
    EXPECT_TRUE(two.client.sent().empty());
}

TEST(PeerToPeer, WithoutItTheResponderWaits) {
    Two two;
    two.connect();
    two.server.pair->post_send({});
    ASSERT_EQ(two.client.receive(1, std::vector<Sge>{}), Posted::ok);
    two.run();
    EXPECT_TRUE(two.client.received().empty());
    two.client.pair->post_send(write_of(1, {}, 0, 0));
    two.run();
    EXPECT_EQ(ids(two.client.received()), "1");
}

TEST(PeerToPeer, NoCommonReadyMessageEndsInATerminate) {
    Two two;
    two.network->listen_raw("picky", 7);
    ConnectionOptions options;
    options.peer_to_peer = true;
    two.client.pair->connect("picky", 7, options);
    two.run();
    auto peer = two.network->accept_raw("picky", 7);
    peer->take();
    Memory reply = text("MPA ID Rep Frame");
    // A set, but none of B, C, D.
    for (const int octet : {0x50, 2, 0, 4, 0x80, 1, 0, 1}) reply.push_back(static_cast<std::byte>(octet));
    peer->send(reply);
    two.run();
    const Event event = two.client.event();
    EXPECT_EQ(event.kind, Event::Kind::connect_failed);
    EXPECT_EQ(two.client.pair->state(), QueuePairState::idle);
    const Memory fpdu = peer->take();
    // Length 22; DDP last, version 1; RDMAP version 1, Terminate; queue 2, MSN 1, offset 0; layer 2, type 0, code 7.
    Memory expected;
    for (const int octet : {0, 22, 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0x20, 0x07, 0, 0})
        expected.push_back(static_cast<std::byte>(octet));
    ASSERT_EQ(fpdu.size(), 28U);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), fpdu.begin()));
    EXPECT_TRUE(peer->peer_closed());
    // RFC 6581 section 9.1: more outstanding reads are requested than are served.
    options.peer_to_peer = false;
    options.ird = 3;
    two.client.pair->connect("picky", 7, options);
    two.run();
    peer = two.network->accept_raw("picky", 7);
    peer->take();
    reply.resize(16);
    for (const int octet : {0x50, 2, 0, 4, 0, 1, 0, 4}) reply.push_back(static_cast<std::byte>(octet));
    peer->send(reply);
    two.run();
    EXPECT_EQ(two.client.event().kind, Event::Kind::connect_failed);
    const Memory second = peer->take();
    ASSERT_EQ(second.size(), 28U);
    EXPECT_EQ(second[20], std::byte{0x20});
    EXPECT_EQ(second[21], std::byte{0x06});
}

TEST(Agreements, CrcIsOnIfOneSideWantsIt) {
    for (const bool client : {false, true}) {
        for (const bool server : {false, true}) {
            Options options;
            options.client.crc = client;
            options.server.crc = server;
            Two two(options);
            two.connect();
            EXPECT_EQ(two.client.pair->agreement()->crc, client || server);
            EXPECT_EQ(two.server.pair->agreement()->crc, client || server);
        }
    }
}

TEST(Agreements, UlpdusFitTheSegmentsOfThePath) {
    const auto agreed = [](std::uint32_t emss, bool markers, std::uint32_t wanted, bool align = false) {
        Options options;
        options.impairment.emss = emss;
        options.server.markers = markers;
        options.client.max_ulpdu = wanted;
        options.client.align = align;
        Two two(options);
        two.connect();
        return two.client.pair->agreement()->max_ulpdu;
    };
    // RFC 5044 section 4.5: 1448 - 6 - 0; 1448 - 6 - 4 * 3.
    EXPECT_EQ(agreed(1448, false, 0), 1442U);
    EXPECT_EQ(agreed(1448, true, 0), 1430U);
    EXPECT_EQ(agreed(65483, false, 0), 64768U);
    EXPECT_EQ(agreed(1448, false, 64768), 64768U);
    EXPECT_EQ(agreed(1448, false, 64768, true), 1442U);
    EXPECT_EQ(agreed(1448, false, 512), 512U);
    EXPECT_EQ(agreed(20, false, 0), 128U);
}

}  // namespace
}  // namespace iwarp::test
