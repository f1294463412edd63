#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "field_feed.h"

/// What is refused, where, and that no octets at all bring the filter down.
namespace {

using dissect::filter::FilterError;
using testing::HasSubstr;

std::optional<FilterError> error_of(std::string_view expression) {
    dissect::FieldCollector collector{filter_test::registry()};
    auto filter = dissect::filter::Filter::compile(expression, filter_test::registry(), collector);
    if (filter) return std::nullopt;
    return filter.error();
}

struct ErrorCase {
    const char* expression;
    const char* message;  ///< a part of it
    std::uint32_t column;
    std::uint32_t length;
};

class Refused : public testing::TestWithParam<ErrorCase> {};

TEST_P(Refused, SaysWhatAndWhere) {
    const ErrorCase& expected = GetParam();
    const auto error = error_of(expected.expression);
    ASSERT_TRUE(error) << expected.expression;
    EXPECT_THAT(error->message, HasSubstr(expected.message)) << expected.expression;
    EXPECT_EQ(error->column, expected.column) << error->text();
    EXPECT_EQ(error->length, expected.length) << error->text();
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, Refused,
    testing::Values(
        ErrorCase{"udp.port and", "ends too early", 12, 1}, ErrorCase{"and udp.port", "and was not expected", 0, 3},
        ErrorCase{"(udp.port", "ends too early", 9, 1}, ErrorCase{"udp.port)", ") was not expected", 8, 1},
        ErrorCase{"udp.port udp.port", "udp.port was not expected", 9, 8},
        ErrorCase{"udp.port ==", "ends too early", 11, 1}, ErrorCase{"udp.port eq4791", "eq4791 was not", 9, 6},
        ErrorCase{"udp.port|eth.src", "no meaning", 8, 1}, ErrorCase{"udp.port in {}", "} was not expected", 13, 1},
        ErrorCase{"udp.port in {1 2}", "2 was not expected", 15, 1},
        ErrorCase{"udp.port in 5", "5 was not expected", 12, 1}, ErrorCase{"any udp.port", "ends too early", 12, 1},
        ErrorCase{"frame.protocols contains \"abc", "quote is missing", 25, 4},
        ErrorCase{"frame.protocols contains \"\\q\"", "escape", 26, 2},
        ErrorCase{"udp.port == 'ab'", "one character", 12, 4}, ErrorCase{"udp.port == ''", "one character", 12, 2},
        ErrorCase{"${udp.port} == 1", "selected frame", 0, 2}, ErrorCase{"eth.src[0:0]", "A slice is", 8, 3},
        ErrorCase{"eth.src[4-2]", "A slice is", 8, 3}, ErrorCase{"eth.src[]", "A slice is", 8, 1},
        ErrorCase{"eth.src[1,,2]", "A slice is", 10, 1}, ErrorCase{"eth.src[1", "bracket is missing", 7, 1},
        ErrorCase{"eth.src[99999999999]", "A slice is", 8, 11}, ErrorCase{"ip.src#x", "x was not", 7, 1},
        ErrorCase{"udp.port == 4791 # x", "x was not", 19, 1}, ErrorCase{"udp.port == \xc3\xa4", "no meaning", 12, 2}));

INSTANTIATE_TEST_SUITE_P(Names, Refused,
                         testing::Values(ErrorCase{"udp.prt", "udp.prt is not a known field", 0, 7},
                                         ErrorCase{"1", "1 is not a known field", 0, 1},
                                         ErrorCase{"\"udp\"", "\"udp\" is not a known", 0, 5},
                                         ErrorCase{"1 == 1", "1 is not a known", 0, 1},
                                         ErrorCase{"udp.port and udp.prt == 3", "udp.prt is not", 13, 7},
                                         ErrorCase{"udp.port-1 == 4790", "udp.port-1 is not", 0, 10},
                                         ErrorCase{"fun(udp.port) == 1", "no function fun", 0, 13},
                                         ErrorCase{"len() == 1", "one argument", 0, 5},
                                         ErrorCase{"len(udp.port, ip.src) == 1", "one argument", 0, 21},
                                         ErrorCase{"max(1, 2) == 2", "1 is not a known", 4, 1},
                                         ErrorCase{"len(udp.port)", "has to be compared", 0, 13},
                                         ErrorCase{"nosuch#1", "nosuch#1 is not", 0, 8}));

INSTANTIATE_TEST_SUITE_P(
    Types, Refused,
    testing::Values(
        ErrorCase{"udp.port == 99999", "too large for udp.port, whose greatest value is 65535", 12, 5},
        ErrorCase{"udp.port == 4791.0", "not a number", 12, 6},
        ErrorCase{"udp.port == \"4791\"", "not a number", 12, 6}, ErrorCase{"frame.len > 0x", "not a number", 12, 2},
        ErrorCase{"frame.len > 09", "not a number", 12, 2},
        ErrorCase{"frame.len > 18446744073709551616", "not a number", 12, 20},
        ErrorCase{"eth.type == \"Nonsense\"", "not among the values of eth.type", 12, 10},
        ErrorCase{"infiniband.bth.se == maybe", "not a boolean", 21, 5},
        ErrorCase{"ip.src == 300.1.1.1", "not an IPv4 address", 10, 9},
        ErrorCase{"ip.src == 192.0.2.1/33", "prefix length", 10, 12},
        ErrorCase{"ip.src == host", "not an IPv4 address", 10, 4},
        ErrorCase{"ipv6.src == 1:2", "not an IPv6 address", 12, 3}, ErrorCase{"eth.src == 52:54", "has 2 bytes", 11, 5},
        ErrorCase{"eth.src == broadcast", "MAC", 11, 9}, ErrorCase{"ip.src == eth.src", "cannot be compared", 10, 7},
        ErrorCase{"frame.len == frame.time_relative", "cannot be compared", 13, 19},
        ErrorCase{"ip.src contains 02", "contains looks into", 0, 6},
        ErrorCase{"udp.port contains 02", "contains looks into", 0, 8},
        ErrorCase{"infiniband.payload contains 0x5400", "hexadecimal", 28, 6},
        ErrorCase{"udp.port matches \"1\"", "string(udp.port)", 0, 8},
        ErrorCase{"frame.protocols matches eth", "double quotes", 24, 3},
        ErrorCase{"frame.protocols matches \"(\"", "regular expression", 24, 3},
        ErrorCase{"udp.port[0] == 1", "slices are cut", 0, 8},
        ErrorCase{"upper(eth.src) == \"a\"", "not a string", 6, 7},
        ErrorCase{"infiniband.bth.se & 1", "Bitwise and", 0, 21},
        ErrorCase{"frame.protocols & \"a\"", "Bitwise", 0, 21},
        ErrorCase{"frame.protocols + 1 == 2", "arithmetic does not", 0, 15},
        ErrorCase{"frame.time_relative * 2 > 0", "arithmetic does not", 0, 19},
        ErrorCase{"frame.len + frame.time_relative > 2", "time together", 0, 31},
        ErrorCase{"udp.port == 1 / 0", "no value", 12, 5}, ErrorCase{"ip.src == 1 + 1", "number or a time", 10, 5},
        ErrorCase{"frame.time_epoch > \"2020\"", "not a time", 19, 6},
        ErrorCase{"frame.time_relative > 1e-3", "time", 22, 4},
        ErrorCase{"(udp.port == 1) == 2", "A test stands", 1, 13}, ErrorCase{"1 + 2", "constant", 0, 5}));

TEST(Errors, AreShownWithTheirPlace) {
    const auto error = error_of("eth.src and udp.prt == 5");
    ASSERT_TRUE(error);
    EXPECT_THAT(error->suggestions, testing::Contains("udp.port"));
    EXPECT_THAT(error->text(), testing::StartsWith("udp.prt is not a known field or protocol\n"
                                                   "    eth.src and udp.prt == 5\n"
                                                   "                ^~~~~~~\n"
                                                   "Did you mean "));
}

TEST(Errors, CountCharactersNotOctets) {
    EXPECT_EQ(error_of("frame.protocols == \"\xc3\xa4\" and \x01 x")->text(),
              "This character has no meaning in a display filter\n"
              "    frame.protocols == \"\xc3\xa4\" and . x\n"
              "                               ^");
}

TEST(Errors, ShowPartOfALongExpression) {
    const std::string many(500, ' ');
    const auto text = error_of("eth.src" + many + "nonsense" + many)->text();
    EXPECT_LT(text.size(), 500u);
    EXPECT_THAT(text, HasSubstr("..."));
}

TEST(Limits, LengthIsBounded) {
    EXPECT_FALSE(error_of(std::string(65536 - 8, ' ') + "udp.port"));
    EXPECT_THAT(error_of(std::string(65536 - 7, ' ') + "udp.port")->message, HasSubstr("64 KiB"));
}

TEST(Limits, DepthIsBounded) {
    const auto repeated = [](std::string_view part, std::size_t count) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += part;
        return all;
    };
    EXPECT_FALSE(error_of(repeated("(", 40) + "udp.port" + repeated(")", 40)));
    for (const char* part : {"(", "{", "!(", "len(", "-", "udp.port+", "udp.port&", "udp.port*", "not (udp.port or "})
        EXPECT_TRUE(error_of(repeated(part, 5000) + "udp.port")) << part;
    EXPECT_THAT(error_of(repeated("(", 5000))->message, HasSubstr("too deeply"));
    EXPECT_THAT(error_of(repeated("udp.port + ", 5000) + "1 == 2")->message, HasSubstr("too deeply"));
    EXPECT_THAT(error_of("eth.src" + repeated("[0:1]", 5000) + " == 1")->message, HasSubstr("too deeply"));
    // What is long without being deep is taken.
    EXPECT_FALSE(error_of(repeated("udp.port or ", 5000) + "ip.src"));
    EXPECT_FALSE(error_of(repeated("!", 50000) + "ip.src"));
    EXPECT_FALSE(error_of("udp.port in {1" + repeated(",1..2", 5000) + "}"));
    EXPECT_FALSE(error_of("udp.port" + repeated(" < udp.port", 5000)));
}

TEST(Limits, CostlyRegularExpressionsEnd) {
    filter_test::Feed feed;
    feed.text("frame.protocols", std::string(5000, 'a'));
    EXPECT_EQ(filter_test::answer("frame.protocols matches \"(a+)+$b\"", feed), "no");
    EXPECT_EQ(filter_test::answer("frame.protocols matches \"(a|aa|aaa)+b\"", feed), "no");
}

/// Words of the language in any order: whatever comes of it, it must come.
TEST(Limits, AnyOrderOfWordsIsSurvived) {
    constexpr std::string_view words[] = {"udp.port",
                                          "eth.src",
                                          "ip.src",
                                          "frame.protocols",
                                          "infiniband.bth.se",
                                          "frame.time_relative",
                                          "==",
                                          "!=",
                                          "===",
                                          "<",
                                          "contains",
                                          "matches",
                                          "in",
                                          "not",
                                          "and",
                                          "or",
                                          "xor",
                                          "any",
                                          "all",
                                          "&",
                                          "+",
                                          "-",
                                          "*",
                                          "/",
                                          "%",
                                          "(",
                                          ")",
                                          "{",
                                          "}",
                                          "[0:1]",
                                          "[-1]",
                                          "[1,2-3,:4]",
                                          "[",
                                          "]",
                                          ",",
                                          "..",
                                          "#1",
                                          "#[1-2]",
                                          "#",
                                          "1",
                                          "0xff",
                                          "0",
                                          "-5",
                                          "1.2.3.4/8",
                                          "52:54:00:00:00:01",
                                          "\"a\"",
                                          "\"(a*)*\"",
                                          "r\"\\\"\"",
                                          "'x'",
                                          "True",
                                          "len(",
                                          "count(",
                                          "max(",
                                          "upper(",
                                          "string(",
                                          "abs(",
                                          "udp",
                                          "eth",
                                          "frame",
                                          "~",
                                          "!",
                                          "\\",
                                          "\"",
                                          "'",
                                          "$",
                                          "18446744073709551615"};
    filter_test::Feed feed;
    feed.number("udp.port", 5)
        .number("udp.port", 7)
        .octets("eth.src", {1, 2, 3, 4, 5, 6})
        .octets("ip.src", {1, 2, 3, 4});
    feed.text("frame.protocols", "a").number("infiniband.bth.se", 1).number("frame.time_relative", ~std::uint64_t{0});
    std::mt19937 random{20240229};
    unsigned accepted = 0;
    for (int round = 0; round < 30000; ++round) {
        std::string expression;
        const auto length = 1 + random() % 9;
        for (unsigned i = 0; i < length; ++i) {
            expression += words[random() % std::size(words)];
            if (random() % 4 != 0) expression += ' ';
        }
        if (random() % 8 == 0) expression[random() % expression.size()] = static_cast<char>(random());
        const std::string answer = filter_test::answer(expression, feed);
        EXPECT_FALSE(answer.empty());
        accepted += answer == "yes" || answer == "no" ? 1 : 0;
        const auto error = error_of(expression);
        EXPECT_TRUE(!error || !error->text().empty());
    }
    EXPECT_GT(accepted, 300u);
}

}  // namespace
