#include "harness.h"

// What comes before what: RFC 5040 section 5.5, RFC 7306 section 5.4.
namespace iwarp::test {
namespace {

/// Octets that the network saw pass from `from`, from the first FPDU on.
struct Tap {
    Tap(MemoryNetwork& of, const std::string& from) : network(of) {
        network.tap([this, from](const MemoryNetwork::Passed& passed) {
            if (passed.from == from) octets.insert(octets.end(), passed.octets.begin(), passed.octets.end());
        });
    }
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;
    ~Tap() { network.tap({}); }
    /// RDMAP opcodes of the FPDUs in order, as hexadecimal digits; without markers.
    std::string opcodes() const {
        std::string all;
        for (std::size_t at = 0; at + 4 <= octets.size();) {
            const auto length =
                std::to_integer<std::size_t>(octets[at]) << 8 | std::to_integer<std::size_t>(octets[at + 1]);
            all.push_back("0123456789abcdef"[std::to_integer<unsigned>(octets[at + 3]) & 15U]);
            at += (2 + length + 3) / 4 * 4 + 4;
        }
        return all;
    }
    MemoryNetwork& network;
    Memory octets;
};

TEST(Order, RequestsCompleteInTheOrderOfPosting) {
    Two two;
    two.connect();
    Memory near = zeros(1 << 20);
    Memory far = pattern(1 << 20);
    const auto sink = two.client.share(near);
    const auto source = two.server.share(far);
    const std::vector<Sge> pieces{piece(*sink)};
    for (int i = 0; i < 4; ++i) ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    // The Sends are done long before the Reads, but do not complete before them (rule 15).
    QueuePair& pair = *two.client.pair;
    for (std::uint64_t id = 1; id <= 8; ++id)
        pair.post_send(id % 2 == 1 ? read_of(id, pieces, source->stag(), source->first_offset()) : send_of(id, {}));
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1 2 3 4 5 6 7 8");
}

TEST(Order, SendIsDeliveredAfterTheWritesBeforeIt) {
    Options options;
    options.impairment.delay_ns = 1'000'000;
    options.impairment.chunk = 1000;
    options.impairment.random_chunks = true;
    Two two(options);
    two.connect();
    Memory data = pattern(300000);
    Memory far = zeros(data.size());
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    const std::vector<Sge> pieces{piece(*source)};
    two.client.pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset()));
    two.client.pair->post_send(send_of(2, {}));
    std::vector<Completion> received;
    for (int i = 0; i < 1000 && received.empty(); ++i) {
        two.network->advance(50'000);
        two.run(0);
        received = two.server.received();
    }
    ASSERT_EQ(ids(received), "1");
    EXPECT_TRUE(far == data);
}

TEST(Order, FenceWaitsForReads) {
    Two two;
    two.connect();
    Tap tap(*two.network, "client");
    Memory near = zeros(8);
    Memory far = pattern(200000);
    const auto sink = two.client.share(near);
    const auto source = two.server.share(far);
    const std::vector<Sge> pieces{piece(*sink)};
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    // Without the fence the Write would overtake the answer and the Read could see what it wrote.
    QueuePair& pair = *two.client.pair;
    Memory fresh(8, std::byte{0x77});
    const auto other = two.client.share(fresh);
    const std::vector<Sge> data{piece(*other)};
    pair.post_send(read_of(1, pieces, source->stag(), source->first_offset()));
    SendRequest write = write_of(2, data, source->stag(), source->first_offset());
    write.fence = true;
    pair.post_send(write);
    two.client.device->progress();
    EXPECT_EQ(tap.opcodes(), "1");
    two.run();
    EXPECT_EQ(tap.opcodes(), "10");
    EXPECT_EQ(ids(two.client.sent()), "1 2");
    EXPECT_NE(near, fresh);
    EXPECT_TRUE(std::equal(fresh.begin(), fresh.end(), far.begin()));
}

TEST(Order, NoMoreReadsAndAtomicsThanOrd) {
    Options options;
    options.client.ord = 2;
    Two two(options);
    two.connect();
    EXPECT_EQ(two.client.pair->agreement()->ord, 2U);
    EXPECT_EQ(two.server.pair->agreement()->ird, 2U);
    Tap tap(*two.network, "client");
    alignas(8) std::uint64_t near[5] = {};
    alignas(8) std::uint64_t far[2] = {1, 77};
    const auto sink = two.client.domain->register_memory(std::as_writable_bytes(std::span{near}), everything());
    const auto source = two.server.domain->register_memory(std::as_writable_bytes(std::span{far}), everything());
    QueuePair& pair = *two.client.pair;
    for (std::uint64_t id = 0; id < 5; ++id) {
        const std::vector<Sge> pieces{piece(*sink, 8 * id, 8)};
        // A Read may see what a later atomic did (RFC 5040 section 5.5, rule 20): they look at different places.
        SendRequest request = read_of(id, pieces, source->stag(), source->first_offset() + 8);
        if (id % 2 == 1) {
            request.remote_offset -= 8;
            request.operation = Operation::fetch_add;
            request.operand = 1;
        }
        ASSERT_EQ(pair.post_send(request), Posted::ok);
    }
    two.client.device->progress();
    EXPECT_EQ(tap.opcodes(), "1a");
    two.run();
    EXPECT_EQ(tap.opcodes(), "1a1a1");
    EXPECT_EQ(ids(two.client.sent()), "0 1 2 3 4");
    EXPECT_EQ(near[0], 77U);
    EXPECT_EQ(near[1], 1U);
    EXPECT_EQ(near[2], 77U);
    EXPECT_EQ(near[3], 2U);
    EXPECT_EQ(near[4], 77U);
}

TEST(Order, WithoutOrdNoReads) {
    Options options;
    options.client.ord = 0;
    Two two(options);
    two.connect();
    EXPECT_EQ(two.client.pair->post_send(read_of(1, {}, 1, 0)), Posted::invalid);
    EXPECT_EQ(two.client.pair->post_send(write_of(1, {}, 1, 0)), Posted::ok);
}

// Answers to the peer and requests of one's own share the stream: neither waits until the other has nothing to send.
TEST(Order, AnswersAndSendsTakeTurns) {
    Two two;
    two.connect();
    Tap tap(*two.network, "server");
    constexpr std::size_t size = 20 * 64000;
    Memory near = zeros(size);
    Memory far = pattern(size);
    const auto sink = two.client.share(near);
    const auto source = two.server.share(far);
    const std::vector<Sge> to{piece(*sink)};
    const std::vector<Sge> from{piece(*source)};
    ASSERT_EQ(two.client.receive(1, piece(*sink)), Posted::ok);
    two.client.pair->post_send(read_of(1, to, source->stag(), source->first_offset()));
    two.client.device->progress();
    two.server.device->progress();
    two.server.pair->post_send(send_of(2, from));
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1");
    EXPECT_EQ(ids(two.server.sent()), "2");
    const std::string opcodes = tap.opcodes();
    EXPECT_EQ(std::ranges::count(opcodes, '2'), 20);
    EXPECT_EQ(std::ranges::count(opcodes, '3'), 20);
    EXPECT_NE(opcodes.find("2323232323"), std::string::npos) << opcodes;
}

// Linux siw receives one tagged message at a time.
TEST(Order, WritesAndAnswersAreNotMixed) {
    Two two;
    two.connect();
    Tap tap(*two.network, "server");
    constexpr std::size_t size = 10 * 64000;
    Memory near = zeros(size);
    Memory other = zeros(size);
    Memory far = pattern(size);
    const auto sink = two.client.share(near);
    const auto target = two.client.share(other);
    const auto source = two.server.share(far);
    const std::vector<Sge> to{piece(*sink)};
    const std::vector<Sge> from{piece(*source)};
    for (std::uint64_t i = 0; i < 3; ++i)
        two.client.pair->post_send(read_of(i, to, source->stag(), source->first_offset()));
    two.client.device->progress();
    two.server.device->progress();
    for (std::uint64_t i = 0; i < 3; ++i)
        two.server.pair->post_send(write_of(i, from, target->stag(), target->first_offset()));
    two.run();
    const std::string reads(10, '2');
    const std::string writes(10, '0');
    EXPECT_EQ(tap.opcodes(), reads + writes + reads + writes + reads + writes);
    EXPECT_TRUE(other == far);
    EXPECT_TRUE(near == far);
}

TEST(Order, LocalOperationsKeepTheirPlace) {
    Two two;
    two.connect();
    Memory data = pattern(1000);
    Memory heard = zeros(1000);
    const auto sink = two.server.share(heard);
    const auto region = two.client.domain->allocate_region(4096);
    ASSERT_EQ(two.server.receive(1, piece(*sink)), Posted::ok);
    QueuePair& pair = *two.client.pair;
    region->renew_key(0x5a);
    SendRequest registering;
    registering.id = 1;
    registering.operation = Operation::register_region;
    registering.region = region.get();
    registering.address = data.data();
    registering.length = data.size();
    registering.access = Access::local_write;
    ASSERT_EQ(pair.post_send(registering), Posted::ok);
    // Posted before the registration is performed, named by the STag that it will have.
    const std::uint32_t stag = (region->stag() & 0xffffff00U) | 0x5aU;
    const std::vector<Sge> pieces{{data.data(), 1000, stag}};
    ASSERT_EQ(pair.post_send(send_of(2, pieces)), Posted::ok);
    SendRequest invalidating;
    invalidating.id = 3;
    invalidating.operation = Operation::local_invalidate;
    invalidating.invalidate_stag = stag;
    ASSERT_EQ(pair.post_send(invalidating), Posted::ok);
    ASSERT_EQ(pair.post_send(send_of(4, pieces)), Posted::ok);
    two.run();
    EXPECT_EQ(ids(two.server.received()), "1");
    EXPECT_EQ(heard, data);
    EXPECT_EQ(region->stag(), stag);
    EXPECT_FALSE(region->valid());
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "1 2 3 4!");
    EXPECT_EQ(sent[0].operation, CompletedOperation::register_region);
    EXPECT_EQ(sent[2].operation, CompletedOperation::local_invalidate);
    EXPECT_EQ(sent[3].status, Status::local_protection);
}

}  // namespace
}  // namespace iwarp::test
