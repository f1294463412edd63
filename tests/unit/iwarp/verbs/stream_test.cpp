#include "harness.h"
#include "iwarp/verbs/connection.h"
#include "iwarp/verbs/queue_pair.h"

// The same traffic over every kind of stream: cut anywhere, late, with and without CRCs and markers, aligned, in small
// segments. What arrives must not depend on any of it.
namespace iwarp::test {
namespace {

struct Kind {
    const char* name;
    void (*change)(Options&);
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

constexpr Kind every_kind[] = {
    {"Plain", [](Options&) {}},
    {"WithoutCrc", [](Options& o) { o.client.crc = o.server.crc = false; }},
    {"Revision1", [](Options& o) { o.client.revision = 1; }},
    {"RevisionAtMost1", [](Options& o) { o.client.revision = o.server.revision = 1; }},
    {"MarkersToServer", [](Options& o) { o.server.markers = true; }},
    {"MarkersToClient", [](Options& o) { o.client.markers = true; }},
    {"MarkersBothWays", [](Options& o) { o.client.markers = o.server.markers = true; }},
    {"MarkersWithoutCrc",
     [](Options& o) {
         o.client.markers = o.server.markers = true;
         o.client.crc = o.server.crc = false;
     }},
    {"PlacedAtOnce", [](Options& o) { o.client.strict = o.server.strict = false; }},
    {"PlacedAtOnceInChunks",
     [](Options& o) {
         o.client.strict = o.server.strict = false;
         o.impairment.chunk = 3000;
         o.impairment.random_chunks = true;
     }},
    {"PlacedAtOnceWithoutCrc",
     [](Options& o) {
         o.client.strict = o.server.strict = false;
         o.client.crc = o.server.crc = false;
         o.impairment.chunk = 40000;
         o.impairment.random_chunks = true;
     }},
    {"Ethernet", [](Options& o) { o.impairment.emss = 1448; }},
    {"Aligned",
     [](Options& o) {
         o.impairment.emss = 1448;
         o.client.align = o.server.align = true;
     }},
    {"SmallUlpdus", [](Options& o) { o.client.max_ulpdu = o.server.max_ulpdu = 128; }},
    {"PeerToPeer", [](Options& o) { o.client.peer_to_peer = true; }},
    {"OctetByOctet",
     [](Options& o) {
         o.impairment.chunk = 1;
         o.impairment.emss = 4000;
     }},
    {"OctetByOctetWithMarkers",
     [](Options& o) {
         o.impairment.chunk = 1;
         o.client.markers = o.server.markers = true;
     }},
    {"SmallChunks",
     [](Options& o) {
         o.impairment.chunk = 17;
         o.impairment.random_chunks = true;
         o.client.strict = o.server.strict = false;
     }},
    {"LateAndUneven",
     [](Options& o) {
         o.impairment.delay_ns = 5'000'000;
         o.impairment.jitter_ns = 3'000'000;
         o.impairment.chunk = 700;
         o.impairment.random_chunks = true;
     }},
    {"NarrowWindow",
     [](Options& o) {
         o.impairment.window = 1000;
         o.impairment.delay_ns = 1000;
     }},
    {"FewReads", [](Options& o) { o.client.ord = o.server.ord = o.client.ird = o.server.ird = 1; }},
};

struct Streams : testing::TestWithParam<Kind> {
    Options options() const {
        Options made;
        GetParam().change(made);
        made.client_pair.max_send = made.server_pair.max_send = 64;
        made.client_pair.max_receive = made.server_pair.max_receive = 64;
        return made;
    }
};

TEST_P(Streams, CarryEverythingBothWays) {
    Two two(options());
    two.connect();
    // Sizes around every boundary: empty, one octet, a ULPDU's pad, a marker's distance, an FPDU's end.
    const std::size_t sizes[] = {0, 1, 2, 3, 4, 5, 100, 494, 511, 512, 513, 1423, 1424, 1425, 5000, 70000};
    constexpr std::size_t room = 100000;
    struct Half {
        Side* from;
        Side* to;
        Memory data, sent_to, written_to, read_into;
        alignas(8) std::uint64_t counter = 40;
        alignas(8) std::uint64_t original = 0;
        std::shared_ptr<MemoryRegion> source, receives, writes, reads, target, result;
    };
    Half halves[2] = {{&two.client, &two.server, {}, {}, {}, {}, 40, 0, {}, {}, {}, {}, {}, {}},
                      {&two.server, &two.client, {}, {}, {}, {}, 40, 0, {}, {}, {}, {}, {}, {}}};
    std::uint64_t seed = 1;
    for (Half& half : halves) {
        half.data = pattern(room, ++seed);
        half.sent_to = half.written_to = half.read_into = zeros(room);
        half.source = half.from->share(half.data);
        half.receives = half.to->share(half.sent_to);
        half.writes = half.to->share(half.written_to);
        half.reads = half.from->share(half.read_into);
        half.target =
            half.to->domain->register_memory(std::as_writable_bytes(std::span{&half.counter, 1}), everything());
        half.result =
            half.from->domain->register_memory(std::as_writable_bytes(std::span{&half.original, 1}), everything());
    }
    for (const std::size_t size : sizes) {
        for (Half& half : halves) {
            QueuePair& pair = *half.from->pair;
            half.to->receive(size, piece(*half.receives, 7, size));
            half.to->receive(1, std::vector<Sge>{});
            const std::vector<Sge> data{piece(*half.source, 11, size / 3),
                                        piece(*half.source, 11 + size / 3, size - size / 3)};
            const std::vector<Sge> sink{piece(*half.reads, 3, size)};
            const std::vector<Sge> result{piece(*half.result)};
            ASSERT_EQ(pair.post_send(write_of(1, data, half.writes->stag(), half.writes->first_offset() + 5)),
                      Posted::ok);
            ASSERT_EQ(pair.post_send(send_of(2, data)), Posted::ok);
            SendRequest read = read_of(3, sink, half.writes->stag(), half.writes->first_offset() + 5);
            ASSERT_EQ(pair.post_send(read), Posted::ok);
            SendRequest atomic = read_of(4, result, half.target->stag(), half.target->first_offset());
            atomic.operation = Operation::fetch_add;
            atomic.operand = 2;
            ASSERT_EQ(pair.post_send(atomic), Posted::ok);
            SendRequest immediate;
            immediate.id = 5;
            immediate.operation = Operation::immediate;
            immediate.immediate = size;
            ASSERT_EQ(pair.post_send(immediate), Posted::ok);
        }
        two.run(100 * second_ns);
        for (Half& half : halves) {
            ASSERT_EQ(ids(half.from->sent()), "1 2 3 4 5") << half.from->name << " " << size;
            const auto received = half.to->received();
            ASSERT_EQ(received.size(), 2U);
            EXPECT_EQ(received[0].id, size);
            EXPECT_EQ(received[0].length, size);
            EXPECT_EQ(received[1].immediate, size);
            const auto same = [&](const Memory& memory, std::size_t at) {
                return std::equal(half.data.begin() + 11, half.data.begin() + 11 + static_cast<std::ptrdiff_t>(size),
                                  memory.begin() + static_cast<std::ptrdiff_t>(at));
            };
            EXPECT_TRUE(same(half.written_to, 5)) << size;
            EXPECT_TRUE(same(half.sent_to, 7)) << size;
            EXPECT_TRUE(same(half.read_into, 3)) << size;
            EXPECT_EQ(half.counter, half.original + 2);
        }
    }
    for (const Half& half : halves) EXPECT_EQ(half.counter, 40U + 2 * std::size(sizes));
    EXPECT_EQ(two.client.pair->counters().fpdus_sent, two.server.pair->counters().fpdus_received);
    EXPECT_EQ(two.server.pair->counters().fpdus_sent, two.client.pair->counters().fpdus_received);
    two.client.pair->disconnect();
    two.run(100 * second_ns);
    EXPECT_EQ(two.server.pair->state(), QueuePairState::error);
    EXPECT_FALSE(two.server.pair->terminate());
    EXPECT_FALSE(two.client.pair->terminate());
}

INSTANTIATE_TEST_SUITE_P(Every, Streams, testing::ValuesIn(every_kind),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(Alignment, EveryFpduIsASegment) {
    Options options;
    options.impairment.emss = 1448;
    options.client.align = true;
    Two two(options);
    two.connect();
    std::vector<std::size_t> sizes;
    two.network->tap([&](const MemoryNetwork::Passed& passed) {
        if (passed.from == "client" && !passed.octets.empty()) sizes.push_back(passed.octets.size());
    });
    Memory data = pattern(10000);
    Memory far = zeros(10000);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    const std::vector<Sge> pieces{piece(*source)};
    two.client.pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset()));
    two.run();
    two.network->tap({});
    EXPECT_TRUE(far == data);
    // RFC 5044 section 4.5: 1442 octets of ULPDU, 1428 of data; the FPDU has 2 + 1442 + 0 + 4 = 1448.
    ASSERT_EQ(sizes.size(), 8U);
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(sizes[i], 1448U);
    EXPECT_EQ(sizes[7], 2U + 14 + 4 + 4);  // 10000 - 7 * 1428 = 4 octets: 20 to a multiple of four with CRC
}

// RFC 5044 section 3: where segments are too small for FPDUs, these take several.
TEST(Alignment, SegmentsOfNoUseDoNotDecide) {
    for (const std::uint32_t emss : {0U, 5U, 88U, 134U}) {
        Options options;
        options.impairment.emss = emss;
        Two two(options);
        two.connect();
        EXPECT_EQ(two.client.pair->agreement()->max_ulpdu, 128U) << emss;
    }
}

// RFC 5044 section 4.5: the path's segments became smaller after the connection was made.
TEST(Alignment, FpdusFollowTheSizeOfSegments) {
    Options options;
    options.impairment.emss = 8948;
    options.client.align = true;
    Two two(options);
    two.connect();
    EXPECT_EQ(two.client.pair->agreement()->max_ulpdu, 8942U);
    std::vector<std::size_t> sizes;
    two.network->tap([&](const MemoryNetwork::Passed& passed) {
        if (passed.from == "client" && !passed.octets.empty()) sizes.push_back(passed.octets.size());
    });
    Memory data = pattern(1428);
    Memory far = zeros(1428);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    ASSERT_EQ(two.client.pair->post_send(write_of(1, {piece(*source)}, sink->stag(), sink->first_offset())),
              Posted::ok);
    two.run();
    two.client.pair->impl().connection->segment_size_changed(728, two.network->now_ns());
    EXPECT_EQ(two.client.pair->agreement()->max_ulpdu, 722U);
    ASSERT_EQ(two.client.pair->post_send(write_of(2, {piece(*source)}, sink->stag(), sink->first_offset())),
              Posted::ok);
    two.run();
    two.network->tap({});
    EXPECT_EQ(ids(two.client.sent()), "1 2");
    EXPECT_TRUE(far == data);
    // 722 octets of ULPDU hold 708 of data; 12 are left, which with header and CRC take 2 + 14 + 12 + 4.
    EXPECT_EQ(sizes, (std::vector<std::size_t>{1448, 728, 728, 32}));
}

}  // namespace
}  // namespace iwarp::test
