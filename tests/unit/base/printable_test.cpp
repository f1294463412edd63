#include "base/printable.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Printable, has_no_control_characters) { EXPECT_EQ(printable("a\x1b[2J\tb\x7f\xc3\xa4"), "a?[2J?b?\xc3\xa4"); }

}  // namespace
}  // namespace base
