#include <cstring>
#include <gmock/gmock.h>

#include "support.h"

// Read Requests and Atomic Requests: queue 1. RFC 5040 sections 5.2.1 and 7.2, RFC 7306 sections 5 and 8.2.

namespace {

using iwarp::Access;
using support::pattern;
using wire::RdmapOpcode;

constexpr std::uint64_t end_of_offsets = ~std::uint64_t{0};

class Requests : public support::Stream {
protected:
    wire::RdmapReadRequest read(std::size_t source = 0, std::uint32_t octets = 100) const {
        return {.sink_stag = 0xabcdef01,
                .sink_offset = 0x1122334455667788,
                .size = octets,
                .source_stag = stag,
                .source_offset = offset_of(source)};
    }
    wire::RdmapAtomicRequest add(std::size_t at, std::uint64_t data) const {
        return {.operation = 0,
                .request_id = 77,
                .remote_stag = stag,
                .remote_offset = offset_of(at),
                .data = data,
                .mask = 0};
    }
    std::uint64_t value_at(std::size_t at) const {
        std::uint64_t value = 0;
        std::memcpy(&value, region().data() + at, sizeof value);
        return value;
    }
};

TEST_F(Requests, ForReadsAreOwedInTheirOrder) {
    EXPECT_EQ(read_request(1, read(5, 100)), "");
    EXPECT_EQ(read_request(2, read(8191, 1)), "");
    EXPECT_EQ(events.owed, 2);
    ASSERT_EQ(owed.size(), 2u);
    EXPECT_FALSE(owed.front().atomic);
    EXPECT_EQ(owed.front().sink_stag, 0xabcdef01u);  // copied without interpretation
    EXPECT_EQ(owed.front().sink_offset, 0x1122334455667788u);
    EXPECT_EQ(owed.front().length, 100u);
    EXPECT_EQ(owed.front().source_stag, stag);
    EXPECT_EQ(owed.front().source_offset, offset_of(5));
    EXPECT_EQ(owed.at(1).length, 1u);
    EXPECT_EQ(events.firsts, 1);
}

TEST_F(Requests, OfNoLengthAreOwedUnseen) {
    EXPECT_EQ(read_request(1, {.size = 0, .source_stag = 12, .source_offset = end_of_offsets}), "");
    ASSERT_EQ(owed.size(), 1u);
    EXPECT_EQ(owed.front().length, 0u);
}

TEST_F(Requests, MayComeInSeveralSegments) {
    const auto octets = wire::to_octets(read());
    const std::span all{octets};
    constexpr auto opcode = RdmapOpcode::read_request;
    EXPECT_EQ(untagged({.opcode = opcode, .queue = 1, .last = false}, all.first(20)), "");
    EXPECT_EQ(events.owed, 0);
    EXPECT_EQ(untagged({.opcode = opcode, .queue = 1, .offset = 20}, all.subspan(20)), "");
    EXPECT_EQ(owed.front().source_offset, offset_of(0));
}

TEST_F(Requests, BeyondTheReadDepth) {
    for (std::uint32_t msn = 1; msn <= 4; ++msn) ASSERT_EQ(read_request(msn, read()), "");
    owed.pop();
    EXPECT_EQ(read_request(5, read()), "");  // an answer has left
    EXPECT_EQ(read_request(6, read()), "1/2/02");
    EXPECT_EQ(events.owed, 5);
}

TEST_F(Requests, OfBothKindsShareTheReadDepth) {
    for (std::uint32_t msn = 1; msn <= 4; ++msn)
        ASSERT_EQ(msn % 2 == 0 ? read_request(msn, read()) : atomic_request(msn, add(0, 1)), "");
    EXPECT_EQ(atomic_request(5, add(0, 1)), "1/2/02");
    EXPECT_EQ(value_at(0), 2u);
}

TEST_F(Requests, WithNoReadDepthAtAll) {
    owed = iwarp::rdmap::OwedResponses{0};
    EXPECT_EQ(read_request(1, read()), "1/2/02");
}

TEST_F(Requests, ForReadsThatAreWrong) {
    const auto no_right = register_region(Access::local_write | Access::remote_write | Access::remote_atomic);
    const auto foreign = register_region(Access::remote_read, domain + 1);
    struct Line {
        const char* rule;
        wire::RdmapReadRequest request;
        const char* answer;
    };
    const auto with = [&](std::uint32_t source_stag, std::uint64_t offset, std::uint32_t octets) {
        auto request = read(0, octets);
        request.source_stag = source_stag;
        request.source_offset = offset;
        return request;
    };
    const std::array lines{
        Line{"STag", with(stag ^ 1, offset_of(0), 1), "0/1/00"},
        Line{"STag 0", with(0, offset_of(0), 1), "0/1/00"},
        Line{"before the region", with(stag, offset_of(0) - 1, 1), "0/1/01"},
        Line{"behind the region", with(stag, offset_of(region_octets), 1), "0/1/01"},
        Line{"longer than the region", with(stag, offset_of(1), region_octets), "0/1/01"},
        Line{"4 GiB - 1", with(stag, offset_of(0), 0xffffffff), "0/1/01"},
        Line{"rights", with(no_right, offset_of(0), 1), "0/1/02"},
        Line{"association", with(foreign, offset_of(0), 1), "0/1/03"},
        Line{"TO wrap", with(stag, end_of_offsets, 2), "0/1/04"},
        Line{"TO wrap, 4 GiB - 1", with(stag, end_of_offsets - 0xfffffffd, 0xffffffff), "0/1/04"},
    };
    for (const auto& line : lines) {
        restart({.domain = domain, .queue_pair = queue_pair});
        EXPECT_EQ(read_request(1, line.request), line.answer) << line.rule;
        EXPECT_EQ(events.owed, 0) << line.rule;
        EXPECT_EQ(events.firsts, 1) << line.rule;  // the FPDU itself was right
        EXPECT_EQ(read_request(2, read()), "") << line.rule;
        EXPECT_EQ(events.owed, 0) << line.rule;
    }
}

TEST_F(Requests, WhoseHeadersAreWrong) {
    struct Line {
        const char* rule;
        support::Untagged segment;
        std::size_t octets;
        const char* answer;
    };
    constexpr auto opcode = RdmapOpcode::read_request;
    constexpr auto atomic = RdmapOpcode::atomic_request;
    const std::array lines{
        Line{"queue 0", {.opcode = opcode, .queue = 0}, 28, "1/2/01"},
        Line{"queue 3", {.opcode = atomic, .queue = 3}, 52, "1/2/01"},
        Line{"MSN 0", {.opcode = opcode, .queue = 1, .msn = 0}, 28, "1/2/03"},
        Line{"MSN 2", {.opcode = atomic, .queue = 1, .msn = 2}, 52, "1/2/03"},
        Line{"MO", {.opcode = opcode, .queue = 1, .offset = 1}, 28, "1/2/04"},
        Line{"empty, not the last", {.opcode = opcode, .queue = 1, .last = false}, 0, "1/2/04"},
        Line{"too long", {.opcode = opcode, .queue = 1}, 29, "1/2/05"},
        Line{"much too long", {.opcode = opcode, .queue = 1}, 60000, "1/2/05"},
        Line{"atomic too long", {.opcode = atomic, .queue = 1}, 53, "1/2/05"},
        Line{"too short", {.opcode = opcode, .queue = 1}, 27, "0/2/ff"},
        Line{"empty", {.opcode = opcode, .queue = 1}, 0, "0/2/ff"},
        Line{"atomic too short", {.opcode = atomic, .queue = 1}, 28, "0/2/ff"},
    };
    for (const auto& line : lines) {
        restart({.domain = domain, .queue_pair = queue_pair});
        EXPECT_EQ(untagged(line.segment, pattern(line.octets)), line.answer) << line.rule;
        EXPECT_EQ(events.owed, 0);
    }
    restart({.domain = domain, .queue_pair = queue_pair});
    // Begun as a Read Request and ended as an atomic, which by itself would be right.
    const auto octets = wire::to_octets(add(0, 1));
    const std::span all{octets};
    EXPECT_EQ(untagged({.opcode = opcode, .queue = 1, .last = false}, all.first(20)), "");
    EXPECT_EQ(untagged({.opcode = atomic, .queue = 1, .offset = 20}, all.subspan(20)), "0/2/06");
    EXPECT_EQ(value_at(0), 0u);
}

TEST_F(Requests, ForAtomicsAreDoneOnDelivery) {
    EXPECT_EQ(atomic_request(1, add(8, 5)), "");
    EXPECT_EQ(value_at(8), 5u);
    EXPECT_EQ(atomic_request(2, add(8, 7)), "");
    EXPECT_EQ(value_at(8), 12u);
    ASSERT_EQ(owed.size(), 2u);
    EXPECT_TRUE(owed.at(1).atomic);
    EXPECT_EQ(owed.at(1).request_id, 77u);
    EXPECT_EQ(owed.at(1).original, 5u);
    auto swap = add(8, 1);
    swap.operation = 2;
    swap.mask = end_of_offsets;
    swap.compare = 12;
    EXPECT_EQ(atomic_request(3, swap), "");
    EXPECT_EQ(value_at(8), 1u);
    EXPECT_EQ(owed.at(2).original, 12u);
    EXPECT_EQ(atomic_request(4, swap), "");  // does not compare now
    EXPECT_EQ(value_at(8), 1u);
    EXPECT_EQ(owed.at(3).original, 1u);
}

TEST_F(Requests, ForAtomicsAreAlignedByAddressNotByOffset) {
    iwarp::ddp::TaggedBuffer buffer = *table.find(stag);
    buffer.first_offset = 3;  // offset 3 is the first octet, which is aligned
    const auto odd = table.insert(buffer).value();
    auto request = add(0, 1);
    request.remote_stag = odd;
    request.remote_offset = 11;
    EXPECT_EQ(atomic_request(1, request), "");
    EXPECT_EQ(value_at(8), 1u);
    request.remote_offset = 8;
    EXPECT_EQ(atomic_request(2, request), "0/2/07");
    EXPECT_EQ(events.owed, 1);
}

TEST_F(Requests, ForAtomicsThatAreWrong) {
    const auto no_right = register_region(Access::local_write | Access::remote_write | Access::remote_read);
    const auto foreign = register_region(Access::remote_atomic, domain + 1);
    struct Line {
        const char* rule;
        std::uint32_t stag;
        std::uint64_t offset;
        std::uint8_t operation;
        const char* answer;
    };
    const std::array lines{
        Line{"Swap, which RFC 7306 reserves", stag, offset_of(0), 1, "0/2/06"},
        Line{"operation 15", stag, offset_of(0), 15, "0/2/06"},
        Line{"STag", stag ^ 1, offset_of(0), 0, "0/1/00"},
        Line{"across the end", stag, offset_of(region_octets - 4), 0, "0/1/01"},
        Line{"before", stag, offset_of(0) - 8, 0, "0/1/01"},
        Line{"rights", no_right, offset_of(0), 0, "0/1/02"},
        Line{"association", foreign, offset_of(0), 2, "0/1/03"},
        Line{"TO wrap", stag, end_of_offsets - 6, 2, "0/1/04"},
        Line{"alignment by 1", stag, offset_of(1), 0, "0/2/07"},
        Line{"alignment by 4", stag, offset_of(4), 2, "0/2/07"},
        Line{"alignment by 7", stag, offset_of(7), 0, "0/2/07"},
    };
    for (const auto& line : lines) {
        restart({.domain = domain, .queue_pair = queue_pair});
        auto request = add(0, 0xffff);
        request.remote_stag = line.stag;
        request.remote_offset = line.offset;
        request.operation = line.operation;
        request.compare_mask = 0;
        EXPECT_EQ(atomic_request(1, request), line.answer) << line.rule;
        EXPECT_EQ(events.owed, 0) << line.rule;
        EXPECT_THAT(region(), testing::Each(std::byte{0})) << line.rule;
    }
}

TEST_F(Requests, IgnoreTheAtomicsReservedBits) {
    auto octets = wire::to_octets(add(0, 9));
    octets[0] = octets[1] = octets[2] = std::byte{0xff};
    octets[3] = std::byte{0xf0};
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::atomic_request, .queue = 1}, octets), "");
    EXPECT_EQ(value_at(0), 9u);
}

}  // namespace
