#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trace/perf/format.h"
#include "trace/perf/perf_source.h"
#include "trace/perf/tracefs.h"
#include "trace/trace_source.h"
#include "trace/uprobe/usdt.h"

namespace trace::inline uprobe {

/// A place in a program at which the kernel is to stop for a moment, and what it is to note there.
struct ProbePoint {
    std::string name;                    ///< what its occurrences are called: "rdmascope:post_send"
    std::string path;                    ///< of the file
    std::uint64_t offset = 0;            ///< in the file
    std::uint64_t semaphore_offset = 0;  ///< in the file; 0: none
    /// Name and what to fetch: {"a1", "%si:u32"}. Names are fields of the event.
    std::vector<std::pair<std::string, std::string>> fetch = {};
    /// Makes the converter once the event's format is known; without it occurrences are counted.
    std::function<Converter(const Format&)> convert = {};
};

struct ProbeOptions {
    std::string tracefs = {};  ///< where it is mounted; empty: where it usually is
    PerfOptions perf = {};
};

/// Probes in programs that run, without a restart: uprobes, which the kernel defines as trace events (Linux,
/// Documentation/trace/uprobetracer.rst) and perf delivers. So arguments are read by the kernel at the probe, memory
/// operands too, which a sample of registers and stack would miss.
///
/// The definitions belong to the whole machine until they are removed. They are, with the source; and what a tracer
/// left by a killed one is removed when the next one starts. An occurrence costs the program a trap, one to a
/// few microseconds.
class ProbeSource : public TraceSource {
public:
    static base::Result<std::unique_ptr<ProbeSource>> open(const std::vector<ProbePoint>& points,
                                                           const ProbeOptions& options);
    ~ProbeSource() override;
    ProbeSource(const ProbeSource&) = delete;
    ProbeSource& operator=(const ProbeSource&) = delete;

    TraceBatch next(std::span<Record> into, int timeout_ms) override { return perf_->next(into, timeout_ms); }
    std::uint64_t lost() const override { return perf_->lost(); }
    std::vector<EventCount> events() const override;  ///< one a name, whatever the number of its places
    const std::vector<std::string>& warnings() const override { return warnings_; }
    const base::Error& error() const override { return perf_->error(); }

    void warn(std::string text) { warnings_.push_back(std::move(text)); }

private:
    explicit ProbeSource(Tracefs tracefs) : tracefs_(std::move(tracefs)) {}
    base::Result<PerfEvent> define(const ProbePoint& point, std::size_t number);

    Tracefs tracefs_;
    std::string group_ = {};
    std::vector<std::string> defined_ = {};
    std::unique_ptr<PerfSource> perf_ = nullptr;
    std::vector<std::string> warnings_ = {};
};

/// The probe as a point of its file, with its arguments a1, a2, ... where the kernel can fetch them. Those of the
/// provider `rdmascope` (docs/man/rdmascope-iwarp.7) that are work requests, completions and states become records;
/// those of other providers are counted and shown as text. What cannot be fetched is added to `warnings`.
ProbePoint point_of(const UsdtProbe& probe, const base::ElfFile& file, std::vector<std::string>& warnings);

/// The values of a probe's arguments in a record of its event, constants among them.
class ProbeArguments {
public:
    ProbeArguments(const UsdtProbe& probe, const Format& format);
    /// Argument 0 is the first; 0 where it could not be fetched.
    std::uint64_t operator()(std::size_t index, base::Bytes record) const;
    std::size_t count() const { return slots_.size(); }

private:
    struct Slot {
        bool fetched = false;
        std::uint64_t constant = 0;
        Field field = {};
    };
    std::vector<Slot> slots_ = {};
};

}  // namespace trace::uprobe
