#include "base/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

SharedLibrary::Origin origin(const std::string& file) {
    return {.file = file, .package = "libexample7", .needed_for = "examples"};
}

TEST(SharedLibrary, finds_functions) {
    auto math = SharedLibrary::load(origin("libm.so.6"));
    ASSERT_TRUE(math) << math.error().text();
    double (*cube_root)(double) = nullptr;
    math->find(cube_root, "cbrt");
    EXPECT_TRUE(math->whole());
    ASSERT_NE(cube_root, nullptr);
    EXPECT_DOUBLE_EQ(cube_root(27), 3);
}

TEST(SharedLibrary, that_is_absent_names_the_package) {
    const auto absent = SharedLibrary::load(origin("libabsent-example.so.7"));
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().text(),
              "libabsent-example.so.7: cannot open shared object file: No such file or directory; examples need this "
              "library: install the package libexample7");
}

TEST(SharedLibrary, that_is_no_library_names_the_package) {
    // This program's own source is a file, but no library.
    const auto text = SharedLibrary::load(origin(__FILE__));
    ASSERT_FALSE(text);
    EXPECT_THAT(text.error().text(),
                AllOf(StartsWith(std::string(__FILE__) + ": "), HasSubstr("; examples need this library: install the "
                                                                          "package libexample7")));
}

TEST(SharedLibrary, that_is_too_old_names_the_first_function_that_it_lacks) {
    auto math = SharedLibrary::load(origin("libm.so.6"));
    ASSERT_TRUE(math) << math.error().text();
    double (*known)(double) = nullptr;
    double (*younger)(double) = nullptr;
    double (*youngest)(double) = nullptr;
    math->find(younger, "cbrt_of_the_future");
    math->find(known, "cbrt");
    math->find(youngest, "cosine_of_the_future");
    EXPECT_EQ(younger, nullptr);
    EXPECT_NE(known, nullptr);
    EXPECT_EQ(youngest, nullptr);
    const auto whole = math->whole();
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().text(),
              "libm.so.6: this library lacks cbrt_of_the_future(), which examples need: install the package "
              "libexample7");
    EXPECT_THAT(whole.error().text(), Not(HasSubstr("cosine")));
}

}  // namespace
}  // namespace base
