// http_pull HOST PORT PATH CONNECTIONS BITS_PER_SEC SECONDS
//
// Pulls one object over and over on many keep-alive connections, each at a given rate, and counts the answers that came
// after their deadline: the moment the connection's next request is due. The same clock as `endpoint bench --rate`.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Pull {
    int fd = -1;
    bool busy = false;
    Clock::time_point due;       ///< of the next request
    Clock::time_point deadline;  ///< of the running one
    std::string head;
    bool in_body = false;
    std::size_t missing = 0;
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "http_pull: %s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

int connected(const char* host, const char* port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host, port, &hints, &found) != 0) fail(std::string("no such address: ") + host);
    const int fd = socket(found->ai_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0) fail(std::string("connecting to ") + host);
    freeaddrinfo(found);
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/// The body's length, from a head that is complete.
std::size_t content_length(std::string_view head) {
    constexpr std::string_view name = "content-length:";
    for (std::size_t i = 0; i + name.size() < head.size(); ++i)
        if (strncasecmp(head.data() + i, name.data(), name.size()) == 0)
            return std::strtoull(head.data() + i + name.size(), nullptr, 10);
    errno = EPROTO;
    fail("an answer without Content-Length");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: http_pull HOST PORT PATH CONNECTIONS BITS_PER_SEC SECONDS\n");
        return 2;
    }
    const std::size_t connections = std::strtoull(argv[4], nullptr, 10);
    const double bits_per_sec = std::strtod(argv[5], nullptr);
    const double seconds = std::strtod(argv[6], nullptr);
    const std::string request = std::string("GET ") + argv[3] + " HTTP/1.1\r\nHost: " + argv[1] + "\r\n\r\n";

    const int poll = epoll_create1(0);
    std::vector<Pull> pulls(connections);
    for (std::size_t i = 0; i < connections; ++i) {
        pulls[i].fd = connected(argv[1], argv[2]);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        epoll_ctl(poll, EPOLL_CTL_ADD, pulls[i].fd, &event);
    }

    // The first answer tells the object's size, hence the period.
    std::uint64_t answers = 0;
    std::uint64_t octets = 0;
    std::uint64_t missed = 0;
    std::uint64_t skipped = 0;
    std::size_t object = 0;
    std::vector<char> scratch(1 << 20);
    const auto receive = [&](Pull& pull) {
        const ssize_t got = recv(pull.fd, scratch.data(), scratch.size(), MSG_DONTWAIT);
        if (got == 0) {
            errno = ECONNRESET;
            fail("the server closed");
        }
        if (got < 0) {
            if (errno == EAGAIN) return false;
            fail("receiving");
        }
        std::string_view bytes(scratch.data(), static_cast<std::size_t>(got));
        if (!pull.in_body) {
            pull.head.append(bytes);
            const std::size_t end = pull.head.find("\r\n\r\n");
            if (end == std::string::npos) return false;
            if (pull.head.compare(9, 3, "200") != 0) {
                errno = EPROTO;
                fail(pull.head.substr(0, pull.head.find('\r')));
            }
            object = content_length({pull.head.data(), end + 2});
            pull.missing = object;
            bytes = bytes.substr(bytes.size() - (pull.head.size() - end - 4));
            pull.head.clear();
            pull.in_body = true;
        }
        octets += bytes.size();
        pull.missing -= bytes.size();
        if (pull.missing != 0) return false;
        pull.in_body = false;
        ++answers;
        return true;
    };
    const auto ask = [&](Pull& pull) {
        if (send(pull.fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
            fail("sending");
        pull.busy = true;
    };
    ask(pulls[0]);
    while (!receive(pulls[0])) {
    }
    pulls[0].busy = false;
    answers = octets = 0;

    const auto period =
        std::chrono::nanoseconds(static_cast<std::int64_t>(8e9 * static_cast<double>(object) / bits_per_sec));
    const auto begin = Clock::now() + std::chrono::milliseconds(100);
    const auto end = begin + std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    std::deque<std::size_t> order;  // all have one period: who was asked first is due first
    for (std::size_t i = 0; i < connections; ++i) {
        pulls[i].due = begin + period * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(connections);
        order.push_back(i);
    }
    std::vector<epoll_event> events(256);
    while (Clock::now() < end) {
        auto now = Clock::now();
        while (pulls[order.front()].due <= now) {
            const std::size_t i = order.front();
            order.pop_front();
            order.push_back(i);
            Pull& pull = pulls[i];
            if (pull.busy) {
                ++skipped;  // the one before has not come: late twice
            } else {
                pull.deadline = pull.due + period;
                ask(pull);
            }
            pull.due += period;
        }
        const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(pulls[order.front()].due - now).count();
        const int ready =
            epoll_wait(poll, events.data(), static_cast<int>(events.size()), wait < 0 ? 0 : static_cast<int>(wait));
        now = Clock::now();
        for (int k = 0; k < ready; ++k) {
            Pull& pull = pulls[events[static_cast<std::size_t>(k)].data.u64];
            if (!receive(pull)) continue;
            pull.busy = false;
            missed += Clock::now() > pull.deadline;
        }
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const double cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    std::printf(
        "{\"connections\": %zu, \"object_bytes\": %zu, \"requests\": %llu, \"bytes\": %llu, \"missed_deadlines\": "
        "%llu, "
        "\"skipped\": %llu, \"seconds\": %g, \"cpu_seconds\": %g}\n",
        connections, object, static_cast<unsigned long long>(answers), static_cast<unsigned long long>(octets),
        static_cast<unsigned long long>(missed), static_cast<unsigned long long>(skipped), seconds, cpu);
}
