/// A packet ring or a tap in the hands of a script: commands on standard input, one JSON object a line as the answer.
///   capture_probe ring|tap NAME=VALUE...
///   read FRAMES IDLE_MS   up to so many frames; ends where none came for so long, however much of that time the
///                         machine gave to others; each is printed, then a summary
///   skim FRAMES IDLE_MS   the same, only the summary
///   ring: filter EXPRESSION | rdma PORT... | snaplen N | deal RINGS | statistics | warnings
///   tap: reconfigure NAME=VALUE... | statistics | events | ports | wait_ms N | wake AFTER_MS
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>
#include <poll.h>
#include <sstream>
#include <sys/resource.h>
#include <thread>

#include "capture/live/packet_ring.h"
#include "capture/live/tap.h"

using namespace capture;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;
using Clock = std::chrono::steady_clock;

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string_view name_of(ReadStatus status) {
    switch (status) {
        case ReadStatus::frame: return "frame";
        case ReadStatus::timeout: return "timeout";
        case ReadStatus::end: return "end";
        default: return "error";
    }
}

void print(const wire::Frame& frame) {
    std::string hex;
    for (const std::byte each : frame.bytes) hex += fmt::format("{:02x}", std::to_integer<unsigned>(each));
    fmt::print(
        "{{\"octets\": \"{}\", \"length\": {}, \"direction\": \"{}\", \"time_ns\": {}, \"interface\": {}, \"number\": "
        "{}, "
        "\"link_type\": {}}}\n",
        hex, frame.wire_length,
        frame.direction == wire::Direction::inbound    ? "in"
        : frame.direction == wire::Direction::outbound ? "out"
                                                       : "unknown",
        frame.time_ns, frame.interface, frame.number, static_cast<unsigned>(frame.link_type));
}

void answer(std::string_view text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
}
void confirm(const base::Result<void>& done) {
    answer(done ? "{}" : fmt::format("{{\"error\": {}}}", quoted(done.error().text())));
}
std::string list(const std::vector<std::string>& texts) {
    std::vector<std::string> each;
    for (const std::string& text : texts) each.push_back(quoted(text));
    return fmt::format("[{}]", fmt::join(each, ", "));
}

[[noreturn]] void fail(std::string_view why) {
    answer(fmt::format("{{\"error\": {}}}", quoted(why)));
    std::exit(1);
}

std::pair<std::string, std::string> setting(const std::string& text) {
    const std::size_t at = text.find('=');
    return {text.substr(0, at), at == std::string::npos ? "" : text.substr(at + 1)};
}

PacketRingOptions ring_options(const Settings& settings) {
    PacketRingOptions options;
    for (const auto& [name, value] : settings) {
        if (name == "interface") options.interface = value;
        if (name == "snaplen") options.snaplen = static_cast<std::uint32_t>(std::stoul(value));
        if (name == "buffer") options.buffer_octets = std::stoull(value);
        if (name == "filter") options.filter = value;
        if (name == "fanout") options.fanout = FanoutOptions{static_cast<std::uint16_t>(std::stoul(value))};
        if (name == "timestamps" && value == "hardware") options.timestamps = TimestampSource::hardware;
    }
    return options;
}

void statistics(const Source& source) {
    const auto text = [](const std::optional<std::uint64_t>& count) {
        return count ? std::to_string(*count) : std::string("null");
    };
    std::string all;
    for (std::size_t i = 0; i < source.interfaces().size(); ++i) {
        const Statistics counts = source.statistics(i);
        all +=
            fmt::format("{}{{\"interface\": {}, \"received\": {}, \"kernel_dropped\": {}, \"interface_dropped\": {}}}",
                        i > 0 ? ", " : "", quoted(source.interfaces()[i].name), text(counts.received),
                        text(counts.kernel_dropped), text(counts.interface_dropped));
    }
    answer(fmt::format("{{\"statistics\": [{}]}}", all));
}

constexpr std::chrono::milliseconds wait_time{10};

/// `wait` returns when there may be more, after `wait_time` at the latest. A machine that stands still for a second has
/// not been quiet for a second: of each wait without success, no more than it should have taken counts.
template <class Wait>
void read(Source& source, std::uint64_t frames, std::chrono::milliseconds idle, bool show, const Wait& wait) {
    std::vector<wire::Frame> batch(64);
    std::uint64_t got = 0;
    auto quiet = Clock::duration::zero();
    ReadStatus status = ReadStatus::timeout;
    while (got < frames && quiet < idle) {
        const auto begun = Clock::now();
        const Batch some = source.next_batch(std::span(batch).first(std::min<std::uint64_t>(64, frames - got)));
        status = some.status;
        if (status == ReadStatus::end || status == ReadStatus::error) break;
        if (status == ReadStatus::timeout) {
            wait();
            quiet += std::min<Clock::duration>(Clock::now() - begun, wait_time);
            continue;
        }
        for (std::size_t i = 0; show && i < some.count; ++i) print(batch[i]);
        got += some.count;
        quiet = {};
    }
    answer(fmt::format("{{\"frames\": {}, \"status\": \"{}\"}}", got, name_of(status)));
}

int serve(PacketRing& ring) {
    const auto wait = [&] {
        pollfd readable{ring.descriptor(), POLLIN, 0};
        ::poll(&readable, 1, wait_time.count());
    };
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string command;
        words >> command;
        if (command == "read" || command == "skim") {
            std::uint64_t frames = 0;
            std::uint64_t idle_ms = 0;
            words >> frames >> idle_ms;
            read(ring, frames, std::chrono::milliseconds(idle_ms), command == "read", wait);
        } else if (command == "filter") {
            confirm(ring.set_filter(line.substr(std::min<std::size_t>(line.size(), 7))));
        } else if (command == "rdma") {
            RdmaFilter filter;
            for (std::uint16_t port = 0; words >> port;) filter.tcp_ports.push_back(port);
            confirm(ring.set_filter(filter));
        } else if (command == "snaplen") {
            std::uint32_t snaplen = 0;
            words >> snaplen;
            confirm(ring.set_snaplen(snaplen));
        } else if (command == "deal") {
            unsigned rings = 0;
            words >> rings;
            confirm(ring.deal_to(rings));
        } else if (command == "warnings") {
            answer(fmt::format("{{\"warnings\": {}}}", list(ring.warnings())));
        } else if (command == "statistics") {
            statistics(ring);
        } else {
            fail("unknown command: " + line);
        }
    }
    return 0;
}

std::string_view name_of(TapEvent::Kind kind) {
    switch (kind) {
        case TapEvent::Kind::opened: return "opened";
        case TapEvent::Kind::lost: return "lost";
        case TapEvent::Kind::failed: return "failed";
        case TapEvent::Kind::learning: return "learning";
        default: return "narrowed";
    }
}

TapOptions tap_options(const Settings& settings) {
    TapOptions options{.interfaces = {}, .ring = ring_options(settings)};
    for (const auto& [name, value] : settings) {
        if (name == "interface") options.interfaces.push_back(value);
        if (name == "filter") options.filter = value;
        if (name == "everything") options.rdma_only = false;
        if (name == "threads") options.threads = static_cast<unsigned>(std::stoul(value));
        if (name == "threads" && value == "0") options.threads.reset();
        if (name == "port") options.iwarp_ports.push_back(static_cast<std::uint16_t>(std::stoul(value)));
        if (name == "discovery_ms") options.discovery_ns = std::stoll(value) * 1'000'000;
        if (name == "rest_ms") options.number_rest_ns = std::stoll(value) * 1'000'000;
        if (name == "period_ms") options.discovery_period_ns = std::stoll(value) * 1'000'000;
    }
    if (options.interfaces.empty()) options.interfaces = {"any"};
    return options;
}

int serve(Tap& tap) {
    tap.set_wait_ms(10);
    std::jthread waker;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string command;
        words >> command;
        if (command == "read" || command == "skim") {
            std::uint64_t frames = 0;
            std::uint64_t idle_ms = 0;
            words >> frames >> idle_ms;
            read(tap, frames, std::chrono::milliseconds(idle_ms), command == "read", [] {});
        } else if (command == "reconfigure") {
            Settings settings;
            for (std::string each; words >> each;) settings.push_back(setting(each));
            confirm(tap.reconfigure(tap_options(settings)));
        } else if (command == "statistics") {
            statistics(tap);
        } else if (command == "events") {
            std::string all;
            for (const TapEvent& each : tap.events())
                all += fmt::format("{}[{}, {}, {}]", all.empty() ? "" : ", ", quoted(name_of(each.kind)),
                                   quoted(each.interface), quoted(each.message));
            answer(fmt::format("{{\"events\": [{}]}}", all));
        } else if (command == "ports") {
            answer(fmt::format("{{\"ports\": [{}]}}", fmt::join(tap.iwarp_ports(), ", ")));
        } else if (command == "wait_ms") {
            int wait_ms = 0;
            words >> wait_ms;
            tap.set_wait_ms(wait_ms);
            answer("{}");
        } else if (command == "wake") {
            std::uint64_t after_ms = 0;
            words >> after_ms;
            waker = std::jthread([&tap, after_ms] {
                std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
                tap.wake();
            });
            answer("{}");
        } else {
            fail("unknown command: " + line);
        }
    }
    return 0;
}

void limit_files(rlim_t most) {
    const rlimit limit{most, most};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("the number of open files cannot be limited");
}

}  // namespace

int main(int count, char** arguments) {
    Settings settings;
    for (int i = 2; i < count; ++i) settings.push_back(setting(arguments[i]));
    for (const auto& [name, value] : settings)
        if (name == "files") limit_files(std::stoul(value));
    if (count > 1 && std::string_view(arguments[1]) == "tap") {
        auto tap = Tap::open(tap_options(settings));
        if (!tap) fail(tap.error().text());
        answer("ready");
        return serve(**tap);
    }
    auto ring = PacketRing::open(ring_options(settings));
    if (!ring) fail(ring.error().text());
    answer("ready");
    return serve(**ring);
}
