#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

/// ClickHouse's HTTP interface.
namespace fleet::client {

struct Access {
    std::string url = {};  ///< "https://clickhouse-1:8443"
    std::string database = "rdmascope";
    std::string user = {};  ///< empty: the server's default
    std::string password = {};
    std::string ca_file = {};  ///< certificates that are trusted instead of the system's
    bool verify_tls = true;
    std::uint64_t timeout_ms = 30'000;  ///< of a whole request
};

/// One connection, kept open between requests. For one thread.
class HttpClient {
public:
    explicit HttpClient(Access access);
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    /// Asked during a request: true ends it with a failure.
    void abort_when(std::function<bool()> ends);

    /// Inserts rows. `statement` ends with the format; `gzipped` holds the rows. The server has them when this returns.
    base::Result<void> insert(const std::string& statement, std::string_view gzipped);
    /// The answer to a query.
    base::Result<std::string> query(const std::string& statement);

    const Access& access() const { return access_; }

private:
    struct State;
    base::Result<std::string> send(const std::string& url, std::string_view body, bool gzipped);

    Access access_;
    std::unique_ptr<State> state_;
};

/// "http://host:8123" or "https://...": no path, no query, no account.
bool is_url(std::string_view url);

}  // namespace fleet::client
