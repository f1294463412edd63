#include <gmock/gmock.h>

#include "support.h"

// Queue 0: Sends and Immediate Data into receives. RFC 5040 section 5.3, RFC 5041 sections 4.3, 5 and 7, RFC 7306
// section 6.

namespace {

using iwarp::Access;
using iwarp::Sge;
using iwarp::Status;
using support::octets_of;
using support::pattern;
using testing::ElementsAreArray;
using wire::RdmapOpcode;

class Sends : public support::Stream {
protected:
    std::span<const std::byte> at(std::size_t offset, std::size_t octets) const {
        return region().subspan(offset, octets);
    }
};

TEST_F(Sends, LandInTheOldestReceive) {
    post(11, 0, 100);
    post(12, 100, 100);
    const auto one = pattern(60, 1), two = pattern(100, 2);
    EXPECT_EQ(untagged({.msn = 1}, one), "");
    EXPECT_EQ(untagged({.msn = 2}, two), "");
    ASSERT_EQ(events.messages.size(), 2u);
    EXPECT_EQ(events.messages[0].receive_id, 11u);
    EXPECT_EQ(events.messages[0].status, Status::success);
    EXPECT_EQ(events.messages[0].length, 60u);
    EXPECT_FALSE(events.messages[0].solicited);
    EXPECT_FALSE(events.messages[0].immediate);
    EXPECT_FALSE(events.messages[0].invalidated_stag);
    EXPECT_EQ(events.messages[1].receive_id, 12u);
    EXPECT_EQ(events.messages[1].length, 100u);
    EXPECT_THAT(at(0, 60), ElementsAreArray(one));
    EXPECT_THAT(at(100, 100), ElementsAreArray(two));
    EXPECT_EQ(events.firsts, 1);
}

TEST_F(Sends, OfSeveralSegmentsAreDeliveredWithTheLast) {
    const auto all = pattern(2048);
    post(1, 0, 4096);
    // The example of RFC 5041 section 5.2: MULPDU 1500, 1482 octets and then 566.
    EXPECT_EQ(untagged({.last = false}, std::span{all}.first(1482)), "");
    EXPECT_TRUE(events.messages.empty());
    EXPECT_EQ(inbound->unfinished_receive(), 1u);
    EXPECT_EQ(untagged({.offset = 1482}, std::span{all}.subspan(1482)), "");
    ASSERT_EQ(events.messages.size(), 1u);
    EXPECT_EQ(events.messages[0].length, 2048u);
    EXPECT_THAT(at(0, 2048), ElementsAreArray(all));
    EXPECT_FALSE(inbound->unfinished_receive());
}

TEST_F(Sends, AreScatteredOverThePieces) {
    const std::array<Sge, 4> pieces{Sge{memory.data() + 4000, 3, stag}, Sge{memory.data(), 0, stag},
                                    Sge{memory.data() + 100, 10, stag}, Sge{memory.data() + 8184, 8, stag}};
    for (std::size_t cut = 0; cut <= 21; ++cut) {  // every way to cut it in two
        const auto all = pattern(21, static_cast<unsigned>(cut));
        receives.post({.id = cut, .pieces = pieces});
        const auto msn = static_cast<std::uint32_t>(cut + 1);
        if (cut != 0 && cut != 21) {
            ASSERT_EQ(untagged({.msn = msn, .last = false}, std::span{all}.first(cut)), "");
            ASSERT_EQ(untagged({.msn = msn, .offset = static_cast<std::uint32_t>(cut)}, std::span{all}.subspan(cut)),
                      "");
        } else {
            ASSERT_EQ(untagged({.msn = msn}, all), "");
        }
        ASSERT_EQ(events.messages.size(), cut + 1);
        ASSERT_THAT(at(4000, 3), ElementsAreArray(std::span{all}.first(3)));
        ASSERT_THAT(at(100, 10), ElementsAreArray(std::span{all}.subspan(3, 10)));
        ASSERT_THAT(at(8184, 8), ElementsAreArray(std::span{all}.last(8)));
    }
}

TEST_F(Sends, FillAllThirtyTwoPieces) {
    iwarp::ddp::ReceiveQueue many{4, 32};
    inbound.emplace(iwarp::rdmap::Inbound::Settings{.domain = domain, .queue_pair = queue_pair}, table, many, owed,
                    outstanding, events);
    std::vector<Sge> pieces;
    for (std::size_t i = 0; i < 32; ++i) pieces.push_back({memory.data() + 10 * i, 3, stag});
    ASSERT_EQ(many.post({.id = 1, .pieces = pieces}), iwarp::Posted::ok);
    const auto all = pattern(96);
    EXPECT_EQ(untagged({}, all), "");
    for (std::size_t i = 0; i < 32; ++i) EXPECT_THAT(at(10 * i, 3), ElementsAreArray(std::span{all}.subspan(3 * i, 3)));
}

TEST_F(Sends, OfNoLengthTakeAReceive) {
    receives.post({.id = 5, .pieces = {}});
    EXPECT_EQ(untagged({}), "");
    ASSERT_EQ(events.messages.size(), 1u);
    EXPECT_EQ(events.messages[0].receive_id, 5u);
    EXPECT_EQ(events.messages[0].length, 0u);
    EXPECT_EQ(untagged({.msn = 2}), "1/2/02");
}

TEST_F(Sends, MaySolicitAnEvent) {
    post(1, 0, 10);
    post(2, 0, 10);
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::send_solicited}, pattern(5)), "");
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::send_solicited_invalidate, .msn = 2, .invalidate = stag}, pattern(5)),
              "");
    ASSERT_EQ(events.messages.size(), 2u);
    EXPECT_TRUE(events.messages[0].solicited);
    EXPECT_TRUE(events.messages[1].solicited);
}

TEST_F(Sends, MayInvalidateARegionOfThePeers) {
    const auto shown = register_region(Access::remote_read);
    post(1, 0, 10);
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::send_invalidate, .invalidate = shown}, pattern(5)), "");
    ASSERT_EQ(events.messages.size(), 1u);
    EXPECT_EQ(events.messages[0].invalidated_stag, shown);
    EXPECT_FALSE(table.find(shown)->valid);
}

TEST_F(Sends, InvalidateOnlyOnDelivery) {
    const auto shown = register_region(Access::remote_write);
    post(1, 0, 10);
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::send_invalidate, .last = false, .invalidate = shown}, pattern(5)), "");
    EXPECT_TRUE(table.find(shown)->valid);
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::send_invalidate, .offset = 5, .invalidate = shown}, pattern(5)), "");
    EXPECT_FALSE(table.find(shown)->valid);
}

TEST_F(Sends, CannotInvalidateWhatIsNotTheirs) {
    const auto foreign = register_region(Access::remote_read, domain + 1);
    const auto never_shown = register_region(Access::local_write);
    const auto invalid = register_region(Access::remote_read);
    table.find(invalid)->valid = false;
    const auto bound = register_region(Access::remote_read | Access::bind);
    table.find(bound)->windows = 1;
    for (const auto wrong : {foreign, never_shown, invalid, bound, 0u, stag ^ 1}) {
        restart({.domain = domain, .queue_pair = queue_pair});
        post(1, 0, 10);
        EXPECT_EQ(untagged({.opcode = RdmapOpcode::send_invalidate, .invalidate = wrong}, pattern(5)), "0/1/09");
        EXPECT_TRUE(events.messages.empty());
        EXPECT_EQ(inbound->unfinished_receive(), 1u);
    }
    EXPECT_TRUE(table.find(foreign)->valid);
    EXPECT_TRUE(table.find(never_shown)->valid);
}

TEST_F(Sends, CountFromOneThroughZero) {
    restart({.domain = domain, .queue_pair = queue_pair, .first_msn = 0xfffffffe});
    for (std::uint64_t id = 0; id < 4; ++id) post(id, 0, 10);
    EXPECT_EQ(untagged({.msn = 0xfffffffe}, pattern(5)), "");
    EXPECT_EQ(untagged({.msn = 0xffffffff}, pattern(5)), "");
    EXPECT_EQ(untagged({.msn = 0}, pattern(5)), "");
    EXPECT_EQ(untagged({.msn = 1}, pattern(5)), "");
    EXPECT_EQ(events.messages.size(), 4u);
}

TEST_F(Sends, TellTheSharedQueuesLimit) {
    for (std::uint64_t id = 0; id < 3; ++id) post(id, 0, 10);
    receives.arm_limit(2);
    untagged({.msn = 1}, pattern(5));
    EXPECT_EQ(events.limits, 0);
    untagged({.msn = 2}, pattern(5));
    untagged({.msn = 3}, pattern(5));
    EXPECT_EQ(events.limits, 1);
}

TEST_F(Sends, ReservedBitsAndTheConsortiumsVersionAreNoFault) {
    post(1, 0, 10);
    post(2, 0, 10);
    auto header = support::header_of(support::Untagged{});
    header[0] |= std::byte{0x3c};             // DDP's four
    header[1] |= std::byte{0x30};             // RDMAP's two
    header[2] = header[5] = std::byte{0xff};  // "Invalidate STag" of a Send without
    EXPECT_EQ(raw(header, pattern(5)), "");
    auto consortium = support::header_of(support::Untagged{.msn = 2});
    consortium[1] &= std::byte{0x0f};
    EXPECT_EQ(raw(consortium, pattern(5)), "");
    EXPECT_EQ(events.messages.size(), 2u);
}

TEST_F(Sends, ImmediateDataTravelsInTheCompletion) {
    post(1, 0, 10);
    receives.post({.id = 2, .pieces = {}});
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::immediate}, octets_of("0102030405060708")), "");
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::immediate_solicited, .msn = 2}, octets_of("ffffffffffffffff")), "");
    ASSERT_EQ(events.messages.size(), 2u);
    EXPECT_EQ(events.messages[0].receive_id, 1u);
    EXPECT_EQ(events.messages[0].immediate, 0x0102030405060708u);
    EXPECT_EQ(events.messages[0].length, 0u);
    EXPECT_FALSE(events.messages[0].solicited);
    EXPECT_EQ(events.messages[1].immediate, ~std::uint64_t{0});
    EXPECT_TRUE(events.messages[1].solicited);
    EXPECT_EQ(region()[0], std::byte{0});
}

// One line a rule: what comes, and the answer of the tables.
struct Bad {
    const char* rule;
    support::Untagged segment;
    std::size_t octets;
    const char* answer;
};
class BadSends : public support::Stream, public testing::WithParamInterface<Bad> {};

TEST_P(BadSends, GetTheTablesAnswer) {
    post(1, 0, 100);
    post(2, 100, 100);
    ASSERT_EQ(untagged({.last = false}, pattern(10)), "");  // a message is under way
    const std::vector<std::byte> before{region().begin(), region().end()};
    const auto payload = pattern(GetParam().octets, 3);
    EXPECT_EQ(untagged(GetParam().segment, payload), GetParam().answer);
    EXPECT_THAT(before, ElementsAreArray(region())) << "memory was touched";
    // From now on segments are dropped, silently.
    EXPECT_EQ(untagged({.offset = 10}, pattern(10)), "");
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(0)}, pattern(60000)), "");
    EXPECT_THAT(before, ElementsAreArray(region())) << "memory was touched";
    EXPECT_EQ(events.firsts, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BadSends,
    testing::Values(
        Bad{"queue 4 and above", {.queue = 4}, 5, "1/2/01"}, Bad{"any queue but 0", {.queue = 1}, 5, "1/2/01"},
        Bad{"queue 2 is the Terminate's", {.queue = 2}, 5, "1/2/01"},
        Bad{"queue number's high bits", {.queue = 0x80000000, .offset = 10}, 5, "1/2/01"},
        Bad{"MSN behind", {.msn = 0, .offset = 10}, 5, "1/2/03"},
        Bad{"MSN of the next before the last segment", {.msn = 2}, 5, "1/2/03"},
        Bad{"MSN far ahead", {.msn = 0x80000001, .offset = 10}, 5, "1/2/03"},
        Bad{"MO leaves a gap", {.offset = 11}, 5, "1/2/04"}, Bad{"MO goes back", {.offset = 0}, 5, "1/2/04"},
        Bad{"MO beyond the buffer", {.offset = 0xffffffff}, 5, "1/2/04"},
        Bad{"an empty segment that is not the last", {.offset = 10, .last = false}, 0, "1/2/04"},
        Bad{"longer than the receive by one", {.offset = 10}, 91, "1/2/05"},
        Bad{"longer than the receive, not the last", {.offset = 10, .last = false}, 65000, "1/2/05"},
        Bad{"Immediate Data in the middle of a Send", {.opcode = RdmapOpcode::immediate, .offset = 10}, 8, "0/2/06"},
        Bad{"opcode 12", {.opcode = RdmapOpcode{12}, .offset = 10}, 5, "0/2/06"},
        Bad{"opcode 15", {.opcode = RdmapOpcode{15}, .offset = 10}, 5, "0/2/06"},
        Bad{"a Write that is not tagged", {.opcode = RdmapOpcode::write, .offset = 10}, 5, "0/2/06"},
        Bad{"a Read Response that is not tagged", {.opcode = RdmapOpcode::read_response, .offset = 10}, 5, "0/2/06"}),
    [](const auto& line) { return "Rule" + std::to_string(line.index); });

TEST_F(Sends, VersionsThatNobodyKnows) {
    const std::array<std::pair<unsigned, const char*>, 3> ddp{std::pair{0u, "1/2/06"}, std::pair{2u, "1/2/06"},
                                                              std::pair{3u, "1/2/06"}};
    for (const auto& [version, answer] : ddp) {
        restart({.domain = domain, .queue_pair = queue_pair});
        post(1, 0, 100);
        auto header = support::header_of(support::Untagged{});
        header[0] = (header[0] & std::byte{0xfc}) | static_cast<std::byte>(version);
        EXPECT_EQ(raw(header, pattern(5)), answer);
    }
    for (const unsigned version : {2u, 3u}) {
        restart({.domain = domain, .queue_pair = queue_pair});
        post(1, 0, 100);
        auto header = support::header_of(support::Untagged{});
        header[1] = (header[1] & std::byte{0x3f}) | static_cast<std::byte>(version << 6);
        EXPECT_EQ(raw(header, pattern(5)), "0/2/05");
    }
}

TEST_F(Sends, WithoutAReceiveAreRefused) {
    EXPECT_EQ(untagged({}, pattern(5)), "1/2/02");
    EXPECT_TRUE(events.messages.empty());
    EXPECT_EQ(events.firsts, 0);
}

TEST_F(Sends, TooLongCompleteTheirReceiveInError) {
    post(1, 0, 4);
    EXPECT_EQ(untagged({}, pattern(5)), "1/2/05");
    ASSERT_EQ(events.messages.size(), 1u);
    EXPECT_EQ(events.messages[0].receive_id, 1u);
    EXPECT_EQ(events.messages[0].status, Status::local_length);
    EXPECT_FALSE(inbound->unfinished_receive());
}

TEST_F(Sends, ImmediateDataIsEightOctets) {
    for (const std::size_t octets : {0u, 1u, 7u, 9u, 16u, 100u}) {
        restart({.domain = domain, .queue_pair = queue_pair});
        post(1, 0, 1000);
        EXPECT_EQ(untagged({.opcode = RdmapOpcode::immediate}, pattern(octets)), "0/2/ff") << octets;
        EXPECT_TRUE(events.messages.empty());
        EXPECT_EQ(inbound->unfinished_receive(), 1u);
    }
    restart({.domain = domain, .queue_pair = queue_pair});
    post(1, 0, 1000);
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::immediate, .last = false}, pattern(8)), "0/2/ff");
    restart({.domain = domain, .queue_pair = queue_pair});
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::immediate, .queue = 1}, pattern(8)), "1/2/01");
}

TEST_F(Sends, WithoutTheRightToTheReceivesMemoryEndTheStream) {
    const auto read_only = register_region(Access::remote_read);
    const auto foreign = register_region(Access::local_write, domain + 1);
    const std::array<Sge, 5> wrong{Sge{memory.data(), 100, read_only}, Sge{memory.data(), 100, foreign},
                                   Sge{memory.data() + 8190, 100, stag}, Sge{memory.data(), 100, 0},
                                   Sge{memory.data() - 1, 100, stag}};
    for (const auto& piece : wrong) {
        restart({.domain = domain, .queue_pair = queue_pair});
        receives.post({.id = 3, .pieces = {&piece, 1}});
        EXPECT_EQ(untagged({}, pattern(50)), "0/0/00");
        ASSERT_EQ(events.messages.size(), 1u);
        EXPECT_EQ(events.messages[0].status, Status::local_protection);
        EXPECT_EQ(events.messages[0].receive_id, 3u);
        EXPECT_FALSE(inbound->unfinished_receive());
    }
}

TEST_F(Sends, ASharedQueuesPiecesAreOfItsOwnDomain) {
    const auto theirs = register_region(Access::local_write, domain + 1);
    const Sge piece{memory.data(), 100, theirs};
    restart({.domain = domain, .queue_pair = queue_pair, .receive_domain = domain + 1});
    receives.post({.id = 3, .pieces = {&piece, 1}});
    EXPECT_EQ(untagged({}, pattern(50)), "");
}

TEST_F(Sends, StagZeroIsForThePrivileged) {
    const Sge piece{memory.data(), 100, 0};
    restart({.domain = domain, .queue_pair = queue_pair, .privileged = true});
    receives.post({.id = 3, .pieces = {&piece, 1}});
    const auto sent = pattern(50);
    EXPECT_EQ(untagged({}, sent), "");
    EXPECT_THAT(at(0, 50), ElementsAreArray(sent));
}

// RFC 6581 section 9.2.
TEST_F(Sends, AsReadyToReceiveTakeNoReceive) {
    restart({.domain = domain, .queue_pair = queue_pair, .owes_ready_message = true});
    post(1, 0, 100);
    EXPECT_EQ(untagged({}), "");
    EXPECT_TRUE(events.messages.empty());
    EXPECT_EQ(events.firsts, 1);
    EXPECT_EQ(untagged({.msn = 2}), "");  // the next empty one is the user's
    ASSERT_EQ(events.messages.size(), 1u);
    EXPECT_EQ(events.messages[0].receive_id, 1u);
}

TEST_F(Sends, AfterAWriteOrReadAsReadyToReceiveAreTheUsers) {
    for (const bool by_write : {true, false}) {
        restart({.domain = domain, .queue_pair = queue_pair, .owes_ready_message = true});
        post(1, 0, 100);
        if (by_write)
            EXPECT_EQ(tagged({.stag = 99}), "");
        else
            EXPECT_EQ(read_request(1, {}), "");
        EXPECT_EQ(events.firsts, 1);
        EXPECT_EQ(untagged({}), "");
        EXPECT_EQ(events.messages.size(), 1u);
    }
}

TEST_F(Sends, OfAnyLengthAreTheUsersWhereAReadyMessageIsOwed) {
    restart({.domain = domain, .queue_pair = queue_pair, .owes_ready_message = true});
    post(1, 0, 100);
    EXPECT_EQ(untagged({}, pattern(1)), "");
    EXPECT_EQ(events.messages.size(), 1u);
}

TEST_F(Sends, HeadersThatAreCutShort) {
    const auto header = support::header_of(support::Untagged{});
    for (std::size_t octets = 0; octets < 18; ++octets) {
        restart({.domain = domain, .queue_pair = queue_pair});
        EXPECT_EQ(raw(std::span{header}.first(octets), {}), "2/0/03");
    }
}

}  // namespace
