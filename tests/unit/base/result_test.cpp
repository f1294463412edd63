#include "base/result.h"

#include <gtest/gtest.h>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace {

using base::Error;
using base::Failure;
using base::Result;

Result<void> check_port(int port) {
    if (port < 1) return Failure{Error{.message = "is no port", .path = "eth0"}};
    return {};
}

TEST(ResultWithoutValue, EmptyBracesAreSuccess) {
    EXPECT_TRUE(check_port(1));
    EXPECT_TRUE(check_port(1).ok());
}

TEST(ResultWithoutValue, AFailureKeepsItsError) {
    const Result<void> result = check_port(0);
    ASSERT_FALSE(result);
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.error().text(), "eth0: is no port");
}

TEST(ResultWithoutValue, IsNoBoolean) {
    static_assert(!std::is_convertible_v<Result<void>, bool>);
    static_assert(!std::is_convertible_v<bool, Result<void>>);
}

}  // namespace
