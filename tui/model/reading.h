#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/answers/flow_problems.h"
#include "metrics/figures/snapshot.h"

namespace tui::inline model {

/// A counter of an RDMA device's port, as the driver names it.
struct DeviceCounter {
    std::string device;  ///< "siw0", or an Ethernet interface under a device: "eth2"
    std::uint32_t port = 0;
    std::string name;  ///< "out_of_buffer", "port_xmit_data"
    std::uint64_t value = 0;
    /// The value at the beginning of the interval: value - before, modulo 2^64, is the count in the interval. A 32-bit
    /// counter that has wrapped gets a `before` that makes this true. No value if it is unknown, because the counter is
    /// new or was reset.
    std::optional<std::uint64_t> before;
    std::uint32_t octets = 0;  ///< bytes for one step of the counter; 0: it counts something else

    std::uint64_t growth() const { return before ? value - *before : 0; }
};

/// A source's figures at the end of an interval: [start_ns, start_ns + length_ns) of the capture's clock. Immutable,
/// shared between the thread that measures and the screen.
struct Reading {
    std::uint64_t serial = 0;  ///< 1 for the source's first; larger is later
    std::int64_t start_ns = 0;
    std::uint64_t length_ns = 0;
    metrics::Snapshot total;              ///< since the source began (history: since its first interval that was shown)
    metrics::Snapshot interval;           ///< what happened in it: metrics::difference()
    bool crc_verified = true;             ///< the number of bad CRCs is known
    bool restarted = false;               ///< a jump in time: earlier readings are not continued
    std::vector<DeviceCounter> counters;  ///< in the order of device, port, name; empty where there are no devices

    /// Problems of flows: in the interval, or since the beginning. Computed at the first call, so that readings that
    /// are not shown cost nothing. Only the screen's thread calls this.
    const metrics::FlowProblems& interval_problems() const {
        if (!interval_problems_) interval_problems_ = metrics::flow_problems(interval);
        return *interval_problems_;
    }
    const metrics::FlowProblems& total_problems() const {
        if (!total_problems_) total_problems_ = metrics::flow_problems(total);
        return *total_problems_;
    }
    mutable std::optional<metrics::FlowProblems> interval_problems_ = {};
    mutable std::optional<metrics::FlowProblems> total_problems_ = {};

    /// Times of a damaged capture may have any value: the sum wraps as the clock would.
    std::int64_t end_ns() const { return static_cast<std::int64_t>(static_cast<std::uint64_t>(start_ns) + length_ns); }

    /// From the first frame of all to the last. Every rate "since the start" is divided by this time, so that the
    /// header and the rows of a view add up.
    std::uint64_t whole_ns() const {
        const metrics::CaptureFigures& capture = total.capture;
        if (capture.last_ns <= capture.first_ns) return 0;
        return static_cast<std::uint64_t>(capture.last_ns) - static_cast<std::uint64_t>(capture.first_ns);
    }
};
using ReadingPtr = std::shared_ptr<const Reading>;

}  // namespace tui::model
