#include "fleet/client/curl_library.h"

#include "base/shared_library.h"

namespace fleet::client {

base::Result<CurlLibrary> load_curl(const std::string& file) {
    auto library =
        base::SharedLibrary::load({.file = file, .package = "libcurl4", .needed_for = "requests to ClickHouse"});
    if (!library) return base::Failure{library.error()};
    CurlLibrary curl;
    library->find(curl.global_init, "curl_global_init");
    library->find(curl.easy_init, "curl_easy_init");
    library->find(curl.easy_cleanup, "curl_easy_cleanup");
    library->find(curl.easy_reset, "curl_easy_reset");
    library->find(curl.easy_setopt, "curl_easy_setopt");
    library->find(curl.easy_getinfo, "curl_easy_getinfo");
    library->find(curl.easy_perform, "curl_easy_perform");
    library->find(curl.easy_strerror, "curl_easy_strerror");
    library->find(curl.easy_escape, "curl_easy_escape");
    library->find(curl.free, "curl_free");
    library->find(curl.slist_append, "curl_slist_append");
    library->find(curl.slist_free_all, "curl_slist_free_all");
    if (const auto whole = library->whole(); !whole) return base::Failure{whole.error()};
    return curl;
}

}  // namespace fleet::client
