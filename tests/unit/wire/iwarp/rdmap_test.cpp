#include "wire/rdmap.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "wire/ddp.h"
#include "wire/rdmap_atomic.h"
#include "wire/terminate.h"

namespace {

using Octets = std::vector<std::byte>;

Octets octets_of_text(std::string_view hex) {
    Octets out;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        out.push_back(static_cast<std::byte>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
    return out;
}

// Values from tshark for siw-rping-p2p.pcap, frames 4 and 8.
TEST(Ddp, untagged_header_of_siw) {
    const Octets bytes = octets_of_text(
        "414100000000"
        "00000001"
        "00000002"
        "00000000");
    const auto header = wire::parse_ddp_untagged(bytes);
    ASSERT_TRUE(header);
    EXPECT_FALSE(header->control.tagged);
    EXPECT_TRUE(header->control.last);
    EXPECT_EQ(header->control.version, 1);
    EXPECT_EQ(header->ulp, 0x4100000000u);
    EXPECT_EQ(header->queue, 1u);
    EXPECT_EQ(header->msn, 2u);
    EXPECT_EQ(header->offset, 0u);
    std::array<std::byte, wire::ddp_untagged_size> again{};
    wire::emit_ddp(again, *header);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), bytes.begin()));
    EXPECT_FALSE(wire::parse_ddp_untagged(base::Bytes{bytes}.first(17)));
}

TEST(Ddp, tagged_header_of_siw) {
    const Octets bytes = octets_of_text("c1428fa1fb000000561b2f762110");
    const auto header = wire::parse_ddp_tagged(bytes);
    ASSERT_TRUE(header);
    EXPECT_TRUE(header->control.tagged);
    EXPECT_EQ(header->ulp, 0x42);
    EXPECT_EQ(header->stag, 0x8fa1fb00u);
    EXPECT_EQ(header->offset, 0x0000561b2f762110u);
    std::array<std::byte, wire::ddp_tagged_size> again{};
    wire::emit_ddp(again, *header);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), bytes.begin()));
}

TEST(Rdmap, read_request_of_siw) {
    const Octets bytes = octets_of_text("8fa1fb000000561b2f7621100000004057f739000000564a1699b440");
    const auto request = wire::parse<wire::RdmapReadRequest>(bytes);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->sink_stag, 0x8fa1fb00u);
    EXPECT_EQ(request->sink_offset, 0x0000561b2f762110u);
    EXPECT_EQ(request->size, 64u);
    EXPECT_EQ(request->source_stag, 0x57f73900u);
    EXPECT_EQ(request->source_offset, 0x0000564a1699b440u);
    const auto again = wire::to_octets(*request);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), bytes.begin()));
}

// RFC 7306 figure 4, the octets laid out by hand.
TEST(Rdmap, atomic_request) {
    wire::RdmapCompareSwap request;
    request.operation = 2;
    request.request_id = 7;
    request.remote_stag = 8;
    request.remote_offset = 9;
    request.data = 10;
    request.mask = 11;
    request.compare = 12;
    request.compare_mask = 13;
    const auto emitted = wire::to_octets(request);
    const Octets expected = octets_of_text(
        "00000002"
        "00000007"
        "00000008"
        "0000000000000009"
        "000000000000000a"
        "000000000000000b"
        "000000000000000c"
        "000000000000000d");
    EXPECT_TRUE(std::ranges::equal(emitted, expected));
    EXPECT_EQ(wire::size_of<wire::RdmapAtomicRequest>, 52u);
    EXPECT_EQ(wire::size_of<wire::RdmapAtomicResponse>, 12u);
}

// siw-verbs-badrkey-w.pcap frame 22: layer DDP, tagged buffer, invalid STag; M and D in the low bits.
TEST(Terminate, of_siw_is_byte_swapped) {
    const Octets bytes = octets_of_text("1100030005948140194cc00000007f8315840000");
    const auto parts = wire::parse_terminate(bytes);
    ASSERT_TRUE(parts);
    EXPECT_TRUE(parts->byte_swapped);
    EXPECT_EQ(parts->control.layer, 1);
    EXPECT_EQ(parts->control.type, 1);
    EXPECT_EQ(parts->control.code, 0);
    EXPECT_TRUE(parts->control.length_valid);
    EXPECT_TRUE(parts->control.ddp_header);
    EXPECT_FALSE(parts->control.rdma_header);
    EXPECT_EQ(parts->wanted, bytes.size());
    EXPECT_EQ(parts->ddp_header.offset, 6);
    EXPECT_EQ(parts->ddp_header.size, wire::ddp_tagged_size);
}

// siw-verbs-badrkey-r.pcap frame 23: with the Read Request's header.
TEST(Terminate, of_siw_with_read_request) {
    const Octets bytes = octets_of_text(
        "100007000000414100000000000000010000138800000000"
        "4214e30000007f6b540fb3c000001388668c000000007f0721d04000");
    const auto parts = wire::parse_terminate(bytes);
    ASSERT_TRUE(parts);
    EXPECT_TRUE(parts->byte_swapped);
    EXPECT_EQ(parts->control.layer, 0) << "a Read of an STag that is not valid is RDMAP's to protect";
    EXPECT_EQ(parts->control.type, 1);
    EXPECT_EQ(parts->control.code, 0);
    EXPECT_EQ(parts->wanted, bytes.size());
    ASSERT_EQ(parts->rdma_header.size, 28);
    const auto request = wire::parse<wire::RdmapReadRequest>(base::Bytes{bytes}.subspan(parts->rdma_header.offset));
    EXPECT_EQ(request->size, 5000u);
    EXPECT_EQ(request->source_stag, 0x668c0000u);
}

// Without headers only sense can tell: siw says MPA CRC error (2/0/02) as type 2 of layer 0, code 2, which is none.
TEST(Terminate, of_siw_without_headers) {
    const auto crc = wire::parse_terminate(octets_of_text("02020000"));
    EXPECT_TRUE(crc->byte_swapped);
    EXPECT_EQ(crc->control.layer, 2);
    EXPECT_EQ(crc->control.type, 0);
    const auto right = wire::parse_terminate(octets_of_text("20020000"));
    EXPECT_FALSE(right->byte_swapped);
    EXPECT_EQ(right->control.layer, 2);
    const auto unexpected = wire::parse_terminate(octets_of_text("02060000"));  // 0/2/06 has a meaning as it stands
    EXPECT_FALSE(unexpected->byte_swapped);
    EXPECT_EQ(unexpected->control.type, 2);
    const auto neither = wire::parse_terminate(octets_of_text("9f770000"));
    EXPECT_FALSE(neither->byte_swapped);
}

TEST(Terminate, round_trip_and_every_truncation) {
    const Octets ddp = octets_of_text("c1428fa1fb000000561b2f762110");
    const Octets rdma(28, std::byte{0x55});
    std::array<std::byte, wire::terminate_longest> out{};
    for (const bool with_ddp : {false, true})
        for (const bool with_rdma : {false, true}) {
            const auto size = wire::emit_terminate(out, {0, 1, 2, false, false, false, 0}, 60,
                                                   with_ddp ? base::Bytes{ddp} : base::Bytes{},
                                                   with_rdma ? base::Bytes{rdma} : base::Bytes{});
            const base::Bytes whole{out.data(), size};
            const auto parts = wire::parse_terminate(whole);
            ASSERT_TRUE(parts);
            EXPECT_FALSE(parts->byte_swapped);
            EXPECT_EQ(parts->wanted, size);
            EXPECT_EQ(parts->ddp_header.size != 0, with_ddp);
            EXPECT_EQ(parts->rdma_header.size != 0, with_rdma);
            EXPECT_EQ(size, 4u + (with_ddp ? 16u : 0u) + (with_rdma ? 28u : 0u));
            for (std::size_t cut = 0; cut < size; ++cut) {
                const auto less = wire::parse_terminate(whole.first(cut));
                EXPECT_EQ(less.has_value(), cut >= 4);
                if (less) {
                    EXPECT_GT(less->wanted, cut);
                }
            }
        }
}

// RFC 5040 figure 9, RFC 5041 section 7.
TEST(Terminate, codes_have_their_words) {
    EXPECT_EQ(wire::terminate_code_name(0, 1, 2), "Access rights violation");
    EXPECT_EQ(wire::terminate_code_name(0, 2, 6), "Unexpected OpCode");
    EXPECT_EQ(wire::terminate_code_name(1, 1, 1), "Base or bounds violation");
    EXPECT_EQ(wire::terminate_code_name(1, 2, 2), "Invalid MSN - no buffer available");
    EXPECT_EQ(wire::terminate_code_name(2, 0, 2), "Received MPA CRC does not match");
    EXPECT_EQ(wire::terminate_code_name(3, 0, 2), "");
}

}  // namespace
