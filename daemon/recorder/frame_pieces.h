#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/files/pcapng_writer.h"
#include "capture/recorder/flight_recorder.h"
#include "capture/source.h"

namespace service::inline recorder {

/// Frames of a flight recorder as the bytes of one pcapng file, in pieces of about a millisecond's work: the frames
/// that it holds, or those that come from now on. A frame that was replaced before it was read is counted, in a comment
/// on the next one. Belongs to the capture thread, as the recorder does.
class FramePieces {
public:
    enum class From : std::uint8_t { oldest, now };
    /// Interfaces that are `gone` are described with their first frame.
    FramePieces(const capture::FlightRecorder& recorder, From from,
                const std::vector<capture::InterfaceInfo>& interfaces, const std::vector<bool>& gone = {});

    enum class Step : std::uint8_t {
        piece,  ///< more follows at once
        all,    ///< everything that there is so far
        ended,  ///< nothing will follow
    };
    /// Appends the next piece.
    Step append(const capture::FlightRecorder& recorder, const std::vector<capture::InterfaceInfo>& interfaces,
                std::string& out);

private:
    bool write(capture::FlightRecorder::Kept& kept, const std::vector<capture::InterfaceInfo>& interfaces);

    capture::PcapngWriter writer_;
    capture::FlightRecorder::Position at_;
    std::optional<capture::FlightRecorder::Position> stop_ = {};
    std::vector<capture::InterfaceInfo> known_ = {};
};

}  // namespace service::recorder
