/// Puts the frames of a capture on an interface, for tests and benchmarks:
///     frame_sender IFACE FILE [--speed N|max] [--rate FRAMES_PER_SEC] [--loop N] [--seconds N]
/// With --speed the capture's own timing, so many times as fast; with --rate evenly, frame by frame. Prints what it
/// sent as one line of JSON.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "capture/files/file_source.h"

namespace {

struct Settings {
    std::string interface;
    std::string path;
    double speed = 1;    ///< 0: as fast as it goes
    double rate = 0;     ///< frames a second; 0: by speed
    long loops = 1;      ///< 0: until the seconds are over
    double seconds = 0;  ///< 0: until the loops are over
};

struct Kept {
    std::vector<std::byte> octets;
    std::int64_t time_ns = 0;
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "frame_sender: %s\n", what.c_str());
    std::exit(1);
}

Settings read_arguments(int argc, char** argv) {
    if (argc < 3) fail("usage: frame_sender IFACE FILE [--speed N|max] [--rate N] [--loop N] [--seconds N]");
    Settings settings{.interface = argv[1], .path = argv[2]};
    for (int i = 3; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string_view value = argv[i + 1];
        if (name == "--speed")
            settings.speed = value == "max" ? 0 : std::atof(argv[i + 1]);
        else if (name == "--rate")
            settings.rate = std::atof(argv[i + 1]);
        else if (name == "--loop")
            settings.loops = std::atol(argv[i + 1]);
        else if (name == "--seconds")
            settings.seconds = std::atof(argv[i + 1]);
        else
            fail("no such option: " + std::string(name));
    }
    return settings;
}

std::vector<Kept> load(const std::string& path) {
    auto source = capture::open_file(path, {});
    if (!source) fail(source.error().text());
    std::vector<Kept> all;
    wire::Frame frame;
    while ((*source)->next(frame) == capture::ReadStatus::frame) {
        if (frame.link_type != wire::LinkType::ethernet) fail(path + ": only Ethernet frames can be sent");
        if (frame.bytes.size() < 14) continue;
        all.push_back({{frame.bytes.begin(), frame.bytes.end()}, frame.time_ns});
    }
    if (all.empty()) fail(path + ": there are no frames in it");
    return all;
}

int open_interface(const std::string& name) {
    const int fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0) fail(std::string("socket: ") + std::strerror(errno));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex(name.c_str()));
    if (address.sll_ifindex == 0) fail(name + ": no such interface");
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail(name + ": " + std::strerror(errno));
    const int on = 1;
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    return fd;
}

std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void wait_until(std::int64_t due_ns) {
    const timespec due{due_ns / 1'000'000'000, due_ns % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr) == EINTR) {
    }
}

class Sender {
public:
    Sender(const Settings& settings, const std::vector<Kept>& frames)
        : settings_(settings), frames_(frames), fd_(open_interface(settings.interface)) {}

    void run() {
        const std::int64_t begun = now_ns();
        const std::int64_t end =
            settings_.seconds > 0 ? begun + static_cast<std::int64_t>(settings_.seconds * 1e9) : INT64_MAX;
        const bool paced = settings_.rate > 0 || settings_.speed > 0;
        for (long loop = 0; (settings_.loops == 0 || loop < settings_.loops) && now_ns() < end; ++loop) {
            const std::int64_t loop_begun = now_ns();
            for (std::size_t i = 0; i < frames_.size();) {
                const std::size_t count = std::min(frames_.size() - i, paced ? due_count(i, begun, loop_begun) : batch);
                send({frames_.data() + i, count});
                i += count;
                if (settings_.seconds > 0 && now_ns() >= end) break;
            }
        }
        std::printf("{\"frames\":%llu,\"octets\":%llu,\"seconds\":%.6f}\n", static_cast<unsigned long long>(sent_),
                    static_cast<unsigned long long>(octets_), static_cast<double>(now_ns() - begun) / 1e9);
    }

private:
    static constexpr std::size_t batch = 64;

    std::int64_t due(std::size_t i, std::int64_t begun, std::int64_t loop_begun, std::uint64_t offset) const {
        if (settings_.rate > 0)
            return begun + static_cast<std::int64_t>(static_cast<double>(sent_ + offset) * 1e9 / settings_.rate);
        return loop_begun + static_cast<std::int64_t>(
                                static_cast<double>(frames_[i].time_ns - frames_.front().time_ns) / settings_.speed);
    }
    /// Waits for frame `i`; how many are due with it.
    std::size_t due_count(std::size_t i, std::int64_t begun, std::int64_t loop_begun) const {
        const std::int64_t first = due(i, begun, loop_begun, 0);
        if (first > now_ns()) wait_until(first);
        const std::int64_t now = now_ns();
        std::size_t count = 1;
        while (count < batch && i + count < frames_.size() && due(i + count, begun, loop_begun, count) <= now) ++count;
        return count;
    }
    void send(std::span<const Kept> frames) {
        std::array<iovec, batch> pieces{};
        std::array<mmsghdr, batch> messages{};
        for (std::size_t i = 0; i < frames.size(); ++i) {
            pieces[i] = {const_cast<std::byte*>(frames[i].octets.data()), frames[i].octets.size()};
            messages[i].msg_hdr.msg_iov = &pieces[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        for (std::size_t done = 0; done < frames.size();) {
            const int sent = sendmmsg(fd_, messages.data() + done, static_cast<unsigned>(frames.size() - done), 0);
            if (sent < 0 && (errno == ENOBUFS || errno == EAGAIN || errno == EINTR)) continue;
            if (sent < 0) fail(settings_.interface + ": " + std::strerror(errno));
            for (std::size_t i = done; i < done + static_cast<std::size_t>(sent); ++i)
                octets_ += frames[i].octets.size();
            done += static_cast<std::size_t>(sent);
        }
        sent_ += frames.size();
    }

    const Settings& settings_;
    const std::vector<Kept>& frames_;
    int fd_;
    std::uint64_t sent_ = 0;
    std::uint64_t octets_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const Settings settings = read_arguments(argc, argv);
    const std::vector<Kept> frames = load(settings.path);
    Sender(settings, frames).run();
    return 0;
}
