#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "dissect/dissector.h"
#include "metrics/measure/account/frame_observer.h"
#include "replay/plan/payload_window.h"
#include "replay/plan/planned_operation.h"
#include "replay/plan/survey.h"

namespace replay::inline plan {

/// The capture times of a number of recent frames.
class FrameTimes {
public:
    static constexpr std::size_t remembered = std::size_t{1} << 20;  ///< 8 MiB; a message of 1 GiB does not have more
                                                                     ///< packets
    void note(std::uint64_t frame, std::int64_t time_ns);
    /// For a frame that is too old, the time of the oldest one that is remembered.
    std::int64_t of(std::uint64_t frame) const;

private:
    std::vector<std::int64_t> times_;
    std::uint64_t last_ = 0;
};

/// Makes operations from what an engine reports of frames: the same messages that `flows` counts, each when its last
/// packet has passed. Also the engine's listener, for the frames' times. Memory is bounded: only a number of recent
/// messages of a flow, outstanding or finished, are remembered.
class Extractor final : public metrics::FrameObserver, public dissect::Sink {
public:
    /// `payload`: keeps messages' bytes; null: they are not needed.
    Extractor(const Survey& survey, PayloadCollector* payload);

    /// The capture is read again from its beginning, `later_ns` after the previous run.
    void begin_run(std::int64_t later_ns);
    /// The operations since the last call; the caller empties the list.
    std::vector<Operation>& found() { return found_; }
    std::uint64_t operations() const { return operations_; }
    /// When the latest operation so far began, since the beginning of the plan.
    std::int64_t last_ns() const { return last_ns_; }

    void on_frame(const wire::Frame& frame, const dissect::Dissection&) override {
        times_.note(frame.number, frame.time_ns);
    }
    void on_unit(const dissect::Unit& unit) override {
        if (payload_ != nullptr) payload_->on_unit(unit);
    }
    void on_notice(const dissect::Notice& notice) override {
        if (payload_ != nullptr) payload_->on_notice(notice);
    }

    void packet(std::uint64_t flow, std::uint64_t frame) override {
        if (payload_ != nullptr && survey_.places.contains(flow)) payload_->packet(flow, frame);
    }
    void taken_back(std::uint64_t flow, std::uint64_t frame) override {
        if (payload_ != nullptr) payload_->taken_back(flow, frame);
    }
    void event(std::uint64_t, metrics::EventKind, std::uint64_t, std::uint64_t) override {}
    void gap(std::uint64_t, const Gap&, std::uint64_t) override {}
    void repeats(std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void repaired(std::uint64_t, const metrics::Repair&, std::uint64_t) override {}
    void outstanding(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void message(std::uint64_t flow, const Message& message, std::uint64_t frame) override;
    void continued(std::uint64_t flow, std::uint64_t position, std::uint64_t frame) override;
    void answered(std::uint64_t flow, std::uint64_t position, const std::uint64_t* latency_ns,
                  std::uint64_t frame) override;
    void forgotten(std::uint64_t flow, bool apart) override;

private:
    static constexpr std::size_t history = 4096;
    static constexpr std::size_t most_outstanding = std::size_t{1} << 14;

    /// The value of a count at a time.
    struct Mark {
        std::int64_t time_ns = 0;
        std::uint64_t count = 0;
    };
    class Marks {
    public:
        void add(std::int64_t time_ns, std::uint64_t count);
        /// The value at that time.
        std::uint64_t at(std::int64_t time_ns) const;

    private:
        std::deque<Mark> marks_;
        std::uint64_t forgotten_ = 0;
    };
    /// A message that waits for its answer, and what has been posted up to it.
    struct Waiting {
        std::uint64_t position = 0;
        std::uint64_t messages = 0;
        std::uint64_t requests = 0;
    };
    struct Side {
        std::uint64_t messages = 0;         ///< posted, as the peer's stack will count them
        std::uint64_t requests = 0;         ///< of them, READs and atomics
        std::deque<Waiting> waiting;        ///< in the order of their answers
        std::deque<Waiting> waiting_apart;  ///< metrics::FrameObserver::answered_apart
        Marks ended;                        ///< messages whose last packet had passed
        Marks arrived;                      ///< messages that were acknowledged
        Marks answered;                     ///< requests that were answered
    };

    Side* side_of(std::uint64_t flow, Poster& place);
    void add(const Poster& place, Kind kind, std::uint64_t bytes, std::uint64_t first_frame, std::uint64_t frame,
             std::uint64_t position, std::shared_ptr<Payload> payload = {});

    const Survey& survey_;
    PayloadCollector* payload_;
    FrameTimes times_;
    std::vector<std::array<Side, 2>> sides_;  ///< by connection
    std::vector<Operation> found_;
    std::int64_t later_ns_ = 0;
    std::int64_t last_ns_ = 0;
    std::uint64_t operations_ = 0;
};

}  // namespace replay::plan
