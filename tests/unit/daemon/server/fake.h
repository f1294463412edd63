#pragma once
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "daemon/server/command_backend.h"

namespace service::test {

inline metrics::Address ipv4(std::uint8_t last) {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {192, 0, 2, last};
    return address;
}

struct OneName final : metrics::HostNames {
    std::string name(const metrics::Address& address) const override { return address == ipv4(1) ? "storage-1" : ""; }
};

inline metrics::FlowSnapshot flow(std::uint64_t id, std::uint64_t packets) {
    metrics::FlowSnapshot one;
    one.id = id;
    one.transport = wire::Transport::roce2;
    one.service = metrics::Service::rc;
    one.source.address = ipv4(1);
    one.destination.address = ipv4(2);
    one.destination.qpn = static_cast<std::uint32_t>(id);
    one.first_ns = 1'000'000'000;
    one.last_ns = 2'000'000'000;
    one.packets = packets;
    one.wire_bytes = 1000 * packets;
    return one;
}

/// A daemon that captures nothing: as many flows as the test sets, each with as many packets as were published.
struct Fake final : Commands {
    std::size_t flows = 2;
    std::uint64_t packets = 10;        ///< of the first flow; the second has one more, ...
    std::uint64_t packets_a_step = 0;  ///< more, each time that figures are taken
    Status current = {};
    std::string trigger_error = {};
    std::string reload_error = {};
    std::string directory = {};
    std::vector<std::string> triggered = {};
    unsigned reloads = 0;
    unsigned taken = 0;  ///< snapshots that were taken and not handed out a second time
    OneName hosts = {};

    Published snapshot(std::uint64_t age_ns) override {
        const auto now = std::chrono::steady_clock::now();
        if (last_.snapshot && now - taken_at_ < std::chrono::nanoseconds(age_ns)) return last_;
        auto fresh = std::make_shared<metrics::Snapshot>();
        packets += packets_a_step;
        for (std::size_t i = 0; i < flows; ++i) fresh->flows.push_back(flow(i + 1, packets + i));
        for (const auto& one : fresh->flows) fresh->capture.packets += one.packets;
        fresh->capture.first_ns = 1'000'000'000;
        fresh->capture.last_ns = 2'000'000'000;
        ++taken;
        taken_at_ = now;
        last_ = {std::move(fresh), 5'000'000'000 + static_cast<std::int64_t>(taken) * 1'000'000};
        return last_;
    }
    Status status() override { return current; }
    const metrics::HostNames& names() const override { return hosts; }
    bool crc_verified() const override { return true; }
    base::Result<void> trigger(const std::string& reason) override {
        if (!trigger_error.empty()) return base::failure(trigger_error);
        triggered.push_back(reason);
        return {};
    }
    base::Result<void, base::Errors> reload() override {
        ++reloads;
        if (!reload_error.empty()) return base::Failure{base::Errors{{reload_error}}};
        return {};
    }
    std::string history_directory() const override { return directory; }

    /// Frames are pieces of text here: what is to be said next is `pieces`, and `more_frames` says whether that is all.
    std::vector<std::string> pieces = {};
    bool more_frames = false;
    std::string frames_error = {};
    std::vector<control::FramesOf> frames_asked = {};
    unsigned reads = 0;
    unsigned streams_gone = 0;

    struct Pieces final : FrameStream {
        explicit Pieces(Fake& from) : fake(from) {}
        ~Pieces() override { ++fake.streams_gone; }
        Pieces(const Pieces&) = delete;
        Pieces& operator=(const Pieces&) = delete;
        Step read(std::string& out) override {
            ++fake.reads;
            if (next < fake.pieces.size()) return out += fake.pieces[next++], Step::soon;
            return fake.more_frames ? Step::later : Step::ended;
        }
        Fake& fake;
        std::size_t next = 0;
    };
    base::Result<std::unique_ptr<FrameStream>> frames(control::FramesOf which) override {
        frames_asked.push_back(which);
        if (!frames_error.empty()) return base::failure(frames_error);
        return std::unique_ptr<FrameStream>(std::make_unique<Pieces>(*this));
    }

private:
    Published last_ = {};
    std::chrono::steady_clock::time_point taken_at_ = {};
};

/// A folder that goes with the test.
struct Folder {
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "rdmascope-control-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path path;
};

}  // namespace service::test
