#include "daemon/http/microhttpd_library.h"

#include <gtest/gtest.h>

namespace service::http {
namespace {

TEST(MicrohttpdLibrary, has_every_function_that_is_called) {
    const auto library = load_microhttpd();
    ASSERT_TRUE(library) << library.error().text();
    MHD_Response* const response = library->create_response_from_buffer(0, nullptr, MHD_RESPMEM_PERSISTENT);
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(library->add_response_header(response, "Cache-Control", "no-store"), MHD_YES);
    EXPECT_EQ(library->add_response_header(response, "no\nname", "value"), MHD_NO);
    library->destroy_response(response);
}

TEST(MicrohttpdLibrary, that_is_absent_names_what_needs_it_and_its_package) {
    const auto library = load_microhttpd("libmicrohttpd-absent.so.12");
    ASSERT_FALSE(library);
    EXPECT_EQ(
        library.error().text(),
        "libmicrohttpd-absent.so.12: cannot open shared object file: No such file or directory; prometheus.listen "
        "and the live page need this library: install the package libmicrohttpd12");
}

TEST(MicrohttpdLibrary, of_another_kind_is_refused) {
    const auto library = load_microhttpd("libm.so.6");
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().text(),
              "libm.so.6: this library lacks MHD_start_daemon(), which prometheus.listen and the live page need: "
              "install the package libmicrohttpd12");
}

}  // namespace
}  // namespace service::http
