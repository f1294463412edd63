#include "observe/trace_input.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <deque>
#include <fmt/core.h>
#include <span>
#include <sys/stat.h>

#include "base/clock.h"
#include "observe/trace_folder.h"
#include "trace/file/trace_file.h"
#include "trace/kernel/kernel_events.h"
#include "trace/ring/rings.h"
#include "trace/ring/trace_directory.h"

namespace observe {

namespace {

using trace::Process;
using trace::Record;

/// Of a list that keeps the latest of all there ever were: those that are new since it was last asked.
class News {
public:
    template <class T>
    void report(const std::deque<T>& latest, std::uint64_t ever, auto&& each) {
        const std::uint64_t fresh = std::min<std::uint64_t>(ever - reported_, latest.size());
        reported_ = ever;
        std::for_each(latest.end() - static_cast<std::ptrdiff_t>(fresh), latest.end(), each);
    }

private:
    std::uint64_t reported_ = 0;
};

/// The processes that a source has met, as they are new to the queue_pairs: there may be thousands of old ones.
class Introductions {
public:
    void report(metrics::posts::QueuePairTable& queue_pairs, const auto& source) {
        news_.report(source.processes(), source.processes_met(), [&queue_pairs](const Process& process) {
            queue_pairs.know({process.pid, process.command, process.container});
        });
    }

private:
    News news_ = {};
};

class TraceFile final : public TraceInput {
public:
    TraceFile(std::string path, trace::TraceFileReader reader) : path_(std::move(path)), reader_(std::move(reader)) {}

    base::Result<void> read_until(std::int64_t until_ns, metrics::posts::QueuePairTable& queue_pairs) override {
        while (!ended_) {
            while (!waiting_.empty() && waiting_.front().time_ns <= until_ns) {
                queue_pairs.add(waiting_.front());
                waiting_ = waiting_.subspan(1);
            }
            if (!waiting_.empty()) return {};
            auto more = reader_.next();
            if (!more) {
                ended_ = true;
                return base::Failure{more.error()};
            }
            waiting_ = *more;
            introductions_.report(queue_pairs, reader_);
            if (waiting_.empty()) ended_ = true;
            if (ended_ && !reader_.is_complete())
                return base::Failure{base::Error{"the trace breaks off: the program that wrote it was stopped", path_}};
        }
        return {};
    }

private:
    std::string path_;
    trace::TraceFileReader reader_;
    Introductions introductions_ = {};
    std::span<const Record> waiting_ = {};
    bool ended_ = false;
};

/// How much of a thread's time reading takes, which has packets to look at, too. What is written faster, or is said to
/// be, by a ring's count that its owner moves on and on, is overwritten before it is read, and then counted as lost.
class Turn {
public:
    /// False: it is the others' turn. `last`: there will be none after this one.
    bool begin(bool last) {
        if (!last && base::steady_ns() < others_until_ns_) return false;
        begun_ns_ = base::now_ns(CLOCK_THREAD_CPUTIME_ID);
        records_left_ = last ? last_records : most_records;
        most_ns_ = last ? last_ns : usual_ns;
        return true;
    }
    /// Whether there is time to ask for more, where `count` records came and there was room for as many as `room`.
    bool goes_on(std::size_t count, std::size_t room) {
        if (count < room) return false;
        const std::int64_t took_ns = base::now_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns_;
        records_left_ -= std::min(records_left_, count);
        if (took_ns < most_ns_ && records_left_ > 0) return true;
        others_until_ns_ = base::steady_ns() + took_ns;
        return false;
    }
    void at_leisure() { others_until_ns_ = 0; }

private:
    // Of the processor, since a thread that has to wait for one reads nothing meanwhile.
    static constexpr std::int64_t usual_ns = 50'000'000;
    static constexpr std::int64_t last_ns = 1'000'000'000;
    static constexpr std::size_t most_records = std::size_t{1} << 20;
    static constexpr std::size_t last_records = std::size_t{1} << 24;
    std::int64_t others_until_ns_ = 0;
    std::int64_t begun_ns_ = 0;
    std::int64_t most_ns_ = usual_ns;
    std::size_t records_left_ = 0;
};

class TraceRings final : public TraceInput {
public:
    explicit TraceRings(std::string directory) : rings_(options(std::move(directory))), records_(1024) {}

    /// All that there are: a frame is read later than the record of what made it was written.
    base::Result<void> read_until(std::int64_t until_ns, metrics::posts::QueuePairTable& queue_pairs) override {
        std::size_t count = 0;
        if (!turn_.begin(until_ns == base::end_of_time)) return {};
        do {
            count = rings_.next(records_);
            introductions_.report(queue_pairs, rings_);
            for (const Record& record : std::span(records_).first(count)) queue_pairs.add(record);
        } while (turn_.goes_on(count, records_.size()));
        return {};
    }
    void at_leisure() override { turn_.at_leisure(); }

    std::vector<std::string> take_refusals() override {
        std::vector<std::string> texts;
        refusals_.report(rings_.refusals(), rings_.refused(),
                         [&texts](const auto& refusal) { texts.push_back(refusal.text()); });
        return texts;
    }

private:
    /// A reader removes nothing.
    static trace::Rings::Options options(std::string directory) { return {std::move(directory), {}, false}; }
    trace::Rings rings_;
    Turn turn_ = {};
    News refusals_ = {};
    Introductions introductions_ = {};
    std::vector<Record> records_;
};

/// The kernel's events of all of the machine.
class KernelTrace final : public TraceInput {
public:
    explicit KernelTrace(std::unique_ptr<trace::TraceSource> source) : source_(std::move(source)), records_(1024) {}

    base::Result<void> read_until(std::int64_t until_ns, metrics::posts::QueuePairTable& queue_pairs) override {
        std::size_t count = 0;
        if (!turn_.begin(until_ns == base::end_of_time)) return {};
        do {
            count = source_->next(records_, 0).count;
            for (const Record& record : std::span(records_).first(count)) {
                introduce(queue_pairs, record.process);
                queue_pairs.add(record);
            }
        } while (turn_.goes_on(count, records_.size()));
        return {};
    }
    void at_leisure() override { turn_.at_leisure(); }
    std::vector<trace::EventCount> events() const override { return source_->events(); }

private:
    /// What a process is called costs a look into /proc, and its connections come one after another.
    void introduce(metrics::posts::QueuePairTable& queue_pairs, std::uint32_t pid) {
        if (pid == 0 || pid == introduced_) return;
        introduced_ = pid;
        const Process process = trace::describe_process(pid);
        if (!process.command.empty()) queue_pairs.know({pid, process.command, process.container});
    }
    std::unique_ptr<trace::TraceSource> source_;
    Turn turn_ = {};
    std::vector<Record> records_;
    std::uint32_t introduced_ = 0;
};

/// Several, each about in order.
class TraceInputs final : public TraceInput {
public:
    explicit TraceInputs(std::vector<std::unique_ptr<TraceInput>> parts) : parts_(std::move(parts)) {}

    base::Result<void> read_until(std::int64_t until_ns, metrics::posts::QueuePairTable& queue_pairs) override {
        base::Result<void> all;
        for (const auto& part : parts_)
            if (auto read = part->read_until(until_ns, queue_pairs); !read) all = std::move(read);
        return all;
    }
    void at_leisure() override {
        for (const auto& part : parts_) part->at_leisure();
    }
    std::vector<std::string> take_refusals() override {
        std::vector<std::string> all;
        for (const auto& part : parts_)
            for (std::string& one : part->take_refusals()) all.push_back(std::move(one));
        return all;
    }
    std::vector<trace::EventCount> events() const override {
        std::vector<trace::EventCount> all;
        for (const auto& part : parts_)
            for (auto& one : part->events()) all.push_back(std::move(one));
        return all;
    }

private:
    std::vector<std::unique_ptr<TraceInput>> parts_;
};

/// The folder of rings; no value if absent and `make` is false.
base::Result<std::optional<std::string>> find_rings(bool make) {
    if (make) {
        auto folder = open_trace_folder();
        if (!folder) return base::Failure{folder.error()};
        return std::optional(std::move(folder).value());
    }
    std::array<char, PATH_MAX> path{};
    struct stat found {};
    if (trace::trace_directory(path.data(), path.size(), false) != 0) return std::optional<std::string>{};
    if (stat(path.data(), &found) != 0 || !S_ISDIR(found.st_mode)) return std::optional<std::string>{};
    return std::optional<std::string>(path.data());
}

}  // namespace

base::Result<std::unique_ptr<TraceInput>> open_trace_file(const std::string& path) {
    auto opened = trace::TraceFileReader::open(path);
    if (!opened) return base::Failure{opened.error()};
    return std::unique_ptr<TraceInput>(std::make_unique<TraceFile>(path, std::move(opened).value()));
}

base::Result<std::unique_ptr<TraceInput>> open_live_trace(const LiveTraces& which) {
    std::vector<std::unique_ptr<TraceInput>> parts;
    if (which.programs) {
        const auto folder = find_rings(which.make_folder);
        if (!folder) return base::Failure{folder.error()};
        if (folder->has_value()) parts.push_back(std::make_unique<TraceRings>(**folder));
    }
    if (which.kernel_events) {
        auto source = trace::open_kernel_trace({*which.kernel_events, {}, {}});
        if (!source) return base::Failure{source.error()};
        parts.push_back(std::make_unique<KernelTrace>(std::move(source).value()));
    }
    std::unique_ptr<TraceInput> all;
    if (!parts.empty()) all = std::make_unique<TraceInputs>(std::move(parts));
    return all;
}

}  // namespace observe
