#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace service::http {

/// A request, as far as an answer can depend on it.
struct Request {
    std::string method;
    std::string path;  ///< decoded, without query; always begins with a slash if a page can have it
    std::vector<std::pair<std::string, std::string>> query = {};
    std::string accept_encoding = {};
    std::string authorization = {};
    std::string content_type = {};
    std::string host = {};
    std::string origin = {};
    std::string body = {};
    bool is_local = false;  ///< the client's address is of the loopback interface

    bool is_read() const { return method == "GET" || method == "HEAD"; }
    /// The value of a member of the query; null if absent.
    const std::string* find(std::string_view name) const {
        for (const auto& [key, value] : query)
            if (key == name) return &value;
        return nullptr;
    }
};

/// An answer. Many clients may read one body at the same time.
struct Response {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::shared_ptr<const std::string> body = {};
    bool may_be_packed = false;  ///< by gzip, for clients that accept it
    std::vector<std::pair<std::string, std::string>> headers = {};
};

inline Response plain(unsigned status, std::string text) {
    Response response;
    response.status = status;
    response.body = std::make_shared<const std::string>(std::move(text));
    return response;
}

}  // namespace service::http
