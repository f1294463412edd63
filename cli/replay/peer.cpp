#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <poll.h>

#include "base/clock.h"
#include "base/quantities.h"
#include "cli/console.h"
#include "cli/replay/modes.h"
#include "cli/replay/read_connection.h"
#include "cli/signals.h"
#include "replay/peer/player.h"
#include "replay/sockets/relay.h"
#include "replay/sockets/tcp_socket.h"

namespace cli::replay {

namespace {

using Json = nlohmann::ordered_json;
using ::replay::Player;
using ::replay::StreamEnd;

constexpr std::int64_t longest_turn_ns = 200'000'000;

short wait_for(const base::Descriptor& socket, short events, std::int64_t until_ns) {
    pollfd polled{socket.number(), events, 0};
    const std::int64_t left_ns = std::clamp<std::int64_t>(until_ns - base::steady_ns(), 0, longest_turn_ns);
    return ::poll(&polled, 1, static_cast<int>((left_ns + 999'999) / 1'000'000)) > 0 ? polled.revents : short{0};
}

/// The relay between the player and its peer, if the path is impaired.
using Way = std::unique_ptr<::replay::Relay>;

::replay::SocketResult<base::Descriptor> connect_to_peer(const ReplayOptions& options, Way& way) {
    std::string host = options.address.host;
    std::uint16_t port = options.address.port;
    if (options.impairment.any()) {
        auto made = ::replay::Relay::open("127.0.0.1", 0, {host, port}, options.impairment);
        if (!made) return base::Failure{made.error()};
        way = std::move(*made);
        host = "127.0.0.1";
        port = way->port();
    }
    return ::replay::connect_tcp(host, port, static_cast<std::int64_t>(options.timeout_ns));
}

::replay::SocketResult<base::Descriptor> await_peer(const ReplayOptions& options, Way& way) {
    const bool impaired = options.impairment.any();
    auto listener = impaired ? ::replay::listen_tcp("127.0.0.1", 0)
                             : ::replay::listen_tcp(options.address.host, options.address.port);
    if (!listener) return listener;
    std::string where = ::replay::local_address(*listener);
    if (impaired) {
        auto made = ::replay::Relay::open(options.address.host, options.address.port,
                                          {"127.0.0.1", ::replay::local_port(*listener)}, options.impairment);
        if (!made) return base::Failure{made.error()};
        way = std::move(*made);
        where = endpoint::text_of({options.address.host, way->port()});
    }
    print_message("rdmascope replay: listening on {}", where);
    while (!Signals::stop()) {
        if (wait_for(*listener, POLLIN, INT64_MAX) == 0) continue;
        auto socket = ::replay::accept_tcp(*listener);
        if (!socket || *socket) return socket;
    }
    return base::Failure{std::string("stopped before anybody connected")};
}

/// If the relay could not forward data, the relay's error is reported, not the error that its other side saw.
std::string unreached(const Way& way) {
    if (!way) return {};
    const ::replay::RelayCounters& counted = way->stop();
    return counted.not_reached != 0 ? counted.last_error : std::string{};
}

/// Moves bytes between the player and the socket until both streams have ended.
void perform(Player& player, base::Descriptor& socket) {
    std::vector<std::byte> buffer(std::size_t{256} << 10);
    bool ended = false;   // the peer's stream
    bool closed = false;  // ours
    player.begin(base::steady_ns());
    while (!player.over() && !Signals::stop()) {
        for (base::Bytes out = player.output(); !out.empty(); out = player.output()) {
            const auto sent = ::replay::send_some(socket, out);
            if (!sent.error.empty()) {
                player.peer_ended(StreamEnd::reset, base::steady_ns());
                break;
            }
            if (sent.octets == 0) break;
            player.sent(sent.octets, base::steady_ns());
        }
        if (player.over()) break;
        if (!closed && player.output().empty() && player.our_end() != StreamEnd::open) {
            if (player.our_end() == StreamEnd::reset) break;
            ::replay::end_sending(socket);
            closed = true;
        }
        const auto events = static_cast<short>((ended ? 0 : POLLIN) | (player.output().empty() ? 0 : POLLOUT));
        const short seen = wait_for(socket, events, player.deadline_ns().value_or(0));
        if (!ended && (seen & (POLLIN | POLLHUP | POLLERR)) != 0) {
            const auto got = ::replay::receive_some(socket, buffer);
            if (got.octets != 0) player.receive(base::Bytes{buffer}.first(got.octets), base::steady_ns());
            ended = got.ended || !got.error.empty();
            if (ended) player.peer_ended(got.error.empty() ? StreamEnd::closed : StreamEnd::reset, base::steady_ns());
        }
        player.tick(base::steady_ns());
    }
    if (player.our_end() == StreamEnd::reset) ::replay::reset(socket);
}

std::string peer_text(const ::replay::PlayReport& report) {
    std::string out = fmt::format(
        "{} of {} sent, {}; {} of the peer, {} in the capture\n", base::group_digits(report.pieces_sent),
        base::format_counted(report.pieces, "piece"), base::format_counted(report.octets_sent, "byte"),
        base::format_counted(report.live_messages, "message"), base::group_digits(report.captured_messages));
    for (const auto& difference : report.differences) {
        out += difference.frame == 0 ? std::string("not captured") : fmt::format("frame {}", difference.frame);
        out += fmt::format(": {}: {}", difference.message, difference.what);
        if (!difference.captured.empty() && !difference.live.empty())
            out += fmt::format(": {} in the capture, {} now", difference.captured, difference.live);
        out += '\n';
    }
    if (report.recut != 0)
        out += fmt::format("note: {} came in another number of FPDUs\n", base::format_counted(report.recut, "message"));
    for (const std::string& note : report.notes) out += "note: " + note + "\n";
    out +=
        report.equal() ? "equal\n" : fmt::format("{}\n", base::format_counted(report.differences.size(), "difference"));
    return out;
}

std::string peer_json(const ReplayOptions& options, const ::replay::PlayReport& report) {
    Json differences = Json::array();
    for (const auto& each : report.differences)
        differences.push_back({{"frame", each.frame == 0 ? Json(nullptr) : Json(each.frame)},
                               {"message", each.message},
                               {"what", each.what},
                               {"captured", each.captured.empty() ? Json(nullptr) : Json(each.captured)},
                               {"live", each.live.empty() ? Json(nullptr) : Json(each.live)}});
    const Json all = {{"file", options.path},
                      {"as", *options.as == Role::initiator ? "initiator" : "responder"},
                      {"equal", report.equal()},
                      {"pieces", report.pieces},
                      {"pieces_sent", report.pieces_sent},
                      {"bytes_sent", report.octets_sent},
                      {"captured_messages", report.captured_messages},
                      {"live_messages", report.live_messages},
                      {"messages_cut_otherwise", report.recut},
                      {"differences", differences},
                      {"notes", report.notes},
                      {"error", report.error.empty() ? Json(nullptr) : Json(report.error)}};
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int peer(const ReplayOptions& options, const Environment&) {
    const Signals signals;
    const auto conversation = read_connection(options);
    if (!conversation) return failed(options, conversation.error());
    const bool initiator = *options.as == Role::initiator;
    if (conversation->sides[initiator ? 0 : 1].items.empty())
        return failed(options, fmt::format("the capture has no byte of the {}", initiator ? "initiator" : "responder"));
    Way way;
    auto socket = options.place == Place::to ? connect_to_peer(options, way) : await_peer(options, way);
    if (!socket) {
        const std::string why = unreached(way);
        return failed(options, why.empty() ? socket.error() : why);
    }
    Player player(*conversation, initiator, {.timeout_ns = static_cast<std::int64_t>(options.timeout_ns)});
    perform(player, *socket);
    const ::replay::PlayReport report = player.report();
    if (!report.equal())
        if (const std::string why = unreached(way); !why.empty()) return failed(options, why);
    const int printed = print(options.json ? peer_json(options, report) : peer_text(report));
    if (printed != exit_done) return printed;
    if (!report.error.empty()) return failed(report.error);
    return report.equal() ? exit_done : exit_failed;
}

}  // namespace cli::replay
