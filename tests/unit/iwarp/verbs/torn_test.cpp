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

}  // namespace
}  // namespace iwarp::test
