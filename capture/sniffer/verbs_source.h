#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/sniffer/verbs_api.h"
#include "capture/source.h"

namespace capture::inline sniffer {

struct VerbsOptions {
    std::uint32_t snaplen = 192;              ///< in bytes, and management_octets of RoCE's management; 0 is no limit
    std::uint32_t buffers = 4096;             ///< of each port
    std::uint32_t max_frame_octets = 16'384;  ///< longer frames are lost, and counted; a multiple of 64
    std::string filter = {};                  ///< pcap-filter(7), run here: a sniffer rule has none
};

/// Frames that an RDMA device handles without the kernel, as the device sees them: a RAW_PACKET queue pair with the
/// sniffer rule. A frame's direction is unknown. A frame's time is the device's if the device has a clock that counts
/// from 1970, else the time at which the frame was found. ibv_create_flow(3).
class VerbsSource final : public Source {
public:
    /// `port` counts from 1; 0 is every Ethernet port of the device, each as an interface: "mlx5_0/1". `api` is for
    /// tests.
    static base::Result<std::unique_ptr<VerbsSource>> open(const std::string& device, std::uint8_t port,
                                                           const VerbsOptions& options = {},
                                                           std::shared_ptr<VerbsApi> api = system_verbs());
    ~VerbsSource() override;

    ReadStatus next(wire::Frame& frame) override;
    /// Does not wait: returns `timeout` if no frame is there; then poll descriptors(). Frames of one call come from one
    /// port; their buffers go back to the device at the next call. Returns `end` if the device was removed.
    Batch next_batch(std::span<wire::Frame> frames) override;
    const std::vector<InterfaceInfo>& interfaces() const override;
    using Source::statistics;
    /// kernel_dropped: frames without a free buffer. The device counts them for all its users together; frames that it
    /// counted while we had buffers left are not ours. No value if our buffers ran out and the device does not count.
    /// interface_dropped: frames longer than max_frame_octets, or lost to an error of the device.
    Statistics statistics(std::size_t interface) const override;
    const base::Error& error() const override;

    /// Readable when a port that had nothing has something.
    std::vector<int> descriptors() const;
    /// The next frame gets number `last + 1`.
    void number_from(std::uint64_t last);
    bool device_timestamps() const;
    /// The number of times a port's queue pair broke and was made again.
    std::uint64_t restarts() const;

private:
    struct State;
    explicit VerbsSource(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Names of RDMA devices; if there are no devices, fails with what to do.
base::Result<std::vector<std::string>> list_verbs_devices(VerbsApi* api);

}  // namespace capture::sniffer
