#include "trace/perf/perf_source.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fmt/core.h>
#include <limits>
#include <linux/perf_event.h>
#include <poll.h>
#include <set>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

namespace trace::inline perf {

using base::Failure;

namespace {

constexpr std::int64_t settle_ns = 1'000'000;
constexpr int look_again_ms = 20;  // a ring wakes us when it is a quarter full

/// The distance of the clocks is measured no better; with another one in their midst, records would go back in time.
constexpr std::int64_t inexact_ns = 1'000;

/// What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, by the quickest of three readings.
std::int64_t realtime_offset_ns() {
    std::int64_t offset = 0;
    std::int64_t quickest = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 3; ++i) {
        const std::int64_t before = base::steady_ns();
        const std::int64_t real = base::wall_ns();
        const std::int64_t took = base::steady_ns() - before;
        if (took >= quickest) continue;
        quickest = took;
        offset = real - before - took / 2;
    }
    return offset;
}

int perf_event_open(perf_event_attr& attributes, int thread, int processor) {
    return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

perf_event_attr attributes_of(std::uint32_t type, std::uint64_t config) {
    perf_event_attr attributes = {};
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = config;
    attributes.sample_period = 1;
    attributes.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.watermark = 1;
    return attributes;
}

/// The meaning of a refusal of perf_event_open for a user who traces.
base::Error explain(int fault, const std::string& what) {
    switch (fault) {
        case EACCES:
        case EPERM:
            return {
                fmt::format("{}: not permitted (kernel.perf_event_paranoid is {}): trace events need root, or "
                            "CAP_PERFMON and the right to read tracefs",
                            what, base::first_line("/proc/sys/kernel/perf_event_paranoid"))};
        case EMFILE:
        case ENFILE:
            return {
                fmt::format("{}: too many open files: one is needed for each event, processor and thread; raise the "
                            "limit (ulimit -n) or trace fewer events",
                            what)};
        case ENOSYS: return {fmt::format("{}: this kernel has no perf events (CONFIG_PERF_EVENTS)", what)};
        case ESRCH: return {fmt::format("{}: no such process", what)};
        default: return {fmt::format("{}: {}", what, std::strerror(fault))};
    }
}

/// The threads of a process, or -1 for all of the machine's.
std::vector<int> threads_of(int process) {
    if (process == 0) return {-1};
    std::vector<int> threads;
    std::error_code fault;
    std::filesystem::directory_iterator at(fmt::format("/proc/{}/task", process), fault);
    for (; !fault && at != std::filesystem::directory_iterator(); at.increment(fault))
        threads.push_back(std::atoi(at->path().filename().c_str()));
    return threads;
}

void allow_many_files() {
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace

std::vector<int> parse_processor_list(const std::string& text) {
    constexpr int most = 65536;
    std::vector<int> numbers;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        int first = 0;
        auto read = std::from_chars(at, end, first);
        if (read.ec != std::errc() || first < 0) return {};
        int last = first;
        if (read.ptr != end && *read.ptr == '-') {
            read = std::from_chars(read.ptr + 1, end, last);
            if (read.ec != std::errc()) return {};
        }
        if (last < first || last >= most) return {};
        for (int number = first; number <= last; ++number) numbers.push_back(number);
        if (read.ptr != end && *read.ptr != ',') return {};
        at = read.ptr == end ? end : read.ptr + 1;
    }
    return numbers;
}

/// The ring of one processor, held by an event that never happens: the others write into it, and may come and go.
struct PerfSource::Processor {
    ~Processor() {
        if (area != nullptr) ::munmap(area, octets);
    }
    int number = 0;
    base::Descriptor descriptor = {};
    void* area = nullptr;
    std::size_t octets = 0;
    std::unique_ptr<PerfRing> ring = nullptr;
    const PerfRecord* oldest = nullptr;
};

PerfSource::PerfSource(const PerfOptions& options) : options_(options) {}

base::Result<std::unique_ptr<PerfSource>> PerfSource::open(std::vector<PerfEvent> events, const PerfOptions& options) {
    allow_many_files();
    std::unique_ptr<PerfSource> source(new PerfSource(options));
    for (PerfEvent& event : events) source->events_.push_back({std::move(event)});
    if (options.process != 0) {
        source->process_descriptor_.reset(static_cast<int>(::syscall(SYS_pidfd_open, options.process, 0)));
        if (!source->process_descriptor_) return Failure{explain(errno, fmt::format("process {}", options.process))};
    }
    std::vector<int> numbers = parse_processor_list(base::first_line("/sys/devices/system/cpu/online"));
    if (numbers.empty()) numbers = {0};
    for (const int number : numbers) {
        const auto opened = source->open_processor(number);
        if (!opened) return Failure{opened.error()};
    }
    // Threads of an opened thread are followed; those that other threads made meanwhile are found by a second search.
    std::set<int> opened_threads;
    for (bool more = true; more;) {
        more = false;
        for (const int thread : threads_of(options.process)) {
            if (!opened_threads.insert(thread).second) continue;
            more = thread > 0;
            for (std::size_t event = 0; event < source->events_.size(); ++event) {
                const auto opened = source->open_event(event, thread);
                if (!opened) return Failure{opened.error()};
            }
        }
    }
    return source;
}

base::Result<void> PerfSource::open_processor(int number) {
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t data = std::bit_ceil(std::max<std::size_t>(options_.ring_octets, page));
    perf_event_attr attributes = attributes_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attributes.wakeup_watermark = static_cast<std::uint32_t>(data / 4);
    auto processor = std::make_unique<Processor>();
    processor->number = number;
    processor->descriptor.reset(perf_event_open(attributes, -1, number));
    if (!processor->descriptor) return Failure{explain(errno, fmt::format("the ring of processor {}", number))};
    void* const area =
        ::mmap(nullptr, page + data, PROT_READ | PROT_WRITE, MAP_SHARED, processor->descriptor.number(), 0);
    if (area == MAP_FAILED) {
        const std::string limit = base::first_line("/proc/sys/kernel/perf_event_mlock_kb");
        return Failure{
            base::Error{fmt::format("the ring of processor {} ({} KiB): {} (kernel.perf_event_mlock_kb is {}): raise "
                                    "the limit of locked memory (ulimit -l)",
                                    number, data / 1024, std::strerror(errno), limit)}};
    }
    processor->area = area;
    processor->octets = page + data;
    processor->ring = std::make_unique<PerfRing>(std::span(static_cast<std::byte*>(area), page + data), page);
    processors_.push_back(std::move(processor));
    return {};
}

base::Result<void> PerfSource::open_event(std::size_t event, int thread) {
    const PerfEvent& traced = events_[event].event;
    perf_event_attr attributes = attributes_of(PERF_TYPE_TRACEPOINT, traced.format.id());
    attributes.inherit = thread > 0 ? 1 : 0;
    for (const auto& processor : processors_) {
        attributes.wakeup_watermark = static_cast<std::uint32_t>((processor->octets) / 4);
        const int descriptor = perf_event_open(attributes, thread, processor->number);
        if (descriptor < 0 && errno == ESRCH && thread != options_.process) continue;  // a thread that ended meanwhile
        if (descriptor < 0) return Failure{explain(errno, traced.name)};
        descriptors_.emplace_back(descriptor);
        std::uint64_t id = 0;
        if (::ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, processor->descriptor.number()) != 0 ||
            ::ioctl(descriptor, PERF_EVENT_IOC_ID, &id) != 0)
            return Failure{explain(errno, traced.name)};
        by_id_.emplace(id, event);
    }
    return {};
}

PerfSource::~PerfSource() = default;

bool PerfSource::process_ended() const {
    pollfd process{process_descriptor_.number(), POLLIN, 0};
    return process_descriptor_ && ::poll(&process, 1, 0) > 0;
}

bool PerfSource::convert(const PerfRecord& from, std::int64_t offset_ns, Record& into) {
    if (from.kind == PerfRecord::Kind::lost) {
        lost_ += from.lost;
        into = Record();
        into.kind = RecordKind::lost;
        into.time_ns = latest_ns_;
        into.count = from.lost;
        return true;
    }
    const auto found = by_id_.find(from.event);
    if (found == by_id_.end()) return false;
    Counted& counted = events_[found->second];
    ++counted.count;
    const EventSample sample{from.time_ns + offset_ns, from.process, from.thread, from.raw};
    latest_ns_ = sample.time_ns;
    if (options_.listener) options_.listener(sample, counted.event.name, counted.event.format.describe(from.raw));
    if (!counted.event.convert) return false;
    into = Record();
    into.time_ns = sample.time_ns;
    into.process = sample.process;
    into.thread = sample.thread;
    return counted.event.convert(sample, into);
}

/// Merges what the processors wrote up to `until_ns` of CLOCK_MONOTONIC. Each ring is in order by itself.
std::size_t PerfSource::take(std::span<Record> into, std::int64_t until_ns, std::int64_t offset_ns) {
    for (const auto& processor : processors_) processor->oldest = processor->ring->peek();
    std::size_t count = 0;
    while (count < into.size()) {
        Processor* first = nullptr;
        for (const auto& processor : processors_)
            if (processor->oldest != nullptr &&
                (first == nullptr || processor->oldest->time_ns < first->oldest->time_ns))
                first = processor.get();
        if (first == nullptr || first->oldest->time_ns > until_ns) break;
        if (convert(*first->oldest, offset_ns, into[count])) ++count;
        first->ring->pop();
        first->oldest = first->ring->peek();
    }
    return count;
}

void PerfSource::wait(int timeout_ms) {
    std::vector<pollfd> wakers;
    for (const auto& processor : processors_) wakers.push_back({processor->descriptor.number(), POLLIN, 0});
    if (process_descriptor_) wakers.push_back({process_descriptor_.number(), POLLIN, 0});
    static_cast<void>(::poll(wakers.data(), wakers.size(), timeout_ms));
}

TraceBatch PerfSource::next(std::span<Record> into, int timeout_ms) {
    const std::int64_t deadline = base::steady_ns() + std::int64_t{timeout_ms} * 1'000'000;
    for (;;) {
        // The process is looked at before its last records are: what it wrote before it ended is in the rings then.
        if (!ended_) ended_ = process_ended();
        const std::int64_t now = base::steady_ns();
        const std::int64_t until = ended_ ? std::numeric_limits<std::int64_t>::max() : now - settle_ns;
        const std::int64_t offset = realtime_offset_ns();
        if (!offset_ns_ || std::abs(offset - *offset_ns_) > inexact_ns) offset_ns_ = offset;
        const std::size_t count = take(into, until, *offset_ns_);
        if (count > 0) return {count, TraceStatus::records};
        if (ended_) return {0, TraceStatus::end};
        if (now >= deadline) return {0, TraceStatus::timeout};
        const std::int64_t left_ms = (deadline - now) / 1'000'000 + 1;
        wait(static_cast<int>(std::min<std::int64_t>(left_ms, look_again_ms)));
    }
}

std::vector<EventCount> PerfSource::events() const {
    std::vector<EventCount> counts;
    for (const Counted& counted : events_)
        counts.push_back({counted.event.name, counted.count, static_cast<bool>(counted.event.convert)});
    return counts;
}

}  // namespace trace::perf
