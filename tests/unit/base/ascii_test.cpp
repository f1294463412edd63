#include "base/ascii.h"

#include <cctype>
#include <gtest/gtest.h>

namespace base {
namespace {

// In the locale "C", with which a program starts, the library knows the same classes.
TEST(Ascii, ClassesAreThoseOfTheLibrary) {
    for (int octet = 0; octet < 256; ++octet) {
        const auto c = static_cast<char>(octet);
        EXPECT_EQ(is_digit(c), std::isdigit(octet) != 0) << octet;
        EXPECT_EQ(is_letter(c), std::isalpha(octet) != 0) << octet;
        EXPECT_EQ(is_alphanumeric(c), std::isalnum(octet) != 0) << octet;
        EXPECT_EQ(is_hex_digit(c), std::isxdigit(octet) != 0) << octet;
        EXPECT_EQ(is_blank(c), std::isblank(octet) != 0) << octet;
        EXPECT_EQ(is_space(c), std::isspace(octet) != 0) << octet;
        EXPECT_EQ(lower(c), static_cast<char>(std::tolower(octet))) << octet;
    }
}

TEST(Ascii, LowersLettersOnly) {
    EXPECT_EQ(lowered("RoCEv2 [\xc4]"), "rocev2 [\xc4]");
    EXPECT_EQ(lowered(""), "");
}

TEST(Ascii, SameWordIgnoresTheCase) {
    EXPECT_TRUE(same_word("Accept-Encoding", "accept-ENCODING"));
    EXPECT_FALSE(same_word("accept", "accepts"));
    EXPECT_FALSE(same_word("@", "`"));
}

TEST(Ascii, TrimsBothEnds) {
    EXPECT_EQ(trimmed(" \t\r\n\f\va b \n"), "a b");
    EXPECT_EQ(trimmed("a"), "a");
    EXPECT_EQ(trimmed(" \n"), "");
    EXPECT_EQ(trimmed(""), "");
    EXPECT_EQ(trimmed("\ta\n", " \t"), "a\n");
}

}  // namespace
}  // namespace base
