#pragma once
#include <curl/curl.h>
#include <string>

#include "base/error.h"

namespace fleet::client {

/// The functions of libcurl that HttpClient calls, with the types of its headers.
struct CurlLibrary {
    decltype(&curl_global_init) global_init = nullptr;
    decltype(&curl_easy_init) easy_init = nullptr;
    decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
    decltype(&curl_easy_reset) easy_reset = nullptr;
    decltype(&curl_easy_setopt) easy_setopt = nullptr;
    decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
    decltype(&curl_easy_perform) easy_perform = nullptr;
    decltype(&curl_easy_strerror) easy_strerror = nullptr;
    decltype(&curl_easy_escape) easy_escape = nullptr;
    decltype(&curl_free) free = nullptr;
    decltype(&curl_slist_append) slist_append = nullptr;
    decltype(&curl_slist_free_all) slist_free_all = nullptr;
};

/// Loads libcurl, with the libraries of TLS, Kerberos and LDAP that it needs.
base::Result<CurlLibrary> load_curl(const std::string& file = "libcurl.so.4");

}  // namespace fleet::client
