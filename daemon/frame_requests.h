#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "capture/recorder/flight_recorder.h"
#include "daemon/recorder/frame_pieces.h"
#include "daemon/server/command_backend.h"

namespace service {

/// The clients' requests for frames. The capture thread writes a piece for a client when the client has asked for one.
/// A slow client costs one piece of memory. The frames that it misses are overwritten in the recorder.
class FrameRequests {
public:
    static constexpr std::size_t max_streams = 4;
    /// For streams of a daemon that records nothing.
    static constexpr std::size_t own_memory_octets = std::size_t{16} << 20;

    /// What two threads share of one stream.
    struct Exchange {
        std::mutex mutex;
        std::string piece = {};
        bool asked = true;
        bool more = false;  ///< another piece follows at once
        bool ended = false;
        std::unique_ptr<FramePieces> pieces = {};  ///< of the capture thread
    };

    explicit FrameRequests(std::uint32_t frame_octets) : frame_octets_(frame_octets) {}

    // For the capture thread alone. `recorder` is null if nothing is recorded.

    /// Fails with the reason if there is no stream.
    base::Result<void> open(control::FramesOf which, const capture::FlightRecorder* recorder,
                            const std::vector<capture::InterfaceInfo>& interfaces,
                            const std::shared_ptr<Exchange>& exchange, const std::vector<bool>& gone = {});
    /// Takes every frame if nothing is recorded.
    void keep(const wire::Frame& frame) {
        if (own_) own_->keep(frame);
    }
    void serve(const capture::FlightRecorder* recorder, const std::vector<capture::InterfaceInfo>& interfaces);
    /// Releases pieces whose readers are gone.
    void tidy();
    /// Nothing more will come.
    void close();

private:
    std::uint32_t frame_octets_;
    std::unique_ptr<capture::FlightRecorder> own_ = {};
    std::vector<std::shared_ptr<Exchange>> open_ = {};
};

/// The client's side. `wake` makes the capture thread call serve() soon.
std::unique_ptr<FrameStream> stream_of(std::shared_ptr<FrameRequests::Exchange> exchange, std::function<void()> wake);

}  // namespace service
