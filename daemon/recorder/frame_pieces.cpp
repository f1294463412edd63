#include "daemon/recorder/frame_pieces.h"

#include <fmt/core.h>

namespace service::inline recorder {
namespace {

constexpr std::uint64_t piece_frames = 2048;
constexpr std::size_t piece_capacity = std::size_t{1} << 20;
constexpr std::size_t first_buffer_octets = std::size_t{64} << 10;  ///< to begin with

}  // namespace

FramePieces::FramePieces(const capture::FlightRecorder& recorder, From from,
                         const std::vector<capture::InterfaceInfo>& interfaces, const std::vector<bool>& gone)
    : writer_(capture::Output::in_memory(first_buffer_octets), {}),
      at_(from == From::oldest ? recorder.oldest() : recorder.end()),
      known_(interfaces) {
    if (from == From::oldest) stop_ = recorder.end();
    // So that a capture without frames has them, too; and that a reader knows what it will get before the first frame.
    for (std::size_t i = 0; i < known_.size(); ++i)
        if (!(i < gone.size() && gone[i])) static_cast<void>(writer_.describe(known_[i]));
}

FramePieces::Step FramePieces::append(const capture::FlightRecorder& recorder,
                                      const std::vector<capture::InterfaceInfo>& interfaces, std::string& out) {
    const std::uint64_t before = writer_.octets();
    Step step = Step::piece;
    capture::FlightRecorder::Kept kept;
    for (std::uint64_t frames = 0; step == Step::piece && frames < piece_frames; ++frames) {
        if (writer_.octets() - before >= piece_capacity) break;
        if (stop_ && at_.sequence >= stop_->sequence)
            step = Step::ended;
        else if (!recorder.next(at_, kept))
            step = stop_ ? Step::ended : Step::all;
        else if (stop_ && at_.sequence > stop_->sequence)
            step = Step::ended;  // all up to there gave way
        else if (!write(kept, interfaces))
            step = Step::ended;
    }
    writer_.take(out);
    return step;
}

bool FramePieces::write(capture::FlightRecorder::Kept& kept, const std::vector<capture::InterfaceInfo>& interfaces) {
    const std::size_t number = kept.frame.interface;
    // What is said of an interface's filter changes as ports are found; it is the same interface for a reader. Its
    // number is another one's once it has been gone for longer than memory holds frames of it.
    if (number >= known_.size()) known_.resize(number + 1);
    capture::InterfaceInfo& known = known_[number];
    if (number < interfaces.size() &&
        (known.name != interfaces[number].name || known.link_type != kept.frame.link_type))
        known = interfaces[number];
    known.link_type = kept.frame.link_type;
    std::string comment;
    if (kept.missed > 0) {
        comment =
            fmt::format("{} frames before this one were not sent: they came faster than they were read", kept.missed);
        kept.frame.comment = comment;
    }
    return writer_.write(kept.frame, known) == capture::WriteStatus::ok;
}

}  // namespace service::recorder
