#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/live/tap.h"
#include "capture/sniffer/verbs_source.h"

namespace service {

/// All that the daemon listens on, as one source: the kernel's interfaces, and RDMA devices whose traffic bypasses the
/// kernel. Devices come first among the interfaces; frames are numbered when they are passed on. For one thread, except
/// wake().
class Sources final : public capture::Source {
public:
    /// The first frame gets the number `frames_before` + 1.
    Sources(std::unique_ptr<capture::Tap> tap, std::vector<std::unique_ptr<capture::VerbsSource>> devices,
            std::uint64_t frames_before, int longest_wait_ms);

    capture::ReadStatus next(wire::Frame& frame) override;
    /// Waits up to `longest_wait_ms` for a frame; with RDMA devices, which cannot be waited for together, 1 ms.
    capture::Batch next_batch(std::span<wire::Frame> frames) override;
    const std::vector<capture::InterfaceInfo>& interfaces() const override;
    capture::Statistics statistics() const override;
    capture::Statistics statistics(std::size_t interface) const override;
    const base::Error& error() const override { return *error_; }

    void wake() { tap_->wake(); }
    /// Whether a frame of the last next_batch() is kept as RDMA: capture::Tap::is_recognised().
    bool is_recognised(const wire::Frame& frame, std::int64_t now_ns) {
        return frame.interface < device_interfaces_ || tap_->is_recognised(frame, now_ns);
    }
    /// What happened to interfaces and devices since the last call.
    std::vector<capture::TapEvent> events();
    base::Result<void> reconfigure(const capture::TapOptions& options) { return tap_->reconfigure(options); }
    bool is_open(std::size_t interface) const;
    bool hardware_timestamps(std::size_t interface) const;
    std::int64_t threads_cpu_ns() const { return tap_->threads_cpu_ns(); }
    capture::Learning learning() const { return tap_->learning(); }

private:
    struct Device {
        std::unique_ptr<capture::VerbsSource> source;
        std::uint32_t first_interface = 0;
        bool gone = false;
    };
    bool from_device(Device& device, std::span<wire::Frame> frames, capture::Batch& batch);

    std::unique_ptr<capture::Tap> tap_;
    std::vector<Device> devices_;
    std::uint32_t device_interfaces_ = 0;
    std::size_t turn_ = 0;
    std::uint64_t frames_;
    const base::Error* error_;
    std::vector<capture::TapEvent> events_;
    mutable std::vector<capture::InterfaceInfo> interfaces_;
};

}  // namespace service
