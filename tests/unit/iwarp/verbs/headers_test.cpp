#include "harness.h"
#include "wire/ddp.h"
#include "wire/rdmap.h"

// The headers that leave are those that the description of the formats would write.
namespace iwarp::test {
namespace {

TEST(Headers, AreThoseOfTheDescription) {
    Options options;
    options.client.crc = options.server.crc = false;
    options.client.max_ulpdu = 128;
    Two two(options);
    two.connect();
    Memory passed;
    two.network->tap([&](const MemoryNetwork::Passed& piece) {
        if (piece.from == "client") passed.insert(passed.end(), piece.octets.begin(), piece.octets.end());
    });
    Memory data = pattern(150);
    Memory far = zeros(1000);
    const auto source = two.client.share(data);
    const auto sink = two.server.share(far);
    ASSERT_EQ(two.server.receive(1, piece(*sink)), Posted::ok);
    const std::vector<Sge> pieces{piece(*source)};
    two.client.pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset() + 5));
    SendRequest send = send_of(2, pieces);
    send.solicited = send.invalidate = true;
    send.invalidate_stag = sink->stag();
    two.client.pair->post_send(send);
    two.run();
    two.network->tap({});

    // 128 octets of a ULPDU: 114 of data after a tagged header, 110 after an untagged one.
    Memory expected;
    const auto add = [&](std::span<const std::byte> header, std::size_t from, std::size_t size) {
        std::byte length[2];
        base::store_be16(length, static_cast<std::uint16_t>(header.size() + size));
        expected.insert(expected.end(), length, length + 2);
        expected.insert(expected.end(), header.begin(), header.end());
        const auto first = data.begin() + static_cast<std::ptrdiff_t>(from);
        expected.insert(expected.end(), first, first + static_cast<std::ptrdiff_t>(size));
        while (expected.size() % 4 != 0) expected.push_back({});
        expected.resize(expected.size() + 4);
    };
    const auto write = [&](bool last, std::uint64_t from, std::size_t size) {
        std::byte header[wire::ddp_tagged_size];
        const wire::DdpControl control{true, last, 0, 1};
        wire::emit_ddp(std::span{header},
                       wire::DdpTagged{control, 0x40, sink->stag(), sink->first_offset() + 5 + from});
        add(header, from, size);
    };
    const auto sent = [&](bool last, std::uint32_t from, std::size_t size) {
        std::byte header[wire::ddp_untagged_size];
        const wire::DdpControl control{false, last, 0, 1};
        const std::uint64_t ulp = std::uint64_t{0x46} << 32 | sink->stag();
        wire::emit_ddp(std::span{header}, wire::DdpUntagged{control, ulp, 0, 1, from});
        add(header, from, size);
    };
    write(false, 0, 114);
    write(true, 114, 36);
    sent(false, 0, 110);
    sent(true, 110, 40);
    EXPECT_EQ(passed, expected);
}

}  // namespace
}  // namespace iwarp::test
