#include "support.h"
#include "tests/support/allocations.h"

// Nothing on the way of a segment asks for memory, once every ring has been gone around.

namespace {

using wire::RdmapOpcode;

struct Nobody final : iwarp::rdmap::InboundEvents {
    void delivered(const iwarp::rdmap::Delivered&) override { ++events; }
    void answered(const iwarp::rdmap::OutstandingRequest&, iwarp::Status) override { ++events; }
    void response_owed() override { ++events; }
    void terminated(const iwarp::Terminate&) override { ++events; }
    void receive_limit() override { ++events; }
    void first_fpdu() override { ++events; }
    int events = 0;
};

class Allocations : public support::Stream {};

TEST_F(Allocations, DoNotHappenOnASegmentsWay) {
    Nobody nobody;
    inbound.emplace(iwarp::rdmap::Inbound::Settings{.domain = domain, .queue_pair = queue_pair}, table, receives, owed,
                    outstanding, nobody);
    auto send = support::header_of(support::Untagged{});
    auto immediate = support::header_of(support::Untagged{.opcode = RdmapOpcode::immediate});
    auto request = support::header_of(support::Untagged{.opcode = RdmapOpcode::read_request, .queue = 1});
    const auto write = support::header_of(support::Tagged{.stag = stag, .offset = offset_of(0)});
    const auto response =
        support::header_of(support::Tagged{.opcode = RdmapOpcode::read_response, .stag = stag, .offset = offset_of(0)});
    const auto read =
        wire::to_octets(wire::RdmapReadRequest{.size = 1, .source_stag = stag, .source_offset = offset_of(0)});
    const auto payload = support::pattern(100);
    const std::array<iwarp::Sge, 2> pieces{iwarp::Sge{memory.data(), 60, stag}, iwarp::Sge{memory.data(), 60, stag}};
    std::uint32_t msn = 0, request_msn = 0;
    const auto feed = [&](const std::vector<std::byte>& header, base::Bytes octets) {
        const auto begun = inbound->begin_segment(header, static_cast<std::uint32_t>(octets.size()));
        if (!begun) return false;
        std::size_t at = 0;
        for (const auto piece : begun->pieces) {
            std::copy_n(octets.begin() + static_cast<std::ptrdiff_t>(at), piece.size(), piece.begin());
            at += piece.size();
        }
        return !inbound->end_segment();
    };
    const auto round = [&] {
        bool right = true;
        receives.post({.id = 1, .pieces = pieces});
        receives.post({.id = 2, .pieces = pieces});
        base::store_be32(send.data() + 10, ++msn);
        right = right && feed(send, payload);
        base::store_be32(immediate.data() + 10, ++msn);
        right = right && feed(immediate, std::span{payload}.first(8));
        right = right && feed(write, payload);
        base::store_be32(request.data() + 10, ++request_msn);
        right = right && feed(request, read);
        owed.pop();
        ask_read(0, 100);
        return right && feed(response, payload);
    };
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(round());
    const auto before = support::allocations();
    bool right = true;
    for (int i = 0; i < 1000; ++i) right = round() && right;
    const auto after = support::allocations();
    EXPECT_TRUE(right);
    EXPECT_EQ(after, before);
    EXPECT_EQ(nobody.events, 1 + 1020 * 4);
}

// An idle connection has 8 KiB for everything; this is the part of it that is here.
TEST_F(Allocations, OfAnIdleStreamAreSmall) { EXPECT_LE(sizeof(iwarp::rdmap::Inbound), 1024u); }

}  // namespace
