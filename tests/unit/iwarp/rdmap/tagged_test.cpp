#include <gmock/gmock.h>

#include "support.h"

// Writes, and the answers to our reads and atomics. RFC 5040 sections 5.1 and 5.2.2, RFC 5041 sections 5.2 and 7, RFC
// 7306 section 5.2.2.

namespace {

using iwarp::Access;
using iwarp::Status;
using support::pattern;
using testing::ElementsAreArray;
using wire::RdmapOpcode;

class Writes : public support::Stream {};

TEST_F(Writes, LandAtTheirOffsetsAndTellNobody) {
    const auto all = pattern(2048);
    // RFC 5041 section 5.2's example: TO 16384 and then 17870, here counted from the region's start.
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(384), .last = false}, std::span{all}.first(1486)), "");
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(384 + 1486)}, std::span{all}.subspan(1486)), "");
    EXPECT_THAT(region().subspan(384, 2048), ElementsAreArray(all));
    EXPECT_TRUE(events.messages.empty());
    EXPECT_EQ(events.firsts, 1);
}

TEST_F(Writes, ReachTheFirstAndTheLastOctet) {
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(0)}, pattern(1)), "");
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(region_octets - 1)}, pattern(1)), "");
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(0)}, pattern(region_octets)), "");
}

TEST_F(Writes, OfNoLengthNameNothing) {
    EXPECT_EQ(tagged({.stag = 0xffffffff, .offset = ~std::uint64_t{0}}), "");
    EXPECT_EQ(tagged({.stag = stag, .last = false}), "0/2/ff");  // but are one segment
}

TEST_F(Writes, AndSendsMayInterleave) {
    post(1, 0, 100);
    EXPECT_EQ(untagged({.last = false}, pattern(10, 1)), "");
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(200), .last = false}, pattern(10, 2)), "");
    EXPECT_EQ(untagged({.offset = 10}, pattern(10, 3)), "");
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(210)}, pattern(10, 4)), "");
    ASSERT_EQ(events.messages.size(), 1u);
    EXPECT_EQ(events.messages[0].length, 20u);
    EXPECT_THAT(region().subspan(10, 10), ElementsAreArray(pattern(10, 3)));
    EXPECT_THAT(region().subspan(210, 10), ElementsAreArray(pattern(10, 4)));
}

TEST_F(Writes, IgnoreReservedBitsAndTakeTheConsortiumsVersion) {
    auto header = support::header_of(support::Tagged{.stag = stag, .offset = offset_of(0)});
    header[0] |= std::byte{0x3c};
    header[1] = std::byte{0x30};
    EXPECT_EQ(raw(header, pattern(5)), "");
}

struct BadTagged {
    const char* rule;
    const char* answer;
    std::function<std::string(Writes&)> act;
};
class BadWrites : public Writes, public testing::WithParamInterface<BadTagged> {};

TEST_P(BadWrites, GetTheTablesAnswerAndTouchNothing) {
    EXPECT_EQ(GetParam().act(*this), GetParam().answer);
    EXPECT_THAT(region(), testing::Each(std::byte{0}));
    EXPECT_EQ(tagged({.stag = stag, .offset = offset_of(0)}, pattern(65000)), "");  // dropped
    EXPECT_EQ(untagged({}, pattern(65000)), "");
    EXPECT_THAT(region(), testing::Each(std::byte{0}));
    EXPECT_TRUE(events.messages.empty());
    EXPECT_EQ(events.firsts, 0);
}

constexpr std::uint64_t last_offset = ~std::uint64_t{0};
INSTANTIATE_TEST_SUITE_P(
    Rules, BadWrites,
    testing::Values(
        BadTagged{"no such STag", "1/1/00",
                  [](Writes& s) { return s.tagged({.stag = s.stag ^ 0x100, .offset = s.offset_of(0)}, pattern(5)); }},
        BadTagged{"another key", "1/1/00",
                  [](Writes& s) { return s.tagged({.stag = s.stag ^ 1, .offset = s.offset_of(0)}, pattern(5)); }},
        BadTagged{"STag 0", "1/1/00", [](Writes& s) { return s.tagged({.offset = s.offset_of(0)}, pattern(5)); }},
        BadTagged{"an invalidated STag", "1/1/00",
                  [](Writes& s) {
                      s.table.find(s.stag)->valid = false;
                      return s.tagged({.stag = s.stag, .offset = s.offset_of(0)}, pattern(5));
                  }},
        BadTagged{"a deregistered STag", "1/1/00",
                  [](Writes& s) {
                      s.table.erase(s.stag);
                      return s.tagged({.stag = s.stag, .offset = s.offset_of(0)}, pattern(5));
                  }},
        BadTagged{"one octet before", "1/1/01",
                  [](Writes& s) { return s.tagged({.stag = s.stag, .offset = s.offset_of(0) - 1}, pattern(5)); }},
        BadTagged{"one octet behind", "1/1/01",
                  [](Writes& s) {
                      return s.tagged({.stag = s.stag, .offset = s.offset_of(Writes::region_octets)}, pattern(1));
                  }},
        BadTagged{"one octet too long", "1/1/01",
                  [](Writes& s) {
                      return s.tagged({.stag = s.stag, .offset = s.offset_of(0)}, pattern(Writes::region_octets + 1));
                  }},
        BadTagged{"another domain's", "1/1/02",
                  [](Writes& s) {
                      const auto foreign = s.register_region(Access::remote_write, Writes::domain + 1);
                      return s.tagged({.stag = foreign, .offset = s.offset_of(0)}, pattern(5));
                  }},
        BadTagged{"another queue pair's window", "1/1/02",
                  [](Writes& s) {
                      auto window = *s.table.find(s.stag);
                      window.kind = iwarp::ddp::TaggedBuffer::Kind::window_2;
                      window.parent = s.stag;
                      window.queue_pair = Writes::queue_pair + 1;
                      return s.tagged({.stag = *s.table.insert(window), .offset = s.offset_of(0)}, pattern(5));
                  }},
        BadTagged{"TO wraps", "1/1/03",
                  [](Writes& s) { return s.tagged({.stag = s.stag, .offset = last_offset}, pattern(2)); }},
        BadTagged{"TO wraps to 0", "1/1/03",
                  [](Writes& s) { return s.tagged({.stag = s.stag, .offset = last_offset - 4}, pattern(5)); }},
        BadTagged{"without the right", "0/1/02",
                  [](Writes& s) {
                      const auto other =
                          s.register_region(Access::local_write | Access::remote_read | Access::remote_atomic);
                      return s.tagged({.stag = other, .offset = s.offset_of(0)}, pattern(5));
                  }},
        BadTagged{"DDP version 0", "1/1/04",
                  [](Writes& s) {
                      auto header = support::header_of(support::Tagged{.stag = s.stag, .offset = s.offset_of(0)});
                      header[0] &= std::byte{0xfc};
                      return s.raw(header, pattern(5));
                  }},
        BadTagged{"DDP version 2", "1/1/04",
                  [](Writes& s) {
                      auto header = support::header_of(support::Tagged{.stag = s.stag, .offset = s.offset_of(0)});
                      header[0] ^= std::byte{3};
                      return s.raw(header, pattern(5));
                  }},
        BadTagged{"RDMAP version 2", "0/2/05",
                  [](Writes& s) {
                      auto header = support::header_of(support::Tagged{.stag = s.stag, .offset = s.offset_of(0)});
                      header[1] = std::byte{0x80};
                      return s.raw(header, pattern(5));
                  }},
        BadTagged{"a tagged Send", "0/2/06",
                  [](Writes& s) {
                      return s.tagged({.opcode = RdmapOpcode::send, .stag = s.stag, .offset = s.offset_of(0)},
                                      pattern(5));
                  }},
        BadTagged{"a tagged Read Request", "0/2/06",
                  [](Writes& s) {
                      return s.tagged({.opcode = RdmapOpcode::read_request, .stag = s.stag, .offset = s.offset_of(0)},
                                      pattern(28));
                  }},
        BadTagged{"tagged opcode 13", "0/2/06",
                  [](Writes& s) { return s.tagged({.opcode = RdmapOpcode{13}, .stag = s.stag}, pattern(5)); }},
        BadTagged{"a header cut short", "2/0/03",
                  [](Writes& s) {
                      const auto header = support::header_of(support::Tagged{.stag = s.stag, .offset = s.offset_of(0)});
                      return s.raw(std::span{header}.first(13), {});
                  }}),
    [](const auto& line) { return "Rule" + std::to_string(line.index); });

class Answers : public support::Stream {
protected:
    std::string response(std::size_t sink, std::span<const std::byte> payload, bool last = true) {
        return tagged({.opcode = RdmapOpcode::read_response, .stag = stag, .offset = offset_of(sink), .last = last},
                      payload);
    }
};

TEST_F(Answers, CompleteTheOldestRead) {
    ask_read(100, 3000).ticket = 70;
    ask_read(4000, 10).ticket = 71;
    const auto all = pattern(3000);
    EXPECT_EQ(response(100, std::span{all}.first(1400), false), "");
    EXPECT_TRUE(events.answers.empty());
    EXPECT_EQ(response(1500, std::span{all}.subspan(1400)), "");
    ASSERT_EQ(events.answers.size(), 1u);
    EXPECT_EQ(events.answers[0].request.ticket, 70u);
    EXPECT_EQ(events.answers[0].status, Status::success);
    EXPECT_EQ(outstanding.size(), 1u);
    EXPECT_THAT(region().subspan(100, 3000), ElementsAreArray(all));
    EXPECT_EQ(response(4000, pattern(10)), "");
    ASSERT_EQ(events.answers.size(), 2u);
    EXPECT_EQ(events.answers[1].request.ticket, 71u);
    EXPECT_TRUE(outstanding.empty());
}

TEST_F(Answers, OfNoLengthNameNothing) {
    ask_read(0, 0);
    EXPECT_EQ(tagged({.opcode = RdmapOpcode::read_response, .stag = 12345, .offset = 678}), "");
    EXPECT_EQ(events.answers.size(), 1u);
}

TEST_F(Answers, NeedOnlyTheLocalRight) {
    const auto local = register_region(Access::local_write);
    auto& request = ask_read(0, 5);
    request.sink_stag = request.sink.stag = local;
    EXPECT_EQ(tagged({.opcode = RdmapOpcode::read_response, .stag = local, .offset = offset_of(0)}, pattern(5)), "");
    EXPECT_EQ(events.answers.size(), 1u);
}

TEST_F(Answers, ThatNobodyAskedFor) {
    EXPECT_EQ(response(0, pattern(5)), "0/2/06");
    restart({.domain = domain, .queue_pair = queue_pair});
    ask_atomic(0, 1);  // the oldest is an atomic: its answer comes first
    ask_read(0, 5);
    EXPECT_EQ(response(0, pattern(5)), "0/2/06");
    EXPECT_TRUE(events.answers.empty());
}

TEST_F(Answers, ThatDoNotFitTheQuestion) {
    struct Line {
        const char* rule;
        support::Tagged segment;
        std::size_t octets;
        const char* answer;
    };
    constexpr auto opcode = RdmapOpcode::read_response;
    const std::array lines{
        Line{"another STag", {opcode, stag ^ 1, offset_of(100), true}, 10, "1/1/00"},
        Line{"another offset", {opcode, stag, offset_of(101), true}, 10, "1/1/01"},
        Line{"too long", {opcode, stag, offset_of(100), true}, 11, "1/1/01"},
        Line{"too long, and not the last", {opcode, stag, offset_of(100), false}, 11, "1/1/01"},
        Line{"too short", {opcode, stag, offset_of(100), true}, 9, "1/1/01"},
        Line{"complete, and not the last", {opcode, stag, offset_of(100), false}, 10, "1/1/01"},
        Line{"empty", {opcode, stag, offset_of(100), true}, 0, "1/1/01"},
        Line{"empty, and not the last", {opcode, stag, offset_of(100), false}, 0, "0/2/ff"},
        Line{"TO wraps", {opcode, stag, ~std::uint64_t{0}, true}, 10, "1/1/03"},
    };
    for (const auto& line : lines) {
        outstanding.clear();
        restart({.domain = domain, .queue_pair = queue_pair});
        ask_read(100, 10);
        EXPECT_EQ(tagged(line.segment, pattern(line.octets)), line.answer) << line.rule;
        EXPECT_TRUE(events.answers.empty()) << line.rule;
        EXPECT_EQ(outstanding.size(), 1u) << line.rule;
        EXPECT_THAT(region(), testing::Each(std::byte{0})) << line.rule;
    }
}

TEST_F(Answers, GoNowhereOnceTheirSinkIsGone) {
    const auto sink = register_region(Access::local_write);
    auto& request = ask_read(0, 5);
    request.sink_stag = request.sink.stag = sink;
    table.erase(sink);
    EXPECT_EQ(tagged({.opcode = RdmapOpcode::read_response, .stag = sink, .offset = offset_of(0)}, pattern(5)),
              "1/1/00");
    ASSERT_EQ(events.answers.size(), 1u);
    EXPECT_EQ(events.answers[0].status, Status::local_protection);
    EXPECT_TRUE(outstanding.empty());
}

TEST_F(Answers, OfAtomicsBringTheOriginalValue) {
    ask_atomic(0, 41);
    ask_atomic(8, 42);
    EXPECT_EQ(atomic_response(1, 41, 0x0102030405060708), "");
    EXPECT_EQ(atomic_response(2, 42, 7), "");
    ASSERT_EQ(events.answers.size(), 2u);
    EXPECT_EQ(events.answers[0].request.request_id, 41u);
    std::array<std::uint64_t, 2> values{};
    std::memcpy(values.data(), region().data(), 16);
    EXPECT_EQ(values[0], 0x0102030405060708u);
    EXPECT_EQ(values[1], 7u);
}

TEST_F(Answers, OfAtomicsThatAreWrong) {
    EXPECT_EQ(atomic_response(1, 1, 0), "0/2/06");  // there was no request
    const auto again = [&] {
        outstanding.clear();
        restart({.domain = domain, .queue_pair = queue_pair});
        ask_atomic(0, 41);
    };
    again();
    EXPECT_EQ(atomic_response(1, 40, 0), "0/2/06");
    again();
    EXPECT_EQ(atomic_response(2, 41, 0), "1/2/03");
    again();
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::atomic_response, .queue = 1}, pattern(12)), "1/2/01");
    again();
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::atomic_response, .queue = 3}, pattern(13)), "1/2/05");
    again();
    EXPECT_EQ(untagged({.opcode = RdmapOpcode::atomic_response, .queue = 3}, pattern(11)), "0/2/ff");
    EXPECT_TRUE(events.answers.empty());
    again();
    outstanding.clear();
    ask_read(0, 12);
    EXPECT_EQ(atomic_response(1, 0, 0), "0/2/06");
}

TEST_F(Answers, OfAtomicsWithoutASink) {
    auto& request = ask_atomic(0, 41);
    request.sink.stag = register_region(Access::remote_read);
    EXPECT_EQ(atomic_response(1, 41, 1), "0/0/00");
    ASSERT_EQ(events.answers.size(), 1u);
    EXPECT_EQ(events.answers[0].status, Status::local_protection);
}

// What happens to memory between a segment's header and its last octet, where it is placed as it comes.
class Targets : public support::Stream {
protected:
    bool begin(const std::vector<std::byte>& header, std::uint32_t octets) {
        return inbound->begin_segment(header, octets).ok();
    }
};

TEST_F(Targets, AreCheckedAgainWhenMemoryChanges) {
    const auto gone = register_region(Access::remote_write);
    ASSERT_TRUE(begin(support::header_of(support::Tagged{.stag = gone, .offset = offset_of(0)}), 100));
    EXPECT_EQ(support::text_of(inbound->recheck_target()), "");
    const auto other = register_region(Access::remote_write);
    table.erase(other);
    EXPECT_EQ(support::text_of(inbound->recheck_target()), "");
    table.erase(gone);
    EXPECT_EQ(support::text_of(inbound->recheck_target()), "1/1/00");
    EXPECT_EQ(support::text_of(inbound->recheck_target()), "1/1/00");  // as often as somebody asks
    EXPECT_EQ(support::text_of(inbound->end_segment()), "");
    EXPECT_EQ(support::text_of(inbound->recheck_target()), "");
    EXPECT_EQ(events.firsts, 0);
}

TEST_F(Targets, OfReceivesAndReadsAreCheckedAgain) {
    post(1, 0, 100);
    ASSERT_TRUE(begin(support::header_of(support::Untagged{}), 100));
    table.invalidate(stag, domain, queue_pair);
    EXPECT_EQ(support::text_of(inbound->recheck_target()), "0/0/00");
    ASSERT_EQ(events.messages.size(), 1u);
    EXPECT_EQ(events.messages[0].status, Status::local_protection);

    restart({.domain = domain, .queue_pair = queue_pair});
    table.find(stag)->valid = true;
    ask_read(0, 100);
    constexpr auto opcode = RdmapOpcode::read_response;
    ASSERT_TRUE(begin(support::header_of(support::Tagged{opcode, stag, offset_of(0)}), 100));
    table.erase(stag);
    EXPECT_EQ(support::text_of(inbound->recheck_target()), "1/1/00");
    EXPECT_EQ(events.answers.size(), 1u);
}

TEST_F(Targets, OfTheLongestMessageAreFound) {
    // With privilege a piece may be said to be longer than what is mapped; nothing is copied here.
    restart({.domain = domain, .queue_pair = queue_pair, .privileged = true});
    const std::array<iwarp::Sge, 2> pieces{iwarp::Sge{memory.data(), 0xffffffff, 0},
                                           iwarp::Sge{memory.data(), 0xffffffff, 0}};
    for (const std::uint64_t last : {0u, 1u}) {
        receives.post({.id = last, .pieces = pieces});
        const auto msn = static_cast<std::uint32_t>(last + 1);
        constexpr std::uint64_t longest = 0xffffffff;
        constexpr std::uint32_t step = 65535 - 18;
        std::uint64_t at = 0;
        while (at + step < longest) {
            const auto offset = static_cast<std::uint32_t>(at);
            ASSERT_TRUE(
                begin(support::header_of(support::Untagged{.msn = msn, .offset = offset, .last = false}), step));
            ASSERT_EQ(support::text_of(inbound->end_segment()), "");
            at += step;
        }
        const auto left = static_cast<std::uint32_t>(longest - at + last);  // RFC 5041 section 5.2: less than 2^32
        const auto header = support::header_of(support::Untagged{.msn = msn, .offset = static_cast<std::uint32_t>(at)});
        const auto begun = inbound->begin_segment(header, left);
        if (last == 1) {
            ASSERT_FALSE(begun);
            EXPECT_EQ(support::text_of(begun.error()), "1/2/05");
        } else {
            ASSERT_TRUE(begun);
            EXPECT_EQ(support::text_of(inbound->end_segment()), "");
            ASSERT_EQ(events.messages.size(), 1u);
            EXPECT_EQ(events.messages[0].length, 0xffffffffu);
        }
    }
}

}  // namespace
