#include "control/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/stat.h>
#include <utility>

#include "base/descriptor.h"
#include "base/quantities.h"
#include "control/packed_snapshot.h"
#include "control/protocol.h"
#include "control/socket_address.h"
#include "metrics/figures/snapshot_codec.h"

namespace control {

namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_answer = std::size_t{1} << 30;      ///< bytes of a line
constexpr std::uint64_t max_packed = std::uint64_t{4} << 30;  ///< bytes of a snapshot
constexpr std::size_t max_head = 65536;                       ///< bytes of the line before frames
constexpr std::size_t receive_bytes = std::size_t{256} << 10;

/// The group that may open a file, as `ls -l` calls it.
std::string group_of(const std::string& path) {
    struct stat there {};
    if (::stat(path.c_str(), &there) != 0) return {};
    std::array<char, 4096> room;
    group entry{};
    group* found = nullptr;
    if (::getgrgid_r(there.st_gid, &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
        return fmt::format("{}", there.st_gid);
    return found->gr_name;
}

/// Why the socket at `path` cannot be connected: `code` is an errno.
base::Failure<base::Error> connect_failure(const std::string& path, int code) {
    switch (code) {
        case ENOENT:
        case ENOTDIR:
        case ECONNREFUSED:
            return base::failure(fmt::format(
                "no daemon answers at {}; start one with `rdmascope daemon -i IFACE`, or say where it is with "
                "--connect=SOCKET",
                path));
        case EACCES:
        case EPERM: {
            const std::string group = group_of(path);
            return base::failure(fmt::format("{} may not be opened: {}", path,
                                             group.empty()
                                                 ? "its folder is closed to this user; become root"
                                                 : fmt::format("group {} may; join it (`usermod -a -G {} USER`, then "
                                                               "log in again), or become root",
                                                               group, group)));
        }
        default: return base::failure(std::strerror(code), path);
    }
}

base::Failure<base::Error> not_a_daemon(const std::string& path) {
    return base::failure("what answers there is no rdmascope daemon", path);
}

/// The first line of a daemon's answer. Fails in the daemon's words if the daemon refused.
base::Result<Json> parse_answer(const std::string& line, const std::string& path) {
    Json answer = Json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.contains("ok") || !answer["ok"].is_boolean() || !answer.contains("version"))
        return not_a_daemon(path);
    if (answer["ok"] == true) return answer;
    const auto error = answer.find("error");
    return base::failure(
        fmt::format("the daemon at {}: {}", path,
                    error != answer.end() && error->is_string() ? error->get<std::string>() : "it says no"));
}

std::uint64_t number_in(const Json& answer, const char* name) {
    const auto at = answer.find(name);
    return at != answer.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

}  // namespace

struct Client::State {
    base::Descriptor socket = base::Descriptor();
    std::string path = {};
    std::uint64_t timeout_ns = 0;
    bool crc_verified = true;
    std::string policy_file = {};
    bool broken = false;  ///< in the middle of an answer: nothing that follows can be told apart
    std::string in = {};
    std::size_t taken = 0;
    std::size_t scanned = 0;

    /// Waits until the socket is ready for `events`; fails at the deadline.
    base::Result<void> wait(short events, Clock::time_point deadline) const {
        for (;;) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            pollfd one{socket.number(), events, 0};
            const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
            if (ready > 0) return {};
            if (ready == 0) return no_answer();
            if (errno != EINTR) return base::failure(std::strerror(errno), path);
        }
    }
    base::Failure<base::Error> no_answer() const {
        return base::failure(fmt::format("the daemon at {} has not answered within {}: is it very busy, or stopped?",
                                         path, base::format_duration(timeout_ns)));
    }
    base::Failure<base::Error> connection_lost() const {
        return base::failure(fmt::format("the daemon at {} went away in the middle of an answer", path));
    }
    /// The time-out is for silence: a long answer that keeps coming may take longer.
    Clock::time_point deadline() const { return Clock::now() + std::chrono::nanoseconds(timeout_ns); }

    base::Result<void> send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent > 0) {
                bytes.remove_prefix(static_cast<std::size_t>(sent));
            } else if (errno == EAGAIN) {
                if (auto ready = wait(POLLOUT, deadline()); !ready) return ready;
            } else if (errno == EPIPE || errno == ECONNRESET) {
                return {};  // what the daemon said before it hung up is the better message
            } else if (errno != EINTR) {
                return base::failure(std::strerror(errno), path);
            }
        }
        return {};
    }

    /// Appends what the socket has to `in`; waits for it.
    base::Result<void> receive() {
        in.erase(0, taken);
        scanned -= taken;
        taken = 0;
        const std::size_t before = in.size();
        for (;;) {
            if (auto ready = wait(POLLIN, deadline()); !ready) return ready;
            in.resize(before + receive_bytes);
            const ssize_t got = ::recv(socket.number(), in.data() + before, receive_bytes, MSG_DONTWAIT);
            in.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            if (got > 0) return {};
            if (got == 0 || errno == ECONNRESET) return connection_lost();
            if (errno != EAGAIN && errno != EINTR) return base::failure(std::strerror(errno), path);
        }
    }

    base::Result<std::string> read_line() {
        for (;;) {
            const std::size_t end = in.find('\n', scanned);
            if (end != std::string::npos) {
                std::string text = in.substr(taken, end - taken);
                taken = scanned = end + 1;
                return text;
            }
            scanned = in.size();
            if (in.size() - taken > max_answer)
                return base::failure(fmt::format("an answer of more than {}; ask for less, with columns or limit",
                                                 base::format_exact_size(max_answer)));
            if (auto received = receive(); !received) return base::Failure{received.error()};
        }
    }

    base::Result<std::vector<std::byte>> read_bytes(std::uint64_t count) {
        std::vector<std::byte> all;
        while (all.size() < count) {
            if (taken == in.size())
                if (auto received = receive(); !received) return base::Failure{received.error()};
            const auto part = std::min<std::uint64_t>(count - all.size(), in.size() - taken);
            const auto* from = reinterpret_cast<const std::byte*>(in.data() + taken);
            all.insert(all.end(), from, from + part);
            taken += static_cast<std::size_t>(part);
            scanned = taken;
        }
        return all;
    }

    /// Reads a line and not a byte more: another reader gets the descriptor with what follows.
    base::Result<std::string> read_line_alone() {
        std::string text;
        for (char byte = 0; text.size() < max_head;) {
            if (auto ready = wait(POLLIN, deadline()); !ready) return base::Failure{ready.error()};
            const ssize_t got = ::recv(socket.number(), &byte, 1, MSG_DONTWAIT);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (got <= 0) break;
            if (byte == '\n') return text;
            text += byte;
        }
        return connection_lost();
    }

    base::Result<std::string> ask(std::string request) {
        if (broken) return connection_lost();
        if (request.empty() || request.back() != '\n') request += '\n';
        const auto sent = send(request);
        auto answer = sent ? read_line() : base::Result<std::string>(base::Failure{sent.error()});
        broken = !answer;
        return answer;
    }
};

bool daemon_listens(const std::string& path) {
    if (path.empty() || path.size() > max_socket_path) return false;
    const base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = address_of(path);
    return socket &&
           (::connect(socket.number(), generic(address), sizeof address) == 0 || errno == EAGAIN || errno == EACCES);
}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::~Client() = default;

base::Result<std::unique_ptr<Client>> Client::connect(const std::string& path, std::uint64_t timeout_ns) {
    if (path.empty() || path.size() > max_socket_path)
        return base::failure(fmt::format("'{}': a socket's path has 1 to {} bytes", path, max_socket_path));
    auto state = std::make_unique<State>();
    state->path = path;
    state->timeout_ns = std::min<std::uint64_t>(timeout_ns, std::uint64_t{86400} * 1'000'000'000);
    state->socket = base::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!state->socket) return base::failure(fmt::format("no socket can be had: {}", std::strerror(errno)));
    const sockaddr_un address = address_of(path);
    const auto deadline = state->deadline();
    while (::connect(state->socket.number(), generic(address), sizeof address) != 0) {
        // EAGAIN: others wait to be accepted, too.
        if (errno != EAGAIN && errno != EINTR) return connect_failure(path, errno);
        if (Clock::now() >= deadline) return state->no_answer();
        ::poll(nullptr, 0, 10);
    }
    auto answer = state->ask(R"({"version":1,"command":"version"})");
    if (!answer) return base::Failure{answer.error()};
    auto head = parse_answer(*answer, path);
    if (!head) return base::Failure{head.error()};
    const Json& result = (*head)["result"];
    if (!result.is_object() || result.value("program", Json()) != "rdmascope") return not_a_daemon(path);
    state->crc_verified = result.value("crc_verified", Json()) != false;
    if (const Json file = result.value("policy_file", Json()); file.is_string()) state->policy_file = file;
    return std::unique_ptr<Client>(new Client(std::move(state)));
}

base::Result<metrics::Snapshot> Client::try_snapshot(std::uint64_t max_age_ms) {
    State& s = *state_;
    auto answer = s.ask(fmt::format(R"({{"version":1,"command":"snapshot","max_age_ms":{}}})", max_age_ms));
    if (!answer) return base::Failure{answer.error()};
    auto head = parse_answer(*answer, s.path);
    if (!head) return base::Failure{head.error()};
    const std::uint64_t packed_octets = number_in(*head, "octets");
    const std::uint64_t version = number_in(*head, "snapshot_version");
    if (packed_octets > max_packed) {
        s.broken = true;
        return base::failure(
            fmt::format("the daemon at {} offers {} bytes; at most {} are taken", s.path, packed_octets, max_packed));
    }
    auto packed = s.read_bytes(packed_octets);
    s.broken = !packed;
    if (!packed) return base::Failure{packed.error()};
    if (version > metrics::snapshot_version)
        return base::failure(
            fmt::format("the daemon at {} is of a later version (its figures are of version {}, this "
                        "program reads up to {}); use the daemon's own rdmascope",
                        s.path, version, metrics::snapshot_version));
    s.crc_verified = head->value("crc_verified", Json()) != false;
    auto snapshot = unpack_snapshot(*packed, number_in(*head, "encoded_octets"));
    if (!snapshot) return base::failure(fmt::format("the daemon at {}: {}", s.path, snapshot.error().text()));
    return snapshot;
}

base::Result<std::string> Client::ask(const std::string& request) { return state_->ask(request); }

base::Result<base::Descriptor> Client::frames(FramesOf which) {
    State& s = *state_;
    if (std::exchange(s.broken, true)) return s.connection_lost();
    const auto sent = s.send(which == FramesOf::now ? "{\"version\":1,\"command\":\"frames\"}\n"
                                                    : "{\"version\":1,\"command\":\"recording\"}\n");
    if (!sent) return base::Failure{sent.error()};
    auto answer = s.read_line_alone();
    if (!answer) return base::Failure{answer.error()};
    auto head = parse_answer(*answer, s.path);
    if (!head) return base::Failure{head.error()};
    if (head->value("encoding", Json()) != "pcapng")
        return base::failure(
            fmt::format("the daemon at {} sends frames in a way that this program does not know", s.path));
    ::fcntl(s.socket.number(), F_SETFL, ::fcntl(s.socket.number(), F_GETFL) & ~O_NONBLOCK);
    return std::move(s.socket);
}

bool Client::crc_verified() const { return state_->crc_verified; }
const std::string& Client::policy_file() const { return state_->policy_file; }
const std::string& Client::path() const { return state_->path; }

}  // namespace control
