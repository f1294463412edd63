#include "iwarp/rdmap/outbound.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "support.h"

// What leaves, in which order, and what must not: RFC 5040 sections 5.2 and 5.5, RFC 5041 section 5.

namespace {

using iwarp::Access;
using iwarp::Operation;
using iwarp::SendRequest;
using iwarp::Sge;
using iwarp::Status;
using iwarp::mpa::Batch;
using iwarp::mpa::FpduWriter;
using iwarp::rdmap::Outbound;
using iwarp::rdmap::OwedResponse;
using iwarp::rdmap::SendQueue;
using testing::ElementsAre;

constexpr std::uint32_t longest_ulpdu = 1014;  // a thousand octets of a Write

class Leaving : public support::Stream, public iwarp::rdmap::OutboundEvents {
protected:
    void withdrawn(std::span<const std::byte> octets) override { given_back.push_back(octets.data()); }

    Sge piece(std::size_t offset, std::uint32_t octets) const { return {memory.data() + offset, octets, stag}; }
    void post(const SendRequest& request) { ASSERT_EQ(sends.post(request, nullptr, nullptr), iwarp::Posted::ok); }
    void post(Operation operation, const std::vector<Sge>& pieces) {
        SendRequest request;
        request.operation = operation;
        request.pieces = pieces;
        post(request);
    }
    OwedResponse response(std::uint32_t source_stag, std::uint32_t octets = 100) const {
        OwedResponse owing;
        owing.sink_stag = 0x01020304;
        owing.sink_offset = 0x1122334455667788;
        owing.length = octets;
        owing.source_stag = source_stag;
        owing.source_offset = offset_of(0);
        return owing;
    }
    /// The opcodes of the FPDUs that come to the batch now, one digit each, in hexadecimal.
    std::string fill() {
        outbound.fill(writer, batch);
        return opcodes();
    }
    std::string opcodes() {
        std::vector<std::byte> all;
        for (const base::Bytes some : batch.pieces()) all.insert(all.end(), some.begin(), some.end());
        std::string found;
        // Without markers an FPDU has its length first, then DDP's control octet and RDMAP's; then pad and CRC.
        for (std::size_t at = 0; at + 4 < all.size();) {
            const std::size_t length =
                std::to_integer<std::size_t>(all[at]) << 8 | std::to_integer<std::size_t>(all[at + 1]);
            found += "0123456789abcdef"[std::to_integer<unsigned>(all[at + 3]) & 15];
            at += (2 + length + 3) / 4 * 4 + 4;
        }
        return found;
    }
    void sent() {
        batch.consume(batch.octets());
        sends.drained();
    }

    SendQueue sends{16, 4, 64};
    FpduWriter writer{{true, false}};
    Batch batch;
    std::vector<const std::byte*> given_back;
    Outbound outbound{{domain, queue_pair, false, longest_ulpdu}, table, sends, owed, outstanding, *this};
};

// A message of which a part could not be sent is not begun.
TEST_F(Leaving, NothingOfAMessageThatEndsInStrangeMemory) {
    for (const Operation operation : {Operation::send, Operation::write}) {
        SendQueue other{16, 4, 64};
        Outbound with{{domain, queue_pair, false, longest_ulpdu}, table, other, owed, outstanding, *this};
        SendRequest request;
        request.operation = operation;
        const std::vector<Sge> pieces{piece(0, 3000), Sge{memory.data(), 1, stag ^ 1}};
        request.pieces = pieces;
        ASSERT_EQ(other.post(request, nullptr, nullptr), iwarp::Posted::ok);
        with.fill(writer, batch);
        EXPECT_TRUE(batch.empty());
        ASSERT_TRUE(with.send_failure());
        EXPECT_EQ(with.send_failure()->status, Status::local_protection);
        EXPECT_EQ(with.send_failure()->ticket, 0u);
    }
    EXPECT_EQ(writer.fpdus(), 0u);
}

// RFC 5040 section 5.2.1: nothing of a Read of no octets is looked at. The same holds here of pieces without octets.
TEST_F(Leaving, PiecesOfNoOctetsMayNameAnything) {
    const Sge nothing{nullptr, 0, 0xdeadbeef};
    post(Operation::read, {nothing});
    post(Operation::send, {nothing, piece(0, 1500), nothing});
    EXPECT_EQ(fill(), "133");
    EXPECT_FALSE(outbound.send_failure());
}

// Of tagged messages there is one at a time; an atomic's answer is not tagged. RFC 7306 section 5.2.2.
TEST_F(Leaving, AtomicAnswersDoNotWaitForTheEndOfAWrite) {
    const std::vector<Sge> pieces(4, piece(0, region_octets));  // 33 segments
    post(Operation::write, pieces);
    post(Operation::write, pieces);
    EXPECT_EQ(fill(), std::string(Batch::max_fpdus, '0'));
    OwedResponse atomic;
    atomic.atomic = true;
    owed.push(atomic);
    sent();
    EXPECT_EQ(fill().substr(0, 2), "b0");
}

TEST_F(Leaving, AnInvalidationWaitsUntilWhatWasFilledInHasLeft) {
    post(Operation::write, {piece(0, 4000)});
    SendRequest request;
    request.operation = Operation::local_invalidate;
    request.invalidate_stag = stag;
    post(request);
    EXPECT_EQ(fill(), "0000");
    EXPECT_EQ(fill(), "0000");
    EXPECT_TRUE(table.find(stag)->valid);
    EXPECT_THAT(given_back, ElementsAre());
    batch.consume(batch.octets() - 1);
    outbound.fill(writer, batch);
    EXPECT_TRUE(table.find(stag)->valid);
    sent();
    EXPECT_EQ(fill(), "");
    EXPECT_FALSE(table.find(stag)->valid);
    EXPECT_THAT(given_back, ElementsAre(memory.data()));
}

// RFC 5040 section 4.8: the headers of the Read Request that is refused, wherever in the queue of answers that was.
TEST_F(Leaving, ARefusalBringsTheHeadersOfItsRequest) {
    const std::uint32_t lost = register_region(Access::remote_read);
    owed.push(response(stag));
    OwedResponse atomic;
    atomic.atomic = true;
    owed.push(atomic);
    owed.push(response(lost));
    table.find(lost)->valid = false;
    EXPECT_EQ(fill(), "2b");
    ASSERT_TRUE(outbound.answer_failure());
    EXPECT_EQ(support::text_of(outbound.answer_failure()->fault), "0/1/00");
    const std::vector<std::byte> body = outbound.answer_failure()->body;
    // Layer 0, type 1, code 0; M, D and R; the segment's length, 18 + 28; the request's third MSN.
    const auto request =
        wire::to_octets(wire::RdmapReadRequest{0x01020304, 0x1122334455667788, 100, lost, offset_of(0)});
    EXPECT_EQ(support::hex(body),
              "0100e000002e"
              "4141"
              "00000000"
              "00000001"
              "00000003"
              "00000000" +
                  support::hex(request));
}

// RFC 5040 section 4.8: "updated to reflect the current location of the RDMA Read operation that is in process".
TEST_F(Leaving, ARefusalInTheMiddleOfAnAnswerSaysHowFarItGot) {
    const std::uint32_t lost = register_region(Access::remote_read);
    std::vector<Sge> pieces(4, piece(0, region_octets));
    post(Operation::write, pieces);  // 33 segments
    pieces.pop_back();
    post(Operation::write, pieces);  // 25, so that a batch has room for but a part of the answer
    EXPECT_EQ(fill(), std::string(33 + 25, '0'));
    owed.push(response(lost, region_octets));
    EXPECT_EQ(fill(), std::string(33 + 25, '0') + "222222");
    constexpr std::uint32_t octets = 6000;
    constexpr std::uint32_t all = region_octets;
    table.find(lost)->valid = false;
    sent();
    fill();
    ASSERT_TRUE(outbound.answer_failure());
    const auto request = wire::to_octets(
        wire::RdmapReadRequest{0x01020304, 0x1122334455667788ull + octets, all - octets, lost, offset_of(0) + octets});
    EXPECT_EQ(support::hex(outbound.answer_failure()->body),
              "0100e000002e"
              "4141"
              "00000000"
              "00000001"
              "00000001"
              "00000000" +
                  support::hex(request));
}

// Where TCP does not take all of a batch, what its CRCs cover may change: by the peer's Writes, by the program.
TEST_F(Leaving, AnswersFromMemoryThatMayChangeAreTold) {
    const std::uint32_t constant = register_region(Access::remote_read);
    owed.push(response(constant));
    EXPECT_EQ(fill(), "2");
    EXPECT_FALSE(outbound.take_may_change());
    owed.push(response(stag));
    owed.push(response(constant));
    EXPECT_EQ(fill(), "222");
    EXPECT_TRUE(outbound.take_may_change());
    EXPECT_FALSE(outbound.take_may_change());
}

}  // namespace
