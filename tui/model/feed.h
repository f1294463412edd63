#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tui/model/reading.h"
#include "wire/frame.h"

namespace tui::inline model {

/// The source of the screen's figures. All kinds have the same screens.
enum class SourceKind : std::uint8_t { live, daemon, history, file };

/// The state of a source, for the header. Copied at every refresh.
struct FeedStatus {
    SourceKind kind = SourceKind::live;
    std::string name;  ///< "eth0", "trace.pcapng", "/run/rdmascope/rdmascope.sock"
    enum class Health : std::uint8_t { starting, good, lost, failed } health = Health::starting;
    std::string trouble;                ///< why it is lost or has failed, and what to do; empty if all is well
    std::vector<std::string> warnings;  ///< problems that do not stop it

    bool playable = false;  ///< history and files: pause, step, speed and seek have an effect
    bool playing = true;
    bool at_end = false;      ///< a file or history: no more readings come
    double speed = 1;         ///< 0: as fast as possible
    std::int64_t now_ns = 0;  ///< the source's clock: the end of what was shown; 0 before the first
    std::int64_t begin_ns = 0;
    std::optional<std::int64_t> end_ns;         ///< known of history, and of a file once it was read to its end
    double share = 0;                           ///< 0 to 1: the share that has been shown, by time or by bytes
    std::uint64_t interval_ns = 1'000'000'000;  ///< between two readings, of the user's clock

    bool rdma_only = false;    ///< the kernel hands over what may be RDMA, and counts nothing else
    bool has_packets = false;  ///< frames are available: Feed::packets
    std::uint64_t packets_kept = 0;
    std::uint64_t first_packet = 0;  ///< number of the oldest frame kept; 0 if absent
    std::uint64_t last_packet = 0;
};

/// A source, as the screen drives it: another thread measures; these functions wait for that thread no longer than a
/// copy takes.
class Feed {
public:
    virtual ~Feed() = default;

    virtual FeedStatus status() = 0;
    /// A descriptor that is readable when status() or latest() may have changed since the last call of status(); -1 if
    /// absent.
    virtual int descriptor() const { return -1; }
    /// The newest reading; null before the first. Several may have been made since the last call: see since().
    virtual ReadingPtr latest() = 0;
    /// Readings after `serial`, oldest first, at most the last 64.
    virtual std::vector<ReadingPtr> since(std::uint64_t serial) = 0;

    /// Time between readings, of the user's clock; 0.1 s to 10 s.
    virtual void set_interval(std::uint64_t interval_ns) = 0;
    virtual void play(bool playing) = 0;
    virtual void set_speed(double speed) = 0;     ///< 0: as fast as possible
    virtual void step(int intervals) = 0;         ///< while paused; negative goes back
    virtual void seek(std::int64_t time_ns) = 0;  ///< bounded to the source's range

    /// Frames kept, oldest first, from number `from` on, at most `most` of them. Their bytes are valid during the call
    /// of the sink, which returns false to end. Returns how many were shown. Header bytes only, as captured.
    virtual std::size_t packets(std::uint64_t from, std::size_t most,
                                const std::function<bool(const wire::Frame&)>& sink) = 0;
};

}  // namespace tui::model
