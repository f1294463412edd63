#include "exporters/prometheus/listener.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <civetweb.h>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

#include "exporters/prometheus/http_answer.h"

namespace exporters::prometheus {
namespace {

constexpr std::size_t piece_octets = 16384;
constexpr auto longest_answer = std::chrono::seconds(10);

struct Address {
    std::string host;  ///< empty: all
    bool is_ipv6 = false;
    std::uint16_t port = 0;
};

wire::Result<Address, std::string> parse(const std::string& text) {
    const auto wrong = [&](std::string_view what) {
        return wire::Failure{fmt::format(
            "cannot listen on '{}': {}; an address is like 127.0.0.1:9879, [::1]:9879, or :9879 for all", text, what)};
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return wrong("there is no port");
    Address address;
    address.host = text.substr(0, colon);
    const std::string port = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (port.empty() || error != std::errc{} || end != port.data() + port.size())
        return wrong(fmt::format("'{}' is no port (0 to 65535)", port));
    if (address.host.empty()) return address;
    in6_addr ignored{};
    address.is_ipv6 = address.host.front() == '[' && address.host.back() == ']';
    if (address.is_ipv6) address.host = address.host.substr(1, address.host.size() - 2);
    if (inet_pton(address.is_ipv6 ? AF_INET6 : AF_INET, address.host.c_str(), &ignored) != 1)
        return wrong(fmt::format("'{}' is no IP address", address.host));
    return address;
}

/// Tries to bind, for the reason why somebody else could not; 0 where it succeeds.
int bind_error(const Address& address) {
    const int family = address.is_ipv6 ? AF_INET6 : AF_INET;
    const int handle = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (handle < 0) return errno;
    const int on = 1;
    setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 six{};
    sockaddr_in four{};
    six.sin6_family = AF_INET6;
    four.sin_family = AF_INET;
    six.sin6_port = four.sin_port = htons(address.port);
    if (address.is_ipv6)
        inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr);
    else if (!address.host.empty())
        inet_pton(AF_INET, address.host.c_str(), &four.sin_addr);
    const int result = address.is_ipv6 ? bind(handle, reinterpret_cast<sockaddr*>(&six), sizeof six)
                                       : bind(handle, reinterpret_cast<sockaddr*>(&four), sizeof four);
    // A port that is only bound, not listened on, shows when one wants to listen.
    const int error = result < 0 || listen(handle, 1) < 0 ? errno : 0;
    close(handle);
    return error;
}

std::string explain(int error) {
    switch (error) {
        case EADDRINUSE: return "another program listens there (ss -ltnp shows which); stop it, or choose another port";
        case EACCES: return "that needs root or CAP_NET_BIND_SERVICE; choose a port above 1023";
        case EADDRNOTAVAIL: return "no interface has this address (ip address shows those there are)";
        case EAFNOSUPPORT: return "this machine has no IPv6; choose an IPv4 address";
        default: return std::strerror(error);
    }
}

class CivetListener final : public Listener {
public:
    explicit CivetListener(Pages pages) : pages_(std::move(pages)) { mg_init_library(0); }
    ~CivetListener() override {
        if (context_ != nullptr) mg_stop(context_);
        mg_exit_library();
    }
    CivetListener(const CivetListener&) = delete;
    CivetListener& operator=(const CivetListener&) = delete;

    bool start(const std::string& ports);
    std::uint16_t port() const override;
    const std::string& complaint() const { return complaint_; }

private:
    static int on_request(mg_connection* connection);
    static int on_log(const mg_connection* connection, const char* message);

    Pages pages_;
    mg_context* context_ = nullptr;
    std::string complaint_;
};

bool CivetListener::start(const std::string& ports) {
    const std::array<const char*, 21> options{
        "listening_ports",
        ports.c_str(),  // as civetweb writes them
        "num_threads",
        "8",  // so many clients at once
        "connection_queue",
        "32",  // so many may wait
        "listen_backlog",
        "64",  //
        "request_timeout_ms",
        "2000",  // for the whole request; and without progress of the answer
        "max_request_size",
        "8192",  //
        "enable_keep_alive",
        "no",  // an idle client would keep a thread
        "tcp_nodelay",
        "1",  //
        "decode_url",
        "no",  //
        "enable_directory_listing",
        "no",  //
        nullptr,
    };
    mg_callbacks callbacks{};
    callbacks.begin_request = on_request;
    callbacks.log_message = on_log;
    std::array<char, 512> text{};
    mg_error_data error{};
    error.text = text.data();
    error.text_buffer_size = text.size();
    mg_init_data init{};
    init.callbacks = &callbacks;
    init.user_data = this;
    init.configuration_options = const_cast<const char**>(options.data());
    // Threads inherit the mask: signals are for those who wait for them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    context_ = mg_start2(&init, &error);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    complaint_ = text.data();
    return context_ != nullptr;
}

std::uint16_t CivetListener::port() const {
    std::array<mg_server_port, 4> ports{};
    const int count = mg_get_server_ports(context_, static_cast<int>(ports.size()), ports.data());
    return count > 0 ? static_cast<std::uint16_t>(ports[0].port) : std::uint16_t{0};
}

int CivetListener::on_request(mg_connection* connection) {
    const mg_request_info& info = *mg_get_request_info(connection);
    const auto* self = static_cast<const CivetListener*>(info.user_data);
    const auto text = [](const char* value) { return value == nullptr ? std::string_view{} : std::string_view(value); };
    const HttpRequest request{text(info.request_method), text(info.local_uri),
                              text(mg_get_header(connection, "Accept-Encoding"))};
    const std::string answer = http_answer(request, self->pages_);
    const auto deadline = std::chrono::steady_clock::now() + longest_answer;
    for (std::size_t at = 0; at < answer.size(); at += piece_octets) {
        const std::size_t piece = std::min(piece_octets, answer.size() - at);
        if (mg_write(connection, answer.data() + at, piece) != static_cast<int>(piece)) break;
        if (std::chrono::steady_clock::now() > deadline) break;
    }
    return 200;  // answered, whatever was said
}

/// What clients do wrong is no news.
int CivetListener::on_log(const mg_connection*, const char*) { return 1; }

std::string civet_ports(const Address& address, bool dual_stack) {
    if (address.is_ipv6) return fmt::format("[{}]:{}", address.host, address.port);
    if (address.host.empty()) return fmt::format("{}{}", dual_stack ? "+" : "", address.port);
    return fmt::format("{}:{}", address.host, address.port);
}

}  // namespace

wire::Result<std::unique_ptr<Listener>, std::string> Listener::open(const std::string& address, Pages pages) {
    const auto parsed = parse(address);
    if (!parsed.ok()) return wire::Failure{parsed.error()};
    auto listener = std::make_unique<CivetListener>(std::move(pages));
    // Where the kernel has no IPv6, all is all of IPv4.
    if (listener->start(civet_ports(*parsed, true)) ||
        (parsed->host.empty() && listener->start(civet_ports(*parsed, false))))
        return std::unique_ptr<Listener>(std::move(listener));
    const int error = bind_error(*parsed);
    return wire::Failure{
        fmt::format("cannot listen on '{}': {}", address, error != 0 ? explain(error) : listener->complaint())};
}

}  // namespace exporters::prometheus
