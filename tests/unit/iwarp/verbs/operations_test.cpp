#include "harness.h"

// Every operation of the send queue, from one device to another.
namespace iwarp::test {
namespace {

TEST(Operations, SendArrivesInTheOldestReceive) {
    Two two;
    two.connect();
    Memory words = text("what was said");
    Memory heard = zeros(100);
    const auto source = two.client.share(words);
    const auto sink = two.server.share(heard);
    ASSERT_EQ(two.server.receive(7, piece(*sink)), Posted::ok);
    const std::vector<Sge> pieces{piece(*source)};
    ASSERT_EQ(two.client.pair->post_send(send_of(3, pieces)), Posted::ok);
    two.run();

    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "3");
    EXPECT_EQ(sent[0].operation, CompletedOperation::send);
    EXPECT_EQ(sent[0].queue_pair, two.client.pair->number());
    const auto received = two.server.received();
    ASSERT_EQ(ids(received), "7");
    EXPECT_EQ(received[0].operation, CompletedOperation::receive);
    EXPECT_EQ(received[0].length, 13U);
    EXPECT_FALSE(received[0].solicited);
    EXPECT_FALSE(received[0].immediate);
    EXPECT_FALSE(received[0].invalidated_stag);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(heard.data()), 13), "what was said");
    EXPECT_EQ(heard[13], std::byte{0});
}

TEST(Operations, WriteLandsAtTheOffsetAndNowhereElse) {
    Two two;
    two.connect();
    Memory data = pattern(5000);
    Memory far = zeros(8000);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    const std::vector<Sge> pieces{piece(*source)};
    ASSERT_EQ(two.client.pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset() + 1500)), Posted::ok);
    two.run();
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "1");
    EXPECT_EQ(sent[0].operation, CompletedOperation::write);
    EXPECT_TRUE(two.server.received().empty());
    Memory expected = zeros(8000);
    std::copy(data.begin(), data.end(), expected.begin() + 1500);
    EXPECT_EQ(far, expected);
}

TEST(Operations, ReadBringsWhatLiesThere) {
    Two two;
    two.connect();
    Memory near = zeros(6000);
    Memory far = pattern(9000);
    const auto sink = two.client.share(near);
    const auto source = two.server.share(far, Access::remote_read);
    const std::vector<Sge> pieces{piece(*sink, 100, 5000)};
    ASSERT_EQ(two.client.pair->post_send(read_of(9, pieces, source->stag(), source->first_offset() + 77)), Posted::ok);
    two.run();
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "9");
    EXPECT_EQ(sent[0].operation, CompletedOperation::read);
    EXPECT_EQ(sent[0].length, 5000U);
    Memory expected = zeros(6000);
    std::copy_n(far.begin() + 77, 5000, expected.begin() + 100);
    EXPECT_EQ(near, expected);
    EXPECT_EQ(two.server.pair->counters().reads_served, 1U);
    EXPECT_TRUE(two.server.sent().empty());
}

TEST(Operations, EmptyMessagesOfEveryKind) {
    Two two;
    two.connect();
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    ASSERT_EQ(two.server.receive(2, std::vector<Sge>{}), Posted::ok);
    // RFC 5040 section 5.1 and 5.2: neither STag nor offset of a zero-length message is looked at.
    EXPECT_EQ(two.client.pair->post_send(send_of(1, {})), Posted::ok);
    EXPECT_EQ(two.client.pair->post_send(write_of(2, {}, 0xdeadbeef, 5)), Posted::ok);
    EXPECT_EQ(two.client.pair->post_send(read_of(3, {}, 0xdeadbeef, 5)), Posted::ok);
    SendRequest immediate = write_of(4, {}, 0xdeadbeef, 5);
    immediate.operation = Operation::write_immediate;
    immediate.immediate = 5;
    EXPECT_EQ(two.client.pair->post_send(immediate), Posted::ok);
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1 2 3 4");
    EXPECT_EQ(ids(two.server.received()), "1 2");
}

TEST(Operations, SolicitedEventsAreMarked) {
    Two two;
    two.connect();
    for (std::uint64_t id : {1U, 2U, 3U}) ASSERT_EQ(two.server.receive(id, std::vector<Sge>{}), Posted::ok);
    SendRequest request;
    two.client.pair->post_send(request);
    request.solicited = true;
    two.client.pair->post_send(request);
    request.operation = Operation::immediate;
    two.client.pair->post_send(request);
    two.run();
    const auto received = two.server.received();
    ASSERT_EQ(received.size(), 3U);
    EXPECT_FALSE(received[0].solicited);
    EXPECT_TRUE(received[1].solicited);
    EXPECT_TRUE(received[2].solicited);
}

TEST(Operations, ImmediateDataTakesAReceive) {
    Two two;
    two.connect();
    ASSERT_EQ(two.server.receive(5, std::vector<Sge>{}), Posted::ok);
    SendRequest request;
    request.id = 8;
    request.operation = Operation::immediate;
    request.immediate = 0x0123456789abcdef;
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    two.run();
    const auto received = two.server.received();
    ASSERT_EQ(ids(received), "5");
    EXPECT_EQ(received[0].operation, CompletedOperation::receive_immediate);
    EXPECT_EQ(received[0].immediate, 0x0123456789abcdefU);
    EXPECT_EQ(ids(two.client.sent()), "8");
}

TEST(Operations, WriteWithImmediateDeliversAfterItsData) {
    Two two;
    two.connect();
    Memory data = pattern(200000);
    Memory far = zeros(200000);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    ASSERT_EQ(two.server.receive(5, std::vector<Sge>{}), Posted::ok);
    const std::vector<Sge> pieces{piece(*source)};
    SendRequest request = write_of(8, pieces, sink->stag(), sink->first_offset());
    request.operation = Operation::write_immediate;
    request.immediate = 42;
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    two.run();
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "8");
    EXPECT_EQ(sent[0].operation, CompletedOperation::write);
    const auto received = two.server.received();
    ASSERT_EQ(ids(received), "5");
    EXPECT_EQ(received[0].immediate, 42U);
    EXPECT_EQ(far, data);
}

TEST(Operations, FetchAddReturnsWhatWasThere) {
    Two two;
    two.connect();
    alignas(8) std::uint64_t far[2] = {100, 0x00ff'00ff'00ff'00ff};
    std::uint64_t near[2] = {};
    const auto target = two.server.domain->register_memory(std::as_writable_bytes(std::span{far}), everything());
    const auto sink = two.client.domain->register_memory(std::as_writable_bytes(std::span{near}), everything());
    const std::vector<Sge> first{piece(*sink, 0, 8)};
    const std::vector<Sge> other{piece(*sink, 8, 8)};
    SendRequest request = read_of(1, first, target->stag(), target->first_offset());
    request.operation = Operation::fetch_add;
    request.operand = 23;
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    request.id = 2;
    request.pieces = other;
    request.remote_offset += 8;
    // Four fields of 16 bits: RFC 7306 section 5.1, the mask has a one at the top of each.
    request.operand = 0xff01'0001'ff01'0001;
    request.operand_mask = 0x8000'8000'8000'8000;
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    two.run();
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "1 2");
    EXPECT_EQ(sent[0].operation, CompletedOperation::fetch_add);
    EXPECT_EQ(sent[0].length, 8U);
    EXPECT_EQ(near[0], 100U);
    EXPECT_EQ(far[0], 123U);
    EXPECT_EQ(near[1], 0x00ff'00ff'00ff'00ffU);
    // By field: 00ff + ff01 = 1'0000, 00ff + 0001 = 0100, and again; what is carried out is lost.
    EXPECT_EQ(far[1], 0x0000'0100'0000'0100U);
}

TEST(Operations, CompareSwapSwapsOnlyOnMatch) {
    Two two;
    two.connect();
    alignas(8) std::uint64_t far = 0x1111'2222'3333'4444;
    std::uint64_t near = 0;
    const auto target = two.server.domain->register_memory(std::as_writable_bytes(std::span{&far, 1}), everything());
    const auto sink = two.client.domain->register_memory(std::as_writable_bytes(std::span{&near, 1}), everything());
    const std::vector<Sge> pieces{piece(*sink)};
    SendRequest request = read_of(1, pieces, target->stag(), target->first_offset());
    request.operation = Operation::compare_swap;
    request.compare = 5;
    request.operand = 6;
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    two.run();
    EXPECT_EQ(near, 0x1111'2222'3333'4444U);
    EXPECT_EQ(far, 0x1111'2222'3333'4444U);
    // The low half compared, the high half swapped.
    request.compare = 0xffff'ffff'3333'4444;
    request.compare_mask = 0x0000'0000'ffff'ffff;
    request.operand = 0xaaaa'bbbb'cccc'dddd;
    request.operand_mask = 0xffff'ffff'0000'0000;
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    two.run();
    const auto sent = two.client.sent();
    ASSERT_EQ(ids(sent), "1 1");
    EXPECT_EQ(sent[1].operation, CompletedOperation::compare_swap);
    EXPECT_EQ(far, 0xaaaa'bbbb'3333'4444U);
}

TEST(Operations, SendWithInvalidateShutsThePeersRegion) {
    Two two;
    two.connect();
    Memory shared = zeros(64);
    const auto region = two.server.share(shared);
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    SendRequest request;
    request.invalidate = true;
    request.invalidate_stag = region->stag();
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    two.run();
    const auto received = two.server.received();
    ASSERT_EQ(ids(received), "1");
    EXPECT_EQ(received[0].invalidated_stag, region->stag());
    EXPECT_FALSE(region->valid());
    EXPECT_EQ(two.client.pair->state(), QueuePairState::connected);
}

TEST(Operations, ReadWithInvalidateShutsItsOwnSink) {
    Two two;
    two.connect();
    Memory near = zeros(1000);
    Memory far = pattern(1000);
    const auto sink = two.client.share(near);
    const auto source = two.server.share(far);
    const std::vector<Sge> pieces{piece(*sink)};
    SendRequest request = read_of(1, pieces, source->stag(), source->first_offset());
    request.invalidate = true;
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    EXPECT_TRUE(sink->valid());
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1");
    EXPECT_EQ(near, far);
    EXPECT_FALSE(sink->valid());
}

TEST(Operations, InlineDataMayBeReusedAtOnce) {
    Two two;
    two.connect();
    Memory heard = zeros(64);
    const auto sink = two.server.share(heard);
    ASSERT_EQ(two.server.receive(1, piece(*sink)), Posted::ok);
    Memory first = text("inline ");
    Memory second = text("data");
    // No region holds them: the STag of inline data is not looked at.
    const std::vector<Sge> pieces{{first.data(), 7, 0}, {second.data(), 4, 99}};
    SendRequest request = send_of(1, pieces);
    request.inline_data = true;
    ASSERT_EQ(two.client.pair->post_send(request), Posted::ok);
    std::fill(first.begin(), first.end(), std::byte{'x'});
    std::fill(second.begin(), second.end(), std::byte{'x'});
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1");
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(heard.data()), 11), "inline data");
}

TEST(Operations, PiecesAreGatheredAndScattered) {
    Two two;
    two.connect();
    Memory data = pattern(100000);
    Memory heard = zeros(100000);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(heard);
    const std::vector<Sge> receives{piece(*sink, 0, 1), piece(*sink, 1, 65535), piece(*sink, 65536, 0),
                                    piece(*sink, 65536)};
    ASSERT_EQ(two.server.receive(1, receives), Posted::ok);
    const std::vector<Sge> sends{piece(*source, 0, 0), piece(*source, 0, 40000), piece(*source, 40000, 1),
                                 piece(*source, 40001)};
    ASSERT_EQ(two.client.pair->post_send(send_of(1, sends)), Posted::ok);
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1");
    EXPECT_EQ(ids(two.server.received()), "1");
    EXPECT_EQ(heard, data);
}

TEST(Operations, SixteenMegabytesOfEveryKind) {
    constexpr std::size_t size = 16U << 20;
    Two two;
    two.connect();
    Memory data = pattern(size);
    Memory heard = zeros(size);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(heard);
    const std::vector<Sge> pieces{piece(*source)};
    ASSERT_EQ(two.server.receive(1, piece(*sink)), Posted::ok);
    two.client.pair->post_send(send_of(1, pieces));
    two.run();
    EXPECT_EQ(ids(two.server.received()), "1");
    EXPECT_TRUE(heard == data);
    std::ranges::fill(heard, std::byte{});
    two.client.pair->post_send(write_of(2, pieces, sink->stag(), sink->first_offset()));
    two.run();
    EXPECT_TRUE(heard == data);
    std::ranges::fill(data, std::byte{});
    two.client.pair->post_send(read_of(3, pieces, sink->stag(), sink->first_offset()));
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1 2 3");
    EXPECT_TRUE(heard == data);
    EXPECT_NE(data[12345], std::byte{});
    // 64768 octets of a ULPDU, 18 or 14 of them header: RFC 5044 section 3 and RFC 5041 section 4.
    const std::uint64_t sends = (size + 64749) / 64750;
    const std::uint64_t writes = (size + 64753) / 64754;
    EXPECT_EQ(two.client.pair->counters().fpdus_sent, sends + writes + 1);
    EXPECT_EQ(two.server.pair->counters().fpdus_received, sends + writes + 1);
    EXPECT_EQ(two.client.pair->counters().fpdus_received, writes);
    EXPECT_EQ(two.client.pair->counters().payload_octets_sent, 2 * size);
}

TEST(Operations, UnsignalledRequestsCompleteSilently) {
    Two two;
    two.connect();
    SendRequest request = write_of(1, {}, 1, 0);
    request.signalled = false;
    two.client.pair->post_send(request);
    request.id = 2;
    two.client.pair->post_send(request);
    request.id = 3;
    request.signalled = true;
    two.client.pair->post_send(request);
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "3");
}

TEST(Operations, SignalAllMakesAllVisible) {
    Options options;
    options.client_pair.signal_all = true;
    Two two(options);
    two.connect();
    SendRequest request = write_of(1, {}, 1, 0);
    request.signalled = false;
    two.client.pair->post_send(request);
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1");
}

TEST(Operations, BothDirectionsAtOnce) {
    Two two;
    two.connect();
    Memory one = pattern(3U << 20, 1);
    Memory other = pattern(3U << 20, 2);
    Memory at_server = zeros(one.size());
    Memory at_client = zeros(one.size());
    const auto from_client = two.client.share(one);
    const auto from_server = two.server.share(other);
    const auto to_server = two.server.share(at_server);
    const auto to_client = two.client.share(at_client);
    const std::vector<Sge> up{piece(*from_client)};
    const std::vector<Sge> down{piece(*from_server)};
    two.client.pair->post_send(write_of(1, up, to_server->stag(), to_server->first_offset()));
    two.server.pair->post_send(write_of(2, down, to_client->stag(), to_client->first_offset()));
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1");
    EXPECT_EQ(ids(two.server.sent()), "2");
    EXPECT_TRUE(at_server == one);
    EXPECT_TRUE(at_client == other);
}

TEST(Operations, PostingRefusesWhatCannotBe) {
    Options options;
    options.client_pair.max_send = 4;
    options.client_pair.max_pieces = 2;
    options.client_pair.max_inline = 16;
    Two two(options);
    EXPECT_EQ(two.client.pair->post_send(send_of(1, {})), Posted::wrong_state);
    two.connect();
    Memory data = zeros(64);
    const auto region = two.client.share(data);
    QueuePair& pair = *two.client.pair;
    const std::vector<Sge> three(3, piece(*region));
    EXPECT_EQ(pair.post_send(send_of(1, three)), Posted::too_many_pieces);
    const std::vector<Sge> huge(2, Sge{data.data(), 0x80000000U, region->stag()});
    EXPECT_EQ(pair.post_send(send_of(1, huge)), Posted::too_long);
    const std::vector<Sge> one{piece(*region, 0, 17)};
    SendRequest request = send_of(1, one);
    request.inline_data = true;
    EXPECT_EQ(pair.post_send(request), Posted::too_long);
    const std::vector<Sge> pair_of(2, piece(*region, 0, 4));
    EXPECT_EQ(pair.post_send(read_of(1, pair_of, 1, 0)), Posted::invalid);
    request = read_of(1, one, 1, 0);
    request.operation = Operation::fetch_add;  // 17 octets are no sink for 8
    EXPECT_EQ(pair.post_send(request), Posted::invalid);
    request = {};
    request.operation = Operation::bind_window;
    EXPECT_EQ(pair.post_send(request), Posted::invalid);
    request.operation = Operation::register_region;
    EXPECT_EQ(pair.post_send(request), Posted::invalid);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(pair.post_send(send_of(1, {})), Posted::ok);
    EXPECT_EQ(pair.post_send(send_of(1, {})), Posted::queue_full);
    EXPECT_EQ(pair.post_receive({1, three}), Posted::too_many_pieces);
}

}  // namespace
}  // namespace iwarp::test
