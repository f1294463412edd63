#include "daemon/http/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fmt/core.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <new>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/signal_block.h"
#include "daemon/http/gzip.h"
#include "daemon/http/job_thread.h"
#include "daemon/http/microhttpd_library.h"

namespace service::http {
namespace {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;

constexpr std::size_t accepted_at_once = 64;

/// What a client does now.
enum class Stage : std::uint8_t { asking, waiting, reading, streaming };

/// One connection, from accept() to close().
struct Client {
    MHD_Connection* connection = nullptr;
    int socket = -1;
    bool is_local = false;
    bool is_closed = false;  ///< its socket was shut down
    Stage stage = Stage::asking;
    Moment deadline = Moment::max();
};

/// One request of a client and its answer.
struct Exchange {
    std::uint64_t number = 0;
    Client* client = nullptr;
    Request request = {};
    std::size_t received = 0;  ///< bytes of the body
    bool is_sent = false;      ///< to the worker
    bool has_failed = false;   ///< there was no memory for the answer
    std::optional<Response> response = {};
    std::string stream = {};  ///< what the client of a stream has yet to read
    bool is_suspended = false;
};

bool is_loopback(const sockaddr* address) {
    if (address == nullptr) return false;
    if (address->sa_family == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, address, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family != AF_INET6) return false;
    sockaddr_in6 six{};
    std::memcpy(&six, address, sizeof six);
    if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) return six.sin6_addr.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

/// "http://host:14791/metrics" is /metrics. RFC 9112, 3.2.2.
std::string path_of(std::string_view target) {
    constexpr std::string_view scheme = "http://";
    if (!target.starts_with(scheme)) return std::string(target);
    const std::size_t slash = target.find('/', scheme.size());
    return slash == std::string_view::npos ? "/" : std::string(target.substr(slash));
}

std::string header(const MicrohttpdLibrary& library, MHD_Connection* connection, const char* name) {
    const char* value = library.lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value == nullptr ? std::string() : std::string(value);
}

/// What a callback of the library does. The library is C: no exception may pass through its functions. `MHD_NO` ends
/// the connection.
template <class Work>
MHD_Result without_exceptions(Work&& work) noexcept {
    try {
        return work();
    } catch (const std::exception&) {
        return MHD_NO;
    }
}

struct QueryReading {
    decltype(Request::query) query = {};
    bool is_whole = true;
};

MHD_Result add_to_query(void* reading, MHD_ValueKind /*kind*/, const char* key, const char* value) {
    QueryReading& all = *static_cast<QueryReading*>(reading);
    const MHD_Result added = without_exceptions([&] {
        if (key != nullptr) all.query.emplace_back(key, value == nullptr ? "" : value);
        return MHD_YES;
    });
    all.is_whole = all.is_whole && added == MHD_YES;
    return added;
}

Request request_of(const MicrohttpdLibrary& library, MHD_Connection* connection, const char* target,
                   const char* method) {
    Request request{.method = method, .path = path_of(target)};
    QueryReading reading;
    library.get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &add_to_query, &reading);
    if (!reading.is_whole) throw std::bad_alloc();
    request.query = std::move(reading.query);
    request.accept_encoding = header(library, connection, "Accept-Encoding");
    request.authorization = header(library, connection, "Authorization");
    request.content_type = header(library, connection, "Content-Type");
    request.host = header(library, connection, "Host");
    request.origin = header(library, connection, "Origin");
    return request;
}

/// Packs the body if the client accepts it.
void pack(const Request& request, Response& response) {
    if (!response.may_be_packed || !response.body) return;
    response.headers.emplace_back("Vary", "Accept-Encoding");
    response.may_be_packed = false;
    if (!accepts_gzip(request.accept_encoding)) return;
    if (auto packed = gzip(*response.body)) {
        response.body = std::make_shared<const std::string>(std::move(*packed));
        response.headers.emplace_back("Content-Encoding", "gzip");
    }
}

Response answer_of(Handler& handler, const Request& request) {
    try {
        Response response = handler.answer(request);
        pack(request, response);
        return response;
    } catch (const std::exception& error) {
        return plain(500, fmt::format("The page could not be made: {}\n", error.what()));
    }
}

/// False if there is no memory.
bool append(std::string& text, const std::string& more) {
    try {
        text += more;
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

using Body = std::shared_ptr<const std::string>;

ssize_t read_body(void* body, std::uint64_t position, char* into, std::size_t most) {
    const std::string& text = **static_cast<Body*>(body);
    if (position >= text.size()) return MHD_CONTENT_READER_END_OF_STREAM;
    const std::size_t count = std::min(most, text.size() - static_cast<std::size_t>(position));
    std::copy_n(text.data() + position, count, into);
    return static_cast<ssize_t>(count);
}

void free_body(void* body) { delete static_cast<Body*>(body); }  // NOLINT(cppcoreguidelines-owning-memory)

MHD_Response* response_of(const MicrohttpdLibrary& library, const Response& response) {
    constexpr std::size_t piece = 32'768;
    if (!response.body || response.body->empty())
        return library.create_response_from_buffer(0, nullptr, MHD_RESPMEM_PERSISTENT);
    auto body = std::make_unique<Body>(response.body);
    MHD_Response* const made =
        library.create_response_from_callback(response.body->size(), piece, &read_body, body.get(), &free_body);
    // The response owns the body now.
    if (made != nullptr) body.release();  // NOLINT(bugprone-unused-return-value)
    return made;
}

class MicroHttpServer final : public HttpServer {
public:
    MicroHttpServer(const MicrohttpdLibrary& library, ListeningSocket socket, Handler& handler,
                    const ServerBounds& bounds)
        : library_(library),
          socket_(std::move(socket)),
          handler_(handler),
          bounds_(bounds),
          wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~MicroHttpServer() override {
        ends_ = true;
        wake();
        if (thread_.joinable()) thread_.join();
    }
    MicroHttpServer(const MicroHttpServer&) = delete;
    MicroHttpServer& operator=(const MicroHttpServer&) = delete;

    base::Result<void> start();
    std::uint16_t port() const override { return socket_.port; }
    void publish(std::string bytes) override;
    void run_in_worker(std::function<void()> work) override { worker_->run(std::move(work)); }

private:
    /// Requests that the worker has answered; without an answer, there was no memory for it.
    using Done = std::vector<std::pair<std::uint64_t, std::optional<Response>>>;

    void wake() const { eventfd_write(wake_.number(), 1); }
    void serve();
    void stop();
    int wait_ms(Moment now) const;
    void finish_jobs();
    void send_events();
    void send_event(Exchange& exchange, const std::string& bytes);
    void close_late(Moment now);
    void accept_all();
    void make_room();
    static void close(Client& client);

    void on_connection(MHD_Connection* connection, bool begins);
    MHD_Result on_request(MHD_Connection* connection, const char* target, const char* method, const char* upload,
                          std::size_t* upload_size, void** context);
    MHD_Result begin(MHD_Connection* connection, const char* target, const char* method, void** context);
    MHD_Result answer(MHD_Connection* connection, Exchange& exchange);
    MHD_Result send_to_worker(MHD_Connection* connection, Exchange& exchange);
    MHD_Result begin_stream(MHD_Connection* connection, Exchange& exchange);
    MHD_Result queue(MHD_Connection* connection, Client& client, const Response& response) const;
    ssize_t read_stream(Exchange& exchange, char* into, std::size_t most);
    void on_completed(void** context);

    const MicrohttpdLibrary library_;
    ListeningSocket socket_;
    Handler& handler_;
    const ServerBounds bounds_;
    base::Descriptor wake_;
    std::vector<std::unique_ptr<Client>> clients_;  ///< the oldest first
    std::map<std::uint64_t, std::unique_ptr<Exchange>> exchanges_;
    std::unique_ptr<MHD_Daemon, decltype(&MHD_stop_daemon)> daemon_{nullptr, library_.stop_daemon};
    int epoll_ = -1;
    std::uint64_t last_number_ = 0;
    Done finishing_;  ///< what finish_jobs() handles
    std::size_t jobs_ = 0;
    std::size_t streams_ = 0;
    Moment deaf_until_;  ///< no client is accepted before, because there were no descriptors left
    Moment heartbeat_ = Moment::max();
    std::unique_ptr<JobThread> worker_;
    std::atomic<bool> ends_ = false;

    std::mutex mutex_;  ///< guards the members below, which other threads fill
    Done done_;
    std::string events_;

    std::thread thread_;
};

base::Result<void> MicroHttpServer::start() {
    const char* const nothing_left = "no descriptors or no memory are left for the HTTP server";
    if (!wake_) return base::failure(nothing_left);
    const auto on_request = [](void* self, MHD_Connection* connection, const char* target, const char* method,
                               const char* /*version*/, const char* upload, std::size_t* upload_size, void** context) {
        return without_exceptions([&] {
            return static_cast<MicroHttpServer*>(self)->on_request(connection, target, method, upload, upload_size,
                                                                   context);
        });
    };
    const auto on_connection = [](void* self, MHD_Connection* connection, void** /*context*/,
                                  MHD_ConnectionNotificationCode code) {
        static_cast<MicroHttpServer*>(self)->on_connection(connection, code == MHD_CONNECTION_NOTIFY_STARTED);
    };
    const auto on_completed = [](void* self, MHD_Connection* /*connection*/, void** context,
                                 MHD_RequestTerminationCode /*code*/) {
        static_cast<MicroHttpServer*>(self)->on_completed(context);
    };
    daemon_.reset(library_.start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr,
        static_cast<MHD_AccessHandlerCallback>(on_request), this, MHD_OPTION_NOTIFY_CONNECTION,
        static_cast<MHD_NotifyConnectionCallback>(on_connection), this, MHD_OPTION_NOTIFY_COMPLETED,
        static_cast<MHD_RequestCompletedCallback>(on_completed), this, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        bounds_.header_bytes, MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(bounds_.connections + accepted_at_once), MHD_OPTION_END));
    if (!daemon_) return base::failure(nothing_left);
    epoll_ = library_.get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    // Requests that were answered find room without memory being taken.
    for (Done* const done : {&done_, &finishing_}) done->reserve(bounds_.jobs);
    worker_ = std::make_unique<JobThread>();
    const base::SignalBlock none_for_the_thread;
    thread_ = std::thread([this] { serve(); });
    return {};
}

void MicroHttpServer::publish(std::string bytes) {
    {
        const std::lock_guard lock(mutex_);
        if (events_.size() + bytes.size() <= bounds_.stream_bytes) events_ += bytes;
    }
    wake();
}

// ---- the thread ----

void MicroHttpServer::serve() {
    pthread_setname_np(pthread_self(), "http");
    while (!ends_) {
        const Moment now = Clock::now();
        std::array<pollfd, 3> waited{pollfd{wake_.number(), POLLIN, 0}, pollfd{epoll_, POLLIN, 0},
                                     pollfd{now < deaf_until_ ? -1 : socket_.descriptor.number(), POLLIN, 0}};
        if (poll(waited.data(), waited.size(), wait_ms(now)) < 0) waited = {};
        eventfd_t woken = 0;
        eventfd_read(wake_.number(), &woken);
        finish_jobs();
        send_events();
        close_late(Clock::now());
        library_.run(daemon_.get());
        if (waited[2].revents != 0) accept_all();
    }
    stop();
}

void MicroHttpServer::stop() {
    // Its jobs refer to this object.
    worker_.reset();
    for (const auto& [number, exchange] : exchanges_) {
        if (exchange->is_sent && !exchange->response) exchange->response = plain(503, "The daemon is ending.\n");
        if (exchange->is_suspended) library_.resume_connection(exchange->client->connection);
        exchange->is_suspended = false;
    }
    daemon_.reset();
    clients_.clear();
    exchanges_.clear();
}

int MicroHttpServer::wait_ms(Moment now) const {
    Moment next = now + std::chrono::hours(1);
    for (const auto& client : clients_) next = std::min(next, client->deadline);
    if (streams_ > 0) next = std::min(next, heartbeat_);
    if (deaf_until_ > now) next = std::min(next, deaf_until_);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - now).count();
    int wait = static_cast<int>(std::max<std::int64_t>(left + 1, 0));
    MHD_UNSIGNED_LONG_LONG timeout = 0;
    if (library_.get_timeout(daemon_.get(), &timeout) == MHD_YES && timeout < static_cast<unsigned>(wait))
        wait = static_cast<int>(timeout);
    return wait;
}

void MicroHttpServer::finish_jobs() {
    {
        const std::lock_guard lock(mutex_);
        finishing_.swap(done_);
    }
    for (auto& [number, response] : finishing_) {
        --jobs_;
        const auto found = exchanges_.find(number);
        if (found == exchanges_.end()) continue;
        Exchange& exchange = *found->second;
        exchange.response = std::move(response);
        exchange.has_failed = !exchange.response;
        exchange.is_suspended = false;
        library_.resume_connection(exchange.client->connection);
    }
    finishing_.clear();
}

void MicroHttpServer::send_events() {
    std::string events;
    {
        const std::lock_guard lock(mutex_);
        events.swap(events_);
    }
    const Moment now = Clock::now();
    // Clients that left are noticed when something is sent to them.
    if (events.empty() && now >= heartbeat_) events = ":\n\n";
    if (events.empty()) return;
    heartbeat_ = now + bounds_.heartbeat;
    for (const auto& [number, exchange] : exchanges_)
        if (exchange->client->stage == Stage::streaming) send_event(*exchange, events);
}

void MicroHttpServer::send_event(Exchange& exchange, const std::string& bytes) {
    const bool was_empty = exchange.stream.empty();
    const bool fits = exchange.stream.size() + bytes.size() <= bounds_.stream_bytes;
    if (!fits || !append(exchange.stream, bytes))
        close(*exchange.client);
    else if (was_empty)
        exchange.client->deadline = Clock::now() + bounds_.to_read;
    if (!exchange.is_suspended) return;
    exchange.is_suspended = false;
    library_.resume_connection(exchange.client->connection);
}

/// The library closes a connection whose socket was shut down, when it looks at the socket next.
void MicroHttpServer::close(Client& client) {
    shutdown(client.socket, SHUT_RDWR);
    client.is_closed = true;
    client.deadline = Moment::max();
}

void MicroHttpServer::close_late(Moment now) {
    // A client that sends a byte now and then is closed as well.
    for (const auto& client : clients_)
        if (now >= client->deadline) close(*client);
}

void MicroHttpServer::accept_all() {
    for (std::size_t i = 0; i < accepted_at_once; ++i) {
        sockaddr_storage address{};
        socklen_t length = sizeof address;
        auto* const from = reinterpret_cast<sockaddr*>(&address);
        base::Descriptor socket(accept4(socket_.descriptor.number(), from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                deaf_until_ = Clock::now() + std::chrono::milliseconds(100);
            return;
        }
        if (clients_.size() >= bounds_.connections) make_room();
        // The library closes the socket, also if it fails.
        library_.add_connection(daemon_.get(), socket.release(), from, length);
    }
}

/// The client that has been asking longest; if all have asked, the client nearest to its deadline.
void MicroHttpServer::make_room() {
    const auto asking = std::find_if(clients_.begin(), clients_.end(), [](const auto& client) {
        return client->stage == Stage::asking && !client->is_closed;
    });
    const auto first = std::min_element(clients_.begin(), clients_.end(),
                                        [](const auto& a, const auto& b) { return a->deadline < b->deadline; });
    close(**(asking != clients_.end() ? asking : first));
    // Its place is free at once.
    library_.run(daemon_.get());
}

// ---- what the library calls, within MHD_run() and MHD_add_connection() ----

void MicroHttpServer::on_connection(MHD_Connection* connection, bool begins) {
    if (!begins) {
        std::erase_if(clients_, [connection](const auto& client) { return client->connection == connection; });
        return;
    }
    const int socket = library_.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const MHD_Result added = without_exceptions([&] {
        auto client = std::make_unique<Client>();
        client->connection = connection;
        client->socket = socket;
        client->is_local =
            is_loopback(library_.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
        client->deadline = Clock::now() + bounds_.to_ask;
        clients_.push_back(std::move(client));
        return MHD_YES;
    });
    // A client that is not in the list has no deadline.
    if (added != MHD_YES) shutdown(socket, SHUT_RDWR);
}

MHD_Result MicroHttpServer::on_request(MHD_Connection* connection, const char* target, const char* method,
                                       const char* upload, std::size_t* upload_size, void** context) {
    if (*context == nullptr) return begin(connection, target, method, context);
    Exchange& exchange = *static_cast<Exchange*>(*context);
    if (*upload_size > 0) {
        exchange.received += *upload_size;
        if (exchange.received <= bounds_.body_bytes) exchange.request.body.append(upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    return answer(connection, exchange);
}

MHD_Result MicroHttpServer::begin(MHD_Connection* connection, const char* target, const char* method, void** context) {
    const auto client = std::find_if(clients_.begin(), clients_.end(),
                                     [connection](const auto& each) { return each->connection == connection; });
    if (client == clients_.end()) return MHD_NO;
    auto exchange = std::make_unique<Exchange>();
    exchange->number = ++last_number_;
    exchange->client = client->get();
    exchange->request = request_of(library_, connection, target, method);
    exchange->request.is_local = (*client)->is_local;
    const std::uint64_t number = exchange->number;
    *context = exchanges_.emplace(number, std::move(exchange)).first->second.get();
    return MHD_YES;
}

MHD_Result MicroHttpServer::answer(MHD_Connection* connection, Exchange& exchange) {
    Client& client = *exchange.client;
    const std::string& asked = exchange.request.method;
    if (exchange.response) return queue(connection, client, *exchange.response);
    if (exchange.has_failed) return MHD_NO;
    if (exchange.is_sent) return MHD_YES;
    if (exchange.received > bounds_.body_bytes)
        return queue(connection, client, plain(413, "The body of the request is too long.\n"));
    if (!std::all_of(asked.begin(), asked.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
        return queue(connection, client, plain(400, "This is not an HTTP request.\n"));
    switch (handler_.way_of(exchange.request)) {
        case Handler::Way::at_once: return queue(connection, client, answer_of(handler_, exchange.request));
        case Handler::Way::by_worker: return send_to_worker(connection, exchange);
        case Handler::Way::as_stream: return begin_stream(connection, exchange);
    }
    return MHD_NO;
}

MHD_Result MicroHttpServer::send_to_worker(MHD_Connection* connection, Exchange& exchange) {
    if (jobs_ >= bounds_.jobs)
        return queue(connection, *exchange.client, plain(503, "Too many requests wait already; ask again later.\n"));
    worker_->run([this, number = exchange.number, request = exchange.request] {
        std::optional<Response> response;
        try {
            response = answer_of(handler_, request);
        } catch (const std::bad_alloc&) {
            response.reset();
        }
        {
            // There is room: see start().
            const std::lock_guard lock(mutex_);
            done_.emplace_back(number, std::move(response));
        }
        wake();
    });
    // finish_jobs() runs in this thread, so it finds the connection suspended.
    ++jobs_;
    exchange.is_sent = true;
    exchange.is_suspended = true;
    exchange.client->stage = Stage::waiting;
    exchange.client->deadline = Moment::max();
    library_.suspend_connection(connection);
    return MHD_YES;
}

MHD_Result MicroHttpServer::begin_stream(MHD_Connection* connection, Exchange& exchange) {
    constexpr std::size_t piece = 4'096;
    if (streams_ >= bounds_.streams)
        return queue(connection, *exchange.client, plain(503, "Too many clients follow the events already.\n"));
    struct Stream {
        MicroHttpServer* server;
        Exchange* exchange;
    };
    const auto read = [](void* stream, std::uint64_t /*position*/, char* into, std::size_t most) {
        return static_cast<Stream*>(stream)->server->read_stream(*static_cast<Stream*>(stream)->exchange, into, most);
    };
    const auto release = [](void* stream) { delete static_cast<Stream*>(stream); };
    exchange.stream = handler_.stream_head();
    auto stream = std::make_unique<Stream>(Stream{this, &exchange});
    MHD_Response* made =
        library_.create_response_from_callback(MHD_SIZE_UNKNOWN, piece, static_cast<MHD_ContentReaderCallback>(read),
                                               stream.get(), static_cast<MHD_ContentReaderFreeCallback>(release));
    if (made == nullptr) return MHD_NO;
    // The response owns the stream now.
    stream.release();  // NOLINT(bugprone-unused-return-value)
    library_.add_response_header(made, "Content-Type", "text/event-stream; charset=utf-8");
    library_.add_response_header(made, "Cache-Control", "no-store");
    library_.add_response_header(made, "X-Content-Type-Options", "nosniff");
    exchange.client->stage = Stage::streaming;
    exchange.client->deadline = Clock::now() + bounds_.to_read;
    ++streams_;
    if (heartbeat_ == Moment::max()) heartbeat_ = Clock::now() + bounds_.heartbeat;
    const MHD_Result queued = library_.queue_response(connection, MHD_HTTP_OK, made);
    library_.destroy_response(made);
    return queued;
}

ssize_t MicroHttpServer::read_stream(Exchange& exchange, char* into, std::size_t most) {
    if (ends_) return MHD_CONTENT_READER_END_OF_STREAM;
    if (exchange.stream.empty()) {
        exchange.client->deadline = Moment::max();
        exchange.is_suspended = true;
        library_.suspend_connection(exchange.client->connection);
        return 0;
    }
    const std::size_t count = std::min(most, exchange.stream.size());
    std::copy_n(exchange.stream.data(), count, into);
    exchange.stream.erase(0, count);
    exchange.client->deadline = Clock::now() + bounds_.to_read;
    return static_cast<ssize_t>(count);
}

MHD_Result MicroHttpServer::queue(MHD_Connection* connection, Client& client, const Response& response) const {
    client.stage = Stage::reading;
    if (!client.is_closed) client.deadline = Clock::now() + bounds_.to_read;
    MHD_Response* made = response_of(library_, response);
    if (made == nullptr) return MHD_NO;
    library_.add_response_header(made, "Content-Type", response.type.c_str());
    library_.add_response_header(made, "Cache-Control", "no-store");
    library_.add_response_header(made, "X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) library_.add_response_header(made, name.c_str(), value.c_str());
    const MHD_Result queued = library_.queue_response(connection, response.status, made);
    library_.destroy_response(made);
    return queued;
}

void MicroHttpServer::on_completed(void** context) {
    if (*context == nullptr) return;
    const Exchange& exchange = *static_cast<Exchange*>(*context);
    Client& client = *exchange.client;
    if (client.stage == Stage::streaming) --streams_;
    if (!client.is_closed) client.deadline = Clock::now() + bounds_.to_ask;
    client.stage = Stage::asking;
    *context = nullptr;
    exchanges_.erase(exchange.number);
}

}  // namespace

base::Result<std::unique_ptr<HttpServer>> HttpServer::open(const std::string& address, Handler& handler,
                                                           const ServerBounds& bounds) {
    auto socket = listen_on(address);
    if (!socket.ok()) return base::Failure{socket.error()};
    return open(std::move(*socket), handler, bounds);
}

base::Result<std::unique_ptr<HttpServer>> HttpServer::open(ListeningSocket socket, Handler& handler,
                                                           const ServerBounds& bounds) {
    const auto library = load_microhttpd();
    if (!library) return base::Failure{library.error()};
    auto server = std::make_unique<MicroHttpServer>(*library, std::move(socket), handler, bounds);
    if (const auto started = server->start(); !started) return base::Failure{started.error()};
    return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace service::http
