#include "base/printable.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Printable, has_no_control_characters) { EXPECT_EQ(printable("a\x1b[2J\tb\x7f\xc3\xa4"), "a?[2J?b?\xc3\xa4"); }

TEST(Printable, an_excerpt_is_one_line_of_60_bytes) {
    EXPECT_EQ(excerpt(std::string(60, 'a')), std::string(60, 'a'));
    EXPECT_EQ(excerpt(std::string(61, 'a')), std::string(60, 'a') + "...");
    EXPECT_EQ(excerpt("a\nb"), "a\\nb");
}

}  // namespace
}  // namespace base
