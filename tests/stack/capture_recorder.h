#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "capture/live/live_source.h"
#include "metrics/figures/snapshot.h"

namespace stack {

/// What passes on the loopback interface to and from one TCP port, from the constructor on. Headers alone are kept, and
/// analysed when all is over, so that the capture costs those it watches as little as it can.
class Recorder {
public:
    /// Why there can be none here; absent where there can.
    static std::optional<std::string> refusal();

    explicit Recorder(std::uint16_t port);
    ~Recorder();
    /// Ends the capture, and keeps it as `path` unless that is empty. To be called once.
    metrics::Snapshot finish(const std::string& path = {});
    std::uint64_t lost() const { return lost_; }

private:
    struct Kept {
        wire::Frame frame;
        std::vector<std::byte> octets;
    };
    void run();
    void keep(const std::string& path);

    std::unique_ptr<capture::LiveSource> source_;
    std::deque<Kept> frames_;
    std::atomic<bool> stop_{false};
    std::uint64_t lost_ = 0;
    std::thread thread_;
};

}  // namespace stack
