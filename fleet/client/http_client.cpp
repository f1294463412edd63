#include "fleet/client/http_client.h"

#include <fmt/core.h>
#include <mutex>

#include "base/ascii.h"
#include "base/text_format.h"
#include "fleet/client/curl_library.h"

namespace fleet::client {
namespace {

/// A table of at most some million rows.
constexpr std::size_t most_answer_octets = std::size_t{512} << 20;
/// An insert has no answer, or the reason why it failed.
constexpr std::size_t most_insert_answer_octets = std::size_t{64} << 10;
constexpr std::size_t most_error_octets = 600;
/// The server's usual bounds are 256 KiB and 50,000 elements.
constexpr std::size_t most_statement_octets = std::size_t{64} << 20;
constexpr std::size_t most_statement_elements = 50'000'000;

struct Exchange {
    std::size_t most_octets = 0;
    std::string answer = {};
    bool too_long = false;
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* into) {
    auto& exchange = *static_cast<Exchange*>(into);
    if (exchange.answer.size() + size * count > exchange.most_octets) {
        exchange.too_long = true;
        return 0;
    }
    exchange.answer.append(data, size * count);
    return size * count;
}

int look_up_end(void* asked, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& ends = *static_cast<std::function<bool()>*>(asked);
    return ends && ends() ? 1 : 0;
}

/// The first line of the server's message, without its stack trace.
std::string reason_of(const std::string& answer) {
    std::string line = answer.substr(0, std::min(answer.find('\n'), most_error_octets));
    constexpr std::string_view noise = ", e.what() = DB::Exception";
    if (const std::size_t at = line.find(noise); at != std::string::npos) line.resize(at);
    std::string printable;
    base::append_printable(printable, line);
    return printable;
}

void initialize_once(const CurlLibrary& curl) {
    static std::once_flag flag;
    std::call_once(flag, [&curl] { curl.global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

struct HttpClient::State {
    State() = default;
    ~State() {
        if (handle == nullptr) return;
        curl.slist_free_all(headers);
        curl.easy_cleanup(handle);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /// Loads the library with the first request. After a failure the next request tries again.
    base::Result<void> open() {
        if (handle != nullptr) return {};
        const auto loaded = load_curl();
        if (!loaded) return base::Failure{loaded.error()};
        curl = *loaded;
        initialize_once(curl);
        handle = curl.easy_init();
        if (handle == nullptr) return base::failure("libcurl has no memory");
        return {};
    }
    std::string escaped(std::string_view text) const {
        char* const out = curl.easy_escape(handle, text.data(), static_cast<int>(text.size()));
        std::string copy = out == nullptr ? "" : out;
        curl.free(out);
        return copy;
    }
    void add_header(const std::string& line) { headers = curl.slist_append(headers, line.c_str()); }
    template <class Value>
    void set(CURLoption option, Value value) const {
        curl.easy_setopt(handle, option, value);
    }

    CurlLibrary curl = {};
    CURL* handle = nullptr;
    curl_slist* headers = nullptr;
    std::function<bool()> ends = {};
    char error[CURL_ERROR_SIZE] = {};
};

HttpClient::HttpClient(Access access) : access_(std::move(access)), state_(std::make_unique<State>()) {
    while (access_.url.ends_with('/')) access_.url.pop_back();
}
HttpClient::~HttpClient() = default;

void HttpClient::abort_when(std::function<bool()> ends) { state_->ends = std::move(ends); }

base::Result<void> HttpClient::insert(const std::string& statement, std::string_view gzipped) {
    if (const auto opened = state_->open(); !opened) return base::Failure{opened.error()};
    // With a Distributed table, the shard has the rows before the answer comes: a server that is killed loses none.
    const std::string url = fmt::format("{}/?database={}&insert_distributed_sync=1&query={}", access_.url,
                                        state_->escaped(access_.database), state_->escaped(statement));
    auto sent = send(url, gzipped, true);
    if (!sent) return base::Failure{sent.error()};
    return {};
}

base::Result<std::string> HttpClient::query(const std::string& statement) {
    if (const auto opened = state_->open(); !opened) return base::Failure{opened.error()};
    // An error inside an answer becomes the answer's status. Statements name flows, connections, pairs and racks one by
    // one.
    const std::string url = fmt::format(
        "{0}/?database={1}&wait_end_of_query=1&max_query_size={2}&max_ast_elements={3}&max_expanded_ast_elements={3}",
        access_.url, state_->escaped(access_.database), most_statement_octets, most_statement_elements);
    return send(url, statement, false);
}

base::Result<std::string> HttpClient::send(const std::string& url, std::string_view body, bool gzipped) {
    State& state = *state_;
    const CurlLibrary& curl = state.curl;
    Exchange exchange{.most_octets = gzipped ? most_insert_answer_octets : most_answer_octets};
    curl.easy_reset(state.handle);
    curl.slist_free_all(std::exchange(state.headers, nullptr));
    state.add_header("Expect:");
    state.add_header("Content-Type: application/octet-stream");
    if (gzipped) state.add_header("Content-Encoding: gzip");
    if (!access_.user.empty()) state.add_header("X-ClickHouse-User: " + access_.user);
    if (!access_.password.empty()) state.add_header("X-ClickHouse-Key: " + access_.password);
    state.set(CURLOPT_URL, url.c_str());
    state.set(CURLOPT_PROTOCOLS_STR, "http,https");
    state.set(CURLOPT_HTTPHEADER, state.headers);
    state.set(CURLOPT_POST, 1L);
    state.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    state.set(CURLOPT_POSTFIELDS, body.data());
    state.set(CURLOPT_WRITEFUNCTION, &take);
    state.set(CURLOPT_WRITEDATA, &exchange);
    state.set(CURLOPT_ERRORBUFFER, state.error);
    state.set(CURLOPT_NOSIGNAL, 1L);
    // The end of a request does not wait for a name server.
    state.set(CURLOPT_QUICK_EXIT, 1L);
    state.set(CURLOPT_CONNECTTIMEOUT_MS, 5'000L);
    state.set(CURLOPT_TIMEOUT_MS, static_cast<long>(access_.timeout_ms));
    state.set(CURLOPT_SSL_VERIFYPEER, access_.verify_tls ? 1L : 0L);
    state.set(CURLOPT_SSL_VERIFYHOST, access_.verify_tls ? 2L : 0L);
    if (!access_.ca_file.empty()) {
        state.set(CURLOPT_CAINFO, access_.ca_file.c_str());
        // Otherwise the system's folder of certificates would be trusted as well.
        state.set(CURLOPT_CAPATH, nullptr);
    }
    state.set(CURLOPT_NOPROGRESS, 0L);
    state.set(CURLOPT_XFERINFOFUNCTION, &look_up_end);
    state.set(CURLOPT_XFERINFODATA, &state.ends);
    state.error[0] = 0;
    const CURLcode code = curl.easy_perform(state.handle);
    if (exchange.too_long)
        return base::failure(gzipped ? "the answer to an insert is too long: this is not ClickHouse"
                                     : "the answer is too long; ask for a shorter time, or use --top",
                             access_.url);
    if (code != CURLE_OK)
        return base::failure(state.error[0] != 0 ? state.error : curl.easy_strerror(code), access_.url);
    long status = 0;
    curl.easy_getinfo(state.handle, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return base::failure(fmt::format("{}: {}", status, reason_of(exchange.answer)), access_.url);
    return std::move(exchange.answer);
}

bool is_url(std::string_view url) {
    const std::size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
    if (scheme == 0) return false;
    url.remove_prefix(scheme);
    if (url.ends_with('/')) url.remove_suffix(1);
    return !url.empty() && std::all_of(url.begin(), url.end(), [](char c) {
        return base::is_alphanumeric(c) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || c == '_';
    });
}

}  // namespace fleet::client
