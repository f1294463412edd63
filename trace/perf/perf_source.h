#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/descriptor.h"
#include "trace/perf/format.h"
#include "trace/perf/perf_ring.h"
#include "trace/trace_source.h"

namespace trace::inline perf {

/// A trace event to read, and its use.
struct PerfEvent {
    std::string name;        ///< "rdma_core:cq_poll", or the name of a probe
    Format format;           ///< its id is the one in tracefs of this machine
    Converter convert = {};  ///< null: counted, and passed to the listener
};

struct PerfOptions {
    std::uint32_t ring_octets = 512 * 1024;  ///< for each processor; a power of two, at least a page
    int process = 0;                         ///< only of this process, until it ends; 0: of all
    Listener listener = {};
};

/// Trace events by perf_event_open(2): one ring for each processor, whatever the number of events.
///
/// perf stamps with CLOCK_MONOTONIC, since it has no CLOCK_REALTIME; the distance between the two is measured at every
/// call of next(), so that a clock that is set moves the records that come after; no measurement is exact, and what
/// moves by less than a microsecond stays. Records are handed out once they are
/// a millisecond old, by when every processor has written what came before.
///
/// Memory: the rings, and one file descriptor for each event and processor; with `process` for each of its threads too.
/// Threads that it makes later are followed.
class PerfSource : public TraceSource {
public:
    /// Starts at once. An error says which right is missing, or what else.
    static base::Result<std::unique_ptr<PerfSource>> open(std::vector<PerfEvent> events, const PerfOptions& options);
    ~PerfSource() override;
    PerfSource(const PerfSource&) = delete;
    PerfSource& operator=(const PerfSource&) = delete;

    TraceBatch next(std::span<Record> into, int timeout_ms) override;
    std::uint64_t lost() const override { return lost_; }
    std::vector<EventCount> events() const override;
    const std::vector<std::string>& warnings() const override { return warnings_; }
    const base::Error& error() const override { return error_; }

private:
    struct Processor;
    struct Counted {
        PerfEvent event;
        std::uint64_t count = 0;
    };

    explicit PerfSource(const PerfOptions& options);
    base::Result<void> open_processor(int number);
    base::Result<void> open_event(std::size_t event, int thread);
    std::size_t take(std::span<Record> into, std::int64_t until_ns, std::int64_t offset_ns);
    bool convert(const PerfRecord& from, std::int64_t offset_ns, Record& into);
    bool process_ended() const;
    void wait(int timeout_ms);

    PerfOptions options_;
    std::vector<Counted> events_ = {};
    std::unordered_map<std::uint64_t, std::size_t> by_id_ = {};
    std::vector<std::unique_ptr<Processor>> processors_;  // no initializer: it would need the whole type
    std::vector<base::Descriptor> descriptors_ = {};
    base::Descriptor process_descriptor_ = {};
    bool ended_ = false;
    std::uint64_t lost_ = 0;
    std::int64_t latest_ns_ = 0;
    std::optional<std::int64_t> offset_ns_ = {};  ///< the number that is added to a record's time
    std::vector<std::string> warnings_ = {};
    base::Error error_ = {};
};

/// The numbers of the processors in a list as sysfs writes it, "0-3,8"; empty if it is not a list.
std::vector<int> parse_processor_list(const std::string& text);

}  // namespace trace::perf
