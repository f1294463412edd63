#include "harness.h"

// A CRC is taken when an FPDU is made; TCP may take the rest of it later, and what it refers to may have changed by
// then.
namespace iwarp::test {
namespace {

/// The answer to a Read is under way, a little at a time, while the peer and the application write to where it is read
/// from. What arrives may be a mixture (RFC 5040 section 5.5 orders nothing here), but every octet of it was there
/// once, and no CRC is wrong.
void read_while_it_changes(bool by_peer, Access access) {
    Options options;
    options.impairment.window = 4000;
    options.impairment.delay_ns = 1'000'000;
    Two two(options);
    Memory shared = zeros(60'000);
    Memory sink = pattern(60'000);
    Memory ones(60'000, std::byte{1});
    const auto region = two.server.share(shared, access);
    const auto sink_region = two.client.share(sink);
    const auto ones_region = two.client.share(ones);
    two.connect();
    ASSERT_EQ(two.client.pair->post_send(read_of(1, {piece(*sink_region)}, region->stag(), region->first_offset())),
              Posted::ok);
    if (by_peer) {
        ASSERT_EQ(
            two.client.pair->post_send(write_of(2, {piece(*ones_region)}, region->stag(), region->first_offset())),
            Posted::ok);
    }
    bool changed = false;
    for (int i = 0; i < 400; ++i) {
        two.run(1'000'000);
        if (!by_peer && !changed && two.server.pair->counters().payload_octets_sent != 0) {
            std::ranges::fill(shared, std::byte{1});  // after the answer's CRC was taken
            changed = true;
        }
    }
    EXPECT_EQ(changed, !by_peer);
    EXPECT_EQ(ids(two.client.sent()), by_peer ? "1 2" : "1");
    EXPECT_EQ(two.client.pair->counters().crc_errors, 0U);
    EXPECT_EQ(two.client.pair->state(), QueuePairState::connected);
    for (const std::byte octet : sink) ASSERT_LE(octet, std::byte{1});
    EXPECT_EQ(shared, ones);
}

TEST(Torn, APeerWritesWhatItReads) { read_while_it_changes(true, everything()); }
TEST(Torn, TheApplicationWritesWhatIsRead) { read_while_it_changes(false, Access::local_write | Access::remote_read); }

Options slow() {
    Options options;
    options.impairment.window = 4000;
    options.impairment.delay_ns = 1'000'000;
    return options;
}

/// Memory that was taken back belongs to the program again, while the FPDU that was made of it still leaves.
TEST(Torn, MemoryIsTakenBackWhileAWriteLeaves) {
    Two two(slow());
    two.connect();
    Memory data = pattern(60'000);
    const Memory before = data;
    Memory heard = zeros(60'000);
    auto region = two.client.share(data);
    const auto sink = two.server.share(heard);
    ASSERT_EQ(two.client.pair->post_send(write_of(1, {piece(*region)}, sink->stag(), sink->first_offset())),
              Posted::ok);
    two.run(1'000'000);
    ASSERT_EQ(two.client.pair->counters().fpdus_sent, 1U);
    ASSERT_EQ(ids(two.client.sent()), "");
    region.reset();
    std::ranges::fill(data, std::byte{0xee});
    two.run();
    EXPECT_EQ(two.server.pair->counters().crc_errors, 0U);
    EXPECT_TRUE(heard == before);
    EXPECT_EQ(ids(two.client.sent()), "1");
    EXPECT_EQ(two.client.pair->state(), QueuePairState::connected);
}

/// The other way round: what still arrives of an FPDU finds its place gone, and does not touch what was there.
TEST(Torn, MemoryIsTakenBackWhileAWriteArrives) {
    for (const bool strict : {true, false}) {
        SCOPED_TRACE(strict ? "strict" : "direct");
        Options options = slow();
        options.impairment.window = 30'000;
        options.server.strict = strict;
        Two two(options);
        two.connect();
        Memory data = pattern(60'000);
        Memory heard = zeros(60'000);
        const auto region = two.client.share(data);
        auto sink = two.server.share(heard);
        ASSERT_EQ(two.client.pair->post_send(write_of(1, {piece(*region)}, sink->stag(), sink->first_offset())),
                  Posted::ok);
        two.run(1'500'000);
        EXPECT_EQ(heard[1000] == data[1000], !strict);
        EXPECT_EQ(heard.back(), std::byte{0});
        sink.reset();
        const Memory ours(60'000, std::byte{0x77});
        heard = ours;
        two.run();
        EXPECT_TRUE(heard == ours);
        const auto why = two.server.pair->terminate();
        ASSERT_TRUE(why);
        EXPECT_EQ(why->layer, 1);
        EXPECT_EQ(why->type, 1);
        EXPECT_EQ(why->code, 0);
    }
}

/// A request that is flushed gives its memory back at once; what of it was on its way arrives, and then the Terminate.
TEST(Torn, AFaultOfThePeersFlushesAWriteThatLeaves) {
    Two two(slow());
    two.connect();
    two.client.pair->post_send(write_of(0, {}, 0, 0));
    two.run();
    two.client.events();
    two.server.events();
    Memory data = pattern(60'000);
    const Memory before = data;
    Memory heard = zeros(60'000);
    const auto region = two.server.share(data);
    const auto sink = two.client.share(heard);
    ASSERT_EQ(two.server.pair->post_send(write_of(1, {piece(*region)}, sink->stag(), sink->first_offset())),
              Posted::ok);
    two.run(1'000'000);
    ASSERT_EQ(two.server.pair->counters().fpdus_sent, 1U);
    ASSERT_EQ(two.client.pair->post_send(write_of(2, {piece(*sink, 0, 1)}, 0xbad00, 0)), Posted::ok);
    two.run(3'000'000);
    ASSERT_EQ(ids(two.server.sent()), "1~");
    ASSERT_FALSE(two.client.pair->terminate()) << "everything has arrived already";
    std::ranges::fill(data, std::byte{0xee});
    two.run();
    EXPECT_EQ(two.client.pair->counters().crc_errors, 0U);
    EXPECT_TRUE(heard == before);
    const auto why = two.client.pair->terminate();
    ASSERT_TRUE(why);
    EXPECT_FALSE(why->sent_by_us);
    EXPECT_EQ(why->layer, 1);
    EXPECT_EQ(why->type, 1);
    EXPECT_EQ(why->code, 0);
}

}  // namespace
}  // namespace iwarp::test
