#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"
#include "tui/model/reading.h"

namespace tui::inline model {

/// Something that happened to a flow in an interval, with the first frames that show it; or a connection that failed;
/// or frames that the capture lost.
struct EventLine {
    enum class Source : std::uint8_t { flow, attempt, capture } source = Source::flow;
    std::uint64_t serial = 0;   ///< grows; 1 for the first
    std::int64_t start_ns = 0;  ///< of the interval
    std::int64_t end_ns = 0;
    std::optional<std::int64_t> time_ns = {};  ///< of its first frame, where that is known
    std::uint64_t flow = 0;                    ///< its id; 0 if the event belongs to no flow
    metrics::EventKind kind{};
    std::uint64_t count = 0;
    std::uint64_t value_max = 0;  ///< see EventKind
    std::uint64_t value_sum = 0;
    wire::Transport transport{};
    std::vector<std::uint64_t> frames = {};
    std::string text = {};  ///< who, in words
    std::string what = {};  ///< of attempts, the capture and the end of a connection: what, in words
    bool bad = false;       ///< worth a colour
};

/// When a frame was captured; no value if it is no longer kept.
using FrameTimes = std::function<std::optional<std::int64_t>(std::uint64_t frame)>;

/// The newest events, at most `max_lines`, in the order of their times. If only the interval of an event is known, the
/// event stands at the beginning of the interval, the end of a connection at the end.
class EventList {
public:
    explicit EventList(std::size_t max_lines = 10'000) : max_lines_(max_lines) {}
    void add(const Reading& reading, const metrics::HostNames* names, const FrameTimes& times = {});
    void clear();
    const std::deque<EventLine>& lines() const { return lines_; }  ///< oldest first
    /// The events of a flow and of its reverse, newest first, at most `most`.
    std::vector<const EventLine*> of_flow(std::uint64_t id, std::uint64_t reverse, std::size_t most) const;
    std::uint64_t forgotten() const { return forgotten_; }

private:
    void place(EventLine line);
    void add_flow(const metrics::FlowSnapshot& flow, const Reading& reading, const metrics::HostNames* names);
    void add_attempt(const metrics::ConnectionAttempt& attempt, const Reading& reading,
                     const metrics::HostNames* names);

    std::size_t max_lines_;
    std::deque<EventLine> lines_ = {};
    std::vector<EventLine> fresh_ = {};  ///< of the reading that is being added
    std::uint64_t next_serial_ = 1;
    std::uint64_t forgotten_ = 0;
    std::unordered_set<std::uint64_t> ended_ = {};  ///< frames that ended a connection and have been reported
};

/// Whether the event ends a connection.
bool is_end(const EventLine& event);
/// "RNR NAK, timer 0.64 ms", "gap of 3 packets": what an event is, in the words of `dump`.
std::string describe(const EventLine& event);

}  // namespace tui::model
