/// What the sockets alone can do: the measure for the stack. Bulk and ping-pong over TCP in messages of one size, one
/// JSON object in the words of `rdmascope endpoint bench --json`.
///
///   raw_tcp serve --listen 127.0.0.1:4792
///   raw_tcp bulk|ping-pong [--to 127.0.0.1:4792] [--size N] [--seconds S | --count N] [--congestion NAME]
///                          [--batch N] [--receive any|whole] [--crc on|off]
///
/// Without --to a server is made next to it, in a process of its own. --batch: messages in a system call. --receive:
/// the server takes what there is into 64 KiB, which stay in the caches and were the fastest (any, the default), or
/// each message into memory of its size (whole). --crc: both ends compute CRC-32C of all bytes and do not compare them:
/// what sockets and a CRC cost together.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "wire/crc32c.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    std::string mode;
    std::string address;  // of --listen or --to
    std::uint64_t size = 65536;
    std::uint64_t count = 0;  // 0: by time
    double seconds = 5;
    std::uint64_t batch = 1;
    bool whole = false;
    bool crc = false;
    std::string congestion;
};

/// Sent first, in the order of octets of one machine: both ends run on it.
struct Order {
    std::uint64_t ping_pong = 0;
    std::uint64_t size = 0;
    std::uint64_t whole = 0;
    std::uint64_t crc = 0;
};

struct Usage {
    std::int64_t user_ns = 0;
    std::int64_t system_ns = 0;
};

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

std::int64_t ns_of(const timeval& time) { return (std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec) * 1000; }

Usage used() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {ns_of(usage.ru_utime), ns_of(usage.ru_stime)};
}
Usage operator-(const Usage& a, const Usage& b) { return {a.user_ns - b.user_ns, a.system_ns - b.system_ns}; }

sockaddr_in parse(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (colon == std::string::npos || inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1)
        throw std::runtime_error("not ADDRESS:PORT: " + text);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1))));
    return address;
}

int make_socket(const std::string& congestion) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) fail("socket");
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!congestion.empty() && setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                                          static_cast<socklen_t>(congestion.size())) != 0)
        fail("congestion control " + congestion);
    return socket;
}

void send_all(int socket, const void* octets, std::size_t size) {
    const char* at = static_cast<const char*>(octets);
    while (size > 0) {
        const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) fail("send");
        at += sent;
        size -= static_cast<std::size_t>(sent);
    }
}

/// `false` at the end of the stream.
bool receive_all(int socket, void* octets, std::size_t size) {
    char* at = static_cast<char*>(octets);
    while (size > 0) {
        const ssize_t got = recv(socket, at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail("recv");
        if (got == 0) return false;
        at += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

std::uint32_t last_crc = 0;

void compute_crc(const char* octets, std::size_t size) {
    last_crc = wire::crc32c(std::as_bytes(std::span(octets, size)));
}

void serve_one(int socket) {
    Order order;
    if (!receive_all(socket, &order, sizeof order)) return;
    const Usage before = used();
    if (order.ping_pong != 0) {
        std::vector<char> message(order.size);
        while (receive_all(socket, message.data(), message.size())) send_all(socket, message.data(), message.size());
    } else {
        std::vector<char> buffer(order.whole != 0 ? order.size : 64 * 1024);
        if (order.whole != 0) {
            while (receive_all(socket, buffer.data(), buffer.size()))
                if (order.crc != 0) compute_crc(buffer.data(), buffer.size());
        } else {
            ssize_t got = 0;
            while ((got = recv(socket, buffer.data(), buffer.size(), 0)) != 0)
                if (got < 0 && errno != EINTR)
                    fail("recv");
                else if (got > 0 && order.crc != 0)
                    compute_crc(buffer.data(), static_cast<std::size_t>(got));
        }
    }
    const Usage spent = used() - before;
    send_all(socket, &spent, sizeof spent);
}

int listen_on(const std::string& where, const std::string& congestion) {
    const int socket = make_socket(congestion);
    const sockaddr_in address = parse(where);
    if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(socket, 16) != 0)
        fail("listen on " + where);
    return socket;
}

void serve(int listener, bool once) {
    do {
        const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) fail("accept");
        const int on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        try {
            serve_one(socket);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "raw_tcp: %s\n", error.what());
        }
        close(socket);
    } while (!once);
}

struct Result {
    std::uint64_t messages = 0;
    std::uint64_t octets = 0;
    double seconds = 0;
    Usage here, there;
    std::vector<std::int64_t> round_trips_ns;
};

bool goes_on(const Options& options, const Result& result, Clock::time_point end) {
    return options.count != 0 ? result.messages < options.count : Clock::now() < end;
}

void send_batch(int socket, const std::vector<char>& message, std::uint64_t count) {
    std::array<iovec, IOV_MAX> pieces{};
    for (std::uint64_t i = 0; i < count; ++i) pieces[i] = {const_cast<char*>(message.data()), message.size()};
    msghdr header{};
    header.msg_iov = pieces.data();
    header.msg_iovlen = count;
    ssize_t sent = 0;
    while ((sent = sendmsg(socket, &header, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    if (sent < 0) fail("sendmsg");
    for (std::size_t left = message.size() * count - static_cast<std::size_t>(sent); left > 0;) {
        const std::size_t piece = left % message.size() == 0 ? message.size() : left % message.size();
        send_all(socket, message.data(), piece);
        left -= piece;
    }
}

Result run(int socket, const Options& options) {
    const bool ping_pong = options.mode == "ping-pong";
    const Order order{ping_pong ? 1U : 0U, options.size, options.whole ? 1U : 0U, options.crc ? 1U : 0U};
    send_all(socket, &order, sizeof order);
    std::vector<char> message(options.size, 'x');
    Result result;
    if (ping_pong) result.round_trips_ns.reserve(1 << 20);
    const Usage before = used();
    const auto start = Clock::now();
    const auto end =
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    auto last = start;
    while (goes_on(options, result, end)) {
        if (!ping_pong) {
            for (std::uint64_t i = 0; options.crc && i < options.batch; ++i)
                compute_crc(message.data(), message.size());
            send_batch(socket, message, options.batch);
            result.messages += options.batch;
            continue;
        }
        send_all(socket, message.data(), message.size());
        if (!receive_all(socket, message.data(), message.size())) throw std::runtime_error("the server went away");
        const auto now = Clock::now();
        result.round_trips_ns.push_back(std::chrono::nanoseconds(now - last).count());
        last = now;
        ++result.messages;
    }
    shutdown(socket, SHUT_WR);
    if (!receive_all(socket, &result.there, sizeof result.there)) throw std::runtime_error("the server went away");
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    result.here = used() - before;
    result.octets = result.messages * options.size;
    return result;
}

std::string cpu_text(const Usage& usage, std::uint64_t octets) {
    std::array<char, 200> text{};
    const double user = static_cast<double>(usage.user_ns) / 1e9;
    const double system = static_cast<double>(usage.system_ns) / 1e9;
    std::snprintf(text.data(), text.size(), R"({"user_seconds": %.6f, "system_seconds": %.6f, "seconds_per_gb": %.6f})",
                  user, system, octets == 0 ? 0 : (user + system) * 1e9 / static_cast<double>(octets));
    return text.data();
}

void report(const Options& options, Result& result) {
    std::printf("{\n  \"role\": \"raw_tcp\",\n  \"operation\": \"%s\",\n  \"size\": %llu,\n", options.mode.c_str(),
                static_cast<unsigned long long>(options.size));
    std::printf("  \"batch\": %llu,\n  \"receive\": \"%s\",\n", static_cast<unsigned long long>(options.batch),
                options.whole ? "whole" : "any");
    std::printf("  \"seconds\": %.6f,\n  \"completed\": {\"count\": %llu, \"bytes\": %llu},\n", result.seconds,
                static_cast<unsigned long long>(result.messages), static_cast<unsigned long long>(result.octets));
    std::printf("  \"bytes_per_sec\": %.0f,\n  \"messages_per_sec\": %.0f,\n",
                static_cast<double>(result.octets) / result.seconds,
                static_cast<double>(result.messages) / result.seconds);
    auto& times = result.round_trips_ns;
    if (times.empty()) {
        std::printf("  \"latency_ns\": null,\n");
    } else {
        std::sort(times.begin(), times.end());
        double sum = 0;
        for (const std::int64_t time : times) sum += static_cast<double>(time);
        const auto quantile = [&](double share) {
            return static_cast<long long>(
                times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]);
        };
        std::printf(
            R"(  "latency_ns": {"count": %zu, "min": %lld, "mean": %.0f, "p50": %lld, "p90": %lld, "p99": %lld, "p999": %lld, )"
            "\"max\": %lld},\n",
            times.size(), quantile(0), sum / static_cast<double>(times.size()), quantile(0.5), quantile(0.9),
            quantile(0.99), quantile(0.999), quantile(1));
    }
    std::printf("  \"cpu\": %s,\n  \"server_cpu\": %s\n}\n", cpu_text(result.here, result.octets).c_str(),
                cpu_text(result.there, result.octets).c_str());
}

/// Whether it is the second of two words.
bool choice(const std::string& name, const std::string& value, const char* no, const char* yes) {
    if (value != no && value != yes)
        throw std::runtime_error(name + " is " + no + " or " + yes + ", not \"" + value + "\"");
    return value == yes;
}

Options options_of(int count, char** words) {
    Options options;
    if (count < 2) throw std::runtime_error("serve, bulk or ping-pong?");
    options.mode = words[1];
    for (int i = 2; i + 1 < count; i += 2) {
        const std::string name = words[i];
        const std::string value = words[i + 1];
        if (name == "--to" || name == "--listen")
            options.address = value;
        else if (name == "--size")
            options.size = std::stoull(value);
        else if (name == "--count")
            options.count = std::stoull(value);
        else if (name == "--seconds")
            options.seconds = std::stod(value);
        else if (name == "--batch")
            options.batch = std::stoull(value);
        else if (name == "--receive")
            options.whole = choice(name, value, "any", "whole");
        else if (name == "--crc")
            options.crc = choice(name, value, "off", "on");
        else if (name == "--congestion")
            options.congestion = value;
        else
            throw std::runtime_error("unknown option " + name);
    }
    if (count % 2 != 0) throw std::runtime_error(std::string("a value is missing after ") + words[count - 1]);
    if (options.size == 0 || options.batch == 0 || options.batch > IOV_MAX)
        throw std::runtime_error("--size and --batch begin at 1");
    return options;
}

int client(Options options) {
    std::optional<pid_t> server;
    if (options.address.empty()) {
        const int listener = listen_on("127.0.0.1:0", options.congestion);
        sockaddr_in address{};
        socklen_t size = sizeof address;
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
        options.address = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        server = fork();
        if (*server == 0) {
            serve(listener, true);
            std::exit(0);
        }
        close(listener);
    }
    const int socket = make_socket(options.congestion);
    const sockaddr_in to = parse(options.address);
    if (connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect to " + options.address);
    Result result = run(socket, options);
    close(socket);
    if (server) waitpid(*server, nullptr, 0);
    report(options, result);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        const Options options = options_of(count, words);
        if (options.mode == "serve") {
            serve(listen_on(options.address.empty() ? "127.0.0.1:4792" : options.address, options.congestion), false);
            return 0;
        }
        if (options.mode != "bulk" && options.mode != "ping-pong")
            throw std::runtime_error("serve, bulk or ping-pong?");
        return client(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "raw_tcp: %s\n", error.what());
        return 1;
    }
}
