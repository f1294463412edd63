#include "harness.h"

// What goes wrong, which side is notified, and how everything outstanding ends. RFC 5040 sections 4.8, 5.4, 6.2.
namespace iwarp::test {
namespace {

std::string words(const std::optional<Terminate>& why) {
    if (!why) return "none";
    return (why->sent_by_us ? "sent " : "got ") + std::to_string(why->layer) + "/" + std::to_string(why->type) + "/" +
           std::to_string(why->code);
}

std::string kind_names(const std::vector<Event>& events) {
    std::string all;
    for (const Event& event : events) {
        if (!all.empty()) all.append(", ");
        all.append(name_of(event.kind));
    }
    return all;
}

/// The client's first FPDU is with the server, which may send from then on.
void open_gate(Two& two) {
    two.client.pair->post_send(write_of(0, {}, 0, 0));
    two.run();
    two.client.sent();
    two.server.events();
}

TEST(Faults, BothSidesAreToldAndEverythingIsFlushed) {
    Two two;
    two.connect();
    open_gate(two);
    Memory near = zeros(64);
    const auto sink = two.client.share(near);
    const std::vector<Sge> pieces{piece(*sink)};
    for (std::uint64_t id = 1; id <= 3; ++id) {
        ASSERT_EQ(two.client.receive(10 + id, piece(*sink)), Posted::ok);
        ASSERT_EQ(two.server.receive(20 + id, std::vector<Sge>{}), Posted::ok);
    }
    two.client.pair->post_send(read_of(1, pieces, 0x12345600, 0));  // no such STag
    two.client.pair->post_send(send_of(2, {}));
    two.client.pair->post_send(read_of(3, pieces, 0x12345600, 0));
    two.run();

    EXPECT_EQ(kind_names(two.client.events()), "terminated, disconnected");
    EXPECT_EQ(kind_names(two.server.events()), "terminated, disconnected");
    EXPECT_EQ(words(two.client.pair->terminate()), "got 0/1/0");
    EXPECT_EQ(words(two.server.pair->terminate()), "sent 0/1/0");
    EXPECT_NE(two.client.pair->terminate()->text.find("invalid STag"), std::string::npos)
        << two.client.pair->terminate()->text;
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "1! 2~ 3~");
    EXPECT_EQ(sent[0].status, Status::remote_access);
    EXPECT_EQ(sent[0].operation, CompletedOperation::read);
    EXPECT_EQ(ids(two.client.received()), "11~ 12~ 13~");
    EXPECT_EQ(ids(two.server.received()), "21~ 22~ 23~");
    EXPECT_EQ(two.client.pair->state(), QueuePairState::error);
    EXPECT_EQ(two.server.pair->state(), QueuePairState::error);
    EXPECT_EQ(two.server.device->counters().terminates_sent, 1U);
    EXPECT_EQ(two.client.device->counters().terminates_received, 1U);
    EXPECT_EQ(two.client.device->counters().terminates_sent, 0U);
    // The Write that opened the gate and three requests, of which the first was too much; the Terminate.
    EXPECT_EQ(two.client.pair->counters().fpdus_sent, 4U);
    EXPECT_EQ(two.server.pair->counters().fpdus_received, 1U);
    EXPECT_EQ(two.server.pair->counters().fpdus_sent, 1U);
    EXPECT_EQ(two.client.pair->counters().fpdus_received, 1U);
    EXPECT_EQ(two.client.pair->post_send(send_of(1, {})), Posted::wrong_state);
    EXPECT_EQ(two.client.receive(1, std::vector<Sge>{}), Posted::wrong_state);
}

TEST(Faults, NoReceiveForASend) {
    Two two;
    two.connect();
    two.client.pair->post_send(send_of(1, {}));
    two.run();
    EXPECT_EQ(words(two.server.pair->terminate()), "sent 1/2/2");
    EXPECT_EQ(words(two.client.pair->terminate()), "got 1/2/2");
    // The Send had left: it was complete (RFC 5040 section 5.5, rule 14).
    EXPECT_EQ(ids(two.client.sent()), "1");
}

TEST(Faults, ASendTooLongForItsReceive) {
    Two two;
    two.connect();
    Memory data = pattern(100);
    Memory heard = zeros(64);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(heard);
    ASSERT_EQ(two.server.receive(1, piece(*sink)), Posted::ok);
    ASSERT_EQ(two.server.receive(2, piece(*sink)), Posted::ok);
    const std::vector<Sge> pieces{piece(*source)};
    two.client.pair->post_send(send_of(1, pieces));
    two.run();
    EXPECT_EQ(words(two.client.pair->terminate()), "got 1/2/5");
    const auto received = two.server.received();
    ASSERT_EQ(ids(received), "1! 2~");
    EXPECT_EQ(received[0].status, Status::local_length);
    EXPECT_EQ(heard, zeros(64));
}

TEST(Faults, AReceiveIntoMemoryThatIsNotOurs) {
    Two two;
    two.connect();
    Memory data = pattern(10);
    const auto source = two.client.share(data);
    ASSERT_EQ(two.server.receive(1, Sge{data.data(), 10, source->stag()}), Posted::ok);
    const std::vector<Sge> pieces{piece(*source)};
    two.client.pair->post_send(send_of(1, pieces));
    two.run();
    EXPECT_EQ(two.server.received().at(0).status, Status::local_protection);
    EXPECT_EQ(words(two.client.pair->terminate()), "got 0/0/0");
}

TEST(Faults, ASendFromMemoryThatIsNotOurs) {
    Two two;
    two.connect();
    open_gate(two);
    Memory data = pattern(100);
    const auto source = two.client.share(data);
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    const std::vector<Sge> pieces{piece(*source, 0, 50), {data.data() + 51, 50, source->stag()}};
    two.client.pair->post_send(send_of(1, {}));
    two.client.pair->post_send(send_of(2, pieces));
    two.client.pair->post_send(send_of(3, {}));
    two.run();
    // What was before it is done, and done at the peer.
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "1 2! 3~");
    EXPECT_EQ(sent[1].status, Status::local_protection);
    EXPECT_EQ(ids(two.server.received()), "1");
    EXPECT_EQ(words(two.server.pair->terminate()), "got 0/0/0");
    EXPECT_EQ(words(two.client.pair->terminate()), "sent 0/0/0");
}

TEST(Faults, AReadIntoMemoryThatMayNotBeWritten) {
    Two two;
    two.connect();
    Memory near = zeros(8);
    const auto sink = two.client.share(near, Access::remote_read);
    const std::vector<Sge> pieces{piece(*sink)};
    two.client.pair->post_send(read_of(1, pieces, 1, 0));
    two.run();
    EXPECT_EQ(two.client.sent().at(0).status, Status::local_protection);
}

// RFC 5044 section 7.1.2(4).
TEST(Faults, AResponderSpeaksOnlyWhenSpokenTo) {
    Two two;
    two.connect();
    Memory data = pattern(8);
    const std::vector<Sge> pieces{{data.data(), 8, 77}};
    ASSERT_EQ(two.server.receive(5, std::vector<Sge>{}), Posted::ok);
    two.server.pair->post_send(send_of(1, pieces));
    two.run();
    EXPECT_TRUE(two.server.sent().empty()) << "held back until the client has sent something";
    two.client.pair->post_send(write_of(1, {}, 0, 0));
    two.run();
    EXPECT_EQ(two.server.sent().at(0).status, Status::local_protection);
    EXPECT_EQ(words(two.client.pair->terminate()), "got 0/0/0");
}

TEST(Faults, CorruptionEndsInACrcTerminate) {
    int terminated = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Options options;
        options.impairment.chunk = 2000;
        options.impairment.corrupt = 0.02;
        options.impairment.seed = seed;
        Two two(options);
        two.client.pair->connect("server", Two::port);
        two.run();
        for (Event& event : two.server.events())
            if (event.request) event.request->accept(two.server.pair, {});
        two.run();
        if (two.client.pair->state() != QueuePairState::connected) continue;  // the start frames were hit
        two.client.pair->post_send(write_of(0, {}, 0, 0));
        Memory data = pattern(200000, seed);
        Memory far = zeros(data.size());
        const auto source = two.client.share(data);
        const auto sink = two.server.share(far);
        const std::vector<Sge> pieces{piece(*source)};
        two.client.pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset()));
        two.run(20 * second_ns);
        if (two.server.pair->state() == QueuePairState::connected) {
            EXPECT_TRUE(far == data);
            continue;
        }
        // Strict: nothing of the damaged FPDU has reached memory, nor of what followed it.
        const auto wrong = std::ranges::mismatch(far, data).in1 - far.begin();
        EXPECT_TRUE(std::all_of(far.begin() + wrong, far.end(), [](std::byte octet) { return octet == std::byte{}; }));
        if (!two.server.pair->terminate()) continue;
        // Where the length was hit it may be the marker-and-length error, or nothing until the time is over.
        if (two.server.pair->terminate()->sent_by_us && words(two.server.pair->terminate()) == "sent 2/0/2") {
            ++terminated;
            EXPECT_EQ(two.server.pair->counters().crc_errors, 1U);
            EXPECT_EQ(two.client.pair->state(), QueuePairState::error);
        }
    }
    EXPECT_GE(terminated, 20);
}

TEST(Faults, LossOfTheConnectionIsTold) {
    Two two;
    two.connect();
    open_gate(two);
    Memory near = zeros(8);
    const auto sink = two.client.share(near);
    const std::vector<Sge> pieces{piece(*sink)};
    Memory far = zeros(8);
    const auto source = two.server.share(far);
    ASSERT_EQ(two.client.receive(9, std::vector<Sge>{}), Posted::ok);
    two.client.pair->post_send(read_of(1, pieces, source->stag(), source->first_offset()));
    two.client.pair->post_send(send_of(2, {}));
    two.client.device->progress();
    two.server.pair.reset();  // an open connection is reset
    two.run();
    const auto event = two.client.event();
    EXPECT_EQ(event.kind, Event::Kind::disconnected);
    EXPECT_NE(event.text.find("reset"), std::string::npos) << event.text;
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "1! 2~");
    EXPECT_EQ(sent[0].status, Status::connection_lost);
    EXPECT_EQ(ids(two.client.received()), "9~");
    EXPECT_EQ(two.client.pair->state(), QueuePairState::error);
    EXPECT_FALSE(two.client.pair->terminate());
}

TEST(Faults, TheFirstErrorWins) {
    Two two;
    two.connect();
    open_gate(two);
    Memory data = pattern(8);
    const auto source = two.client.share(data);
    const std::vector<Sge> pieces{piece(*source)};
    two.client.pair->post_send(write_of(1, pieces, 0x7700, 0));  // 1/1/0
    two.client.pair->post_send(send_of(2, {}));                  // 1/2/2
    two.client.pair->post_send(write_of(3, pieces, 0x7700, 0));
    two.run();
    EXPECT_EQ(words(two.client.pair->terminate()), "got 1/1/0");
    EXPECT_EQ(two.server.device->counters().terminates_sent, 1U);
}

TEST(Faults, BothSidesMayFailAtOnce) {
    Options options;
    options.impairment.delay_ns = 1'000'000;
    Two two(options);
    two.connect();
    open_gate(two);
    Memory data = pattern(8);
    const auto from_client = two.client.share(data);
    const auto from_server = two.server.share(data);
    const std::vector<Sge> up{piece(*from_client)};
    const std::vector<Sge> down{piece(*from_server)};
    two.client.pair->post_send(write_of(1, up, 0x7700, 0));
    two.server.pair->post_send(write_of(2, down, 0x7700, 0));
    two.run(20 * second_ns);
    EXPECT_EQ(words(two.client.pair->terminate()), "sent 1/1/0");
    EXPECT_EQ(words(two.server.pair->terminate()), "sent 1/1/0");
    EXPECT_EQ(two.client.pair->state(), QueuePairState::error);
    EXPECT_EQ(two.server.pair->state(), QueuePairState::error);
    EXPECT_EQ(kind_names(two.client.events()), "terminated, disconnected");
}

TEST(Faults, MemoryTakenAwayWhileItLeaves) {
    Options options;
    options.impairment.window = 10000;
    options.impairment.delay_ns = 1'000'000;
    Two two(options);
    two.connect();
    open_gate(two);
    constexpr std::size_t size = 1 << 20;
    Memory near = zeros(size);
    auto far = std::make_unique<Memory>(pattern(size));
    const Memory expected = *far;
    const auto sink = two.client.share(near);
    auto source = two.server.share(*far);
    const std::vector<Sge> pieces{piece(*sink)};
    two.client.pair->post_send(read_of(1, pieces, source->stag(), source->first_offset()));
    two.network->advance(1'500'000);
    two.run(0);
    two.network->advance(1'500'000);
    two.run(0);
    // The answer is on its way, part of it made ready: it must leave whole FPDUs, and be read no more.
    source.reset();
    std::ranges::fill(*far, std::byte{0xee});
    far.reset();
    two.run(20 * second_ns);
    EXPECT_EQ(words(two.client.pair->terminate()), "got 0/1/0");
    EXPECT_EQ(two.client.sent().at(0).status, Status::remote_access);
    const auto wrong = static_cast<std::size_t>(std::ranges::mismatch(near, expected).in1 - near.begin());
    EXPECT_GT(wrong, 0U);
    EXPECT_LT(wrong, size);
    EXPECT_TRUE(std::all_of(near.begin() + static_cast<std::ptrdiff_t>(wrong), near.end(),
                            [](std::byte octet) { return octet == std::byte{}; }));
}

TEST(Faults, MemoryTakenAwayWhileItArrives) {
    for (const bool strict : {true, false}) {
        Options options;
        options.impairment.delay_ns = 1'000'000;
        options.impairment.window = 30000;
        options.impairment.chunk = 1000;
        options.server.strict = strict;
        options.server.crc = options.client.crc = strict;
        Two two(options);
        two.connect();
        open_gate(two);
        Memory data = pattern(1 << 20);
        const auto source = two.client.share(data);
        auto far = std::make_unique<Memory>(data.size());
        auto sink = two.server.share(*far);
        const std::vector<Sge> pieces{piece(*source)};
        two.client.pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset()));
        two.run(3'000'000);
        sink.reset();
        far.reset();
        two.run(20 * second_ns);
        EXPECT_EQ(words(two.client.pair->terminate()), "got 1/1/0") << strict;
        EXPECT_EQ(two.client.sent().at(0).status, Status::remote_access);
    }
}

}  // namespace
}  // namespace iwarp::test
