#include "fleet/client/curl_library.h"

#include <array>
#include <gmock/gmock.h>
#include <thread>
#include <vector>

#include "fleet/client/http_client.h"

namespace fleet::client {
namespace {

TEST(CurlLibrary, has_every_function_that_is_called) {
    const auto curl = load_curl();
    ASSERT_TRUE(curl) << curl.error().text();
    EXPECT_STREQ(curl->easy_strerror(CURLE_OK), "No error");
}

TEST(CurlLibrary, that_is_absent_names_what_needs_it_and_its_package) {
    const auto curl = load_curl("libcurl-absent.so.4");
    ASSERT_FALSE(curl);
    EXPECT_EQ(curl.error().text(),
              "libcurl-absent.so.4: cannot open shared object file: No such file or directory; requests to ClickHouse "
              "need this library: install the package libcurl4");
}

TEST(CurlLibrary, of_another_kind_is_refused) {
    const auto curl = load_curl("libm.so.6");
    ASSERT_FALSE(curl);
    EXPECT_EQ(curl.error().text(),
              "libm.so.6: this library lacks curl_global_init(), which requests to ClickHouse need: install the "
              "package libcurl4");
}

/// Each client loads the library with its first request. Port 1 has no server.
TEST(CurlLibrary, is_loaded_by_several_threads_at_once) {
    std::array<std::string, 8> errors;
    {
        std::vector<std::jthread> threads;
        threads.reserve(errors.size());
        for (std::string& error : errors)
            threads.emplace_back([&error] {
                HttpClient client({.url = "http://127.0.0.1:1"});
                const auto answer = client.query("SELECT 1");
                error = answer ? "an answer" : answer.error().text();
            });
    }
    for (const std::string& error : errors)
        EXPECT_THAT(error, ::testing::AllOf(::testing::StartsWith("http://127.0.0.1:1: "),
                                            ::testing::HasSubstr("Failed to connect to 127.0.0.1 port 1")));
}

}  // namespace
}  // namespace fleet::client
