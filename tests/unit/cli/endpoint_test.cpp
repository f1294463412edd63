// The parts of `endpoint` that need no connection: addresses, sizes, the pattern, private data to the octet.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "base/quantities.h"
#include "cli/endpoint/endpoint_address.h"
#include "cli/endpoint/endpoint_protocol.h"
#include "cli/endpoint/memory_budget.h"
#include "cli/endpoint/option_table.h"
#include "cli/endpoint/pattern.h"

namespace cli::endpoint {
namespace {

std::vector<std::byte> octets(std::initializer_list<int> values) {
    std::vector<std::byte> out;
    for (const int value : values) out.push_back(static_cast<std::byte>(value));
    return out;
}

TEST(Address, IsReadAsItIsTyped) {
    struct Case {
        const char* text;
        const char* host;
        unsigned port;
    };
    for (const Case& each : std::array{Case{"192.0.2.1:80", "192.0.2.1", 80}, Case{"192.0.2.1", "192.0.2.1", 7174},
                                       Case{"[2001:db8::1]:65535", "2001:db8::1", 65535}, Case{"[::1]", "::1", 7174},
                                       Case{"2001:db8::1", "2001:db8::1", 7174}, Case{":9", "127.0.0.1", 9},
                                       Case{"server.example:1", "server.example", 1}}) {
        Address found;
        EXPECT_EQ(take_address(each.text, false, found), "") << each.text;
        EXPECT_EQ(found.host, each.host) << each.text;
        EXPECT_EQ(found.port, each.port) << each.text;
    }
    for (const char* wrong :
         {"", "a:", "a:0", "a:65536", "a:1x", "[::1", "[]:1", "[::1]1", "a b:1", "-:x", "http://a:1"}) {
        Address untouched{"before", 1};
        EXPECT_NE(take_address(wrong, false, untouched), "") << wrong;
        EXPECT_EQ(untouched.host, "before") << wrong;
    }
    Address any;
    EXPECT_EQ(take_address("[::]:0", true, any), "");
    EXPECT_EQ(text_of(any), "[::]:0");
}

TEST(Address, LoopbackIsWhatOnlyThisMachineReaches) {
    for (const char* near : {"127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1"})
        EXPECT_TRUE(is_loopback(near));
    for (const char* far : {"0.0.0.0", "::", "192.0.2.1", "128.0.0.1", "server.example"})
        EXPECT_FALSE(is_loopback(far));
}

TEST(Size, TakesPowersOf1024) {
    std::uint64_t size = 0;
    const auto taken = [&](const char* text) { return base::take_size(text, 0, std::uint64_t{1} << 40, size).empty(); };
    EXPECT_TRUE(taken("0") && size == 0);
    EXPECT_TRUE(taken("64") && size == 64);
    EXPECT_TRUE(taken("64K") && size == 65536);
    EXPECT_TRUE(taken("64k") && size == 65536);
    EXPECT_TRUE(taken("16MiB") && size == 16777216);
    EXPECT_TRUE(taken("1T") && size == 1099511627776);
    for (const char* wrong : {"", "K", "-1", "1.5K", "1KK", "2T", "18446744073709551616", "17179869184T", " 1"})
        EXPECT_FALSE(taken(wrong)) << wrong;
    EXPECT_FALSE(base::take_size("3", 4, 8, size).empty());
    EXPECT_FALSE(base::take_size("9", 4, 8, size).empty());
}

TEST(PatternTest, IsTheManualsFormulaWhereverItBegins) {
    const Pattern pattern(1000);
    for (const std::uint64_t from : {0ULL, 1ULL, 250ULL, 251ULL, 123456789ULL}) {
        for (const std::size_t length : {0UL, 1UL, 250UL, 251UL, 252UL, 1000UL}) {
            std::vector<std::byte> wanted(length);
            for (std::size_t i = 0; i < length; ++i) wanted[i] = static_cast<std::byte>((31 * (from + i) + 7) % 251);
            std::vector<std::byte> found(length, std::byte{0xff});
            pattern.copy(found, from);
            EXPECT_EQ(found, wanted);
            std::fill(found.begin(), found.end(), std::byte{0xff});
            Pattern::fill(found, from);
            EXPECT_EQ(found, wanted);
            EXPECT_TRUE(pattern.matches(found, from));
            if (length == 0) continue;
            found[length / 2] ^= std::byte{1};
            EXPECT_FALSE(pattern.matches(found, from));
        }
    }
}

TEST(PrivateData, IsToTheOctetAsTheManualHasIt) {
    Hello hello;
    hello.service = Hello::Service::echo;
    hello.verify = true;
    hello.message_octets = 0x01020304;
    hello.depth = 5;
    hello.writable_octets = 0x0a0b;
    EXPECT_EQ(hello.encode(), octets({'R', 'D', 'S', 'C', 1, 1, 2,    1,    1, 2, 3, 4, 0, 0, 0, 5,
                                      0,   0,   0,   0,   0, 0, 0x0a, 0x0b, 0, 0, 0, 0, 0, 0, 0, 0}));
    Offer offer;
    offer.credits = 7;
    offer.message_octets = 8;
    offer.readable = {0x11223344, 0x55, 0x66};
    offer.writable = {0x77, 0x88, 0x99};
    EXPECT_EQ(offer.encode(), octets({'R',  'D',  'S',  'C',  1, 2, 0, 0, 0, 0, 0, 7,    0, 0, 0, 8,                 //
                                      0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, 0, 0, 0, 0x55, 0, 0, 0, 0, 0, 0, 0, 0x66,  //
                                      0,    0,    0,    0x77, 0, 0, 0, 0, 0, 0, 0, 0x88, 0, 0, 0, 0, 0, 0, 0, 0x99,
                                      0,    0,    0,    0,    0, 0, 0, 0}));
    EXPECT_EQ(Refusal{"no"}.encode(), octets({'R', 'D', 'S', 'C', 1, 3, 0, 0, 'n', 'o'}));
    std::array<std::byte, 16> message{};
    Credit{3, 4}.encode(message);
    EXPECT_EQ(std::vector(message.begin(), message.end()),
              octets({'R', 'D', 'S', 'C', 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0}));
    // rping.c: struct { __be64 buf; __be32 rkey; __be32 size; }
    RpingBuffer{0x0102030405060708, 0x0a0b0c0d, 64}.encode(message);
    EXPECT_EQ(std::vector(message.begin(), message.end()),
              octets({1, 2, 3, 4, 5, 6, 7, 8, 0x0a, 0x0b, 0x0c, 0x0d, 0, 0, 0, 64}));
}

TEST(PrivateData, OfOthersIsNotTakenForOurs) {
    EXPECT_FALSE(Hello::decode({}));
    EXPECT_FALSE(Hello::decode(std::vector<std::byte>(64)));
    const std::vector<std::byte> hello = Hello{}.encode();
    EXPECT_TRUE(Hello::decode(hello));
    EXPECT_FALSE(Offer::decode(hello));
    for (std::size_t size = 0; size < hello.size(); ++size) EXPECT_FALSE(Hello::decode(std::span(hello).first(size)));
    const std::vector<std::byte> offer = Offer{}.encode();
    for (std::size_t size = 0; size < offer.size(); ++size) EXPECT_FALSE(Offer::decode(std::span(offer).first(size)));
    std::vector<std::byte> later = hello;
    later[4] = std::byte{2};
    ASSERT_TRUE(Hello::decode(later));
    EXPECT_EQ(Hello::decode(later)->version, 2);
}

TEST(PrivateData, AReasonCannotMoveTheCursorNorGrow) {
    const auto refusal = Refusal::decode(Refusal{"a\x1b[2J\n"}.encode());
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->reason, "a?[2J?");
    EXPECT_LE(Refusal{std::string(10000, 'x')}.encode().size(), 252U);
}

TEST(BudgetTest, GivesNoMoreThanThereIs) {
    Budget budget(100);
    {
        const auto first = budget.take(60);
        EXPECT_TRUE(first);
        EXPECT_FALSE(budget.take(41));
        auto second = budget.take(40);
        EXPECT_TRUE(second);
        EXPECT_FALSE(budget.take(1));
        const Budget::Share moved = std::move(*second);
        second.reset();
        EXPECT_FALSE(budget.take(1));
    }
    EXPECT_TRUE(budget.take(100));
    EXPECT_FALSE(budget.take(~std::uint64_t{0}));
    EXPECT_EQ(budget.most(), 100U);
}

}  // namespace
}  // namespace cli::endpoint
