#pragma once
#include <atomic>
#include <pthread.h>

#include "base/clock.h"
#include "trace/perf/counter_clock.h"
#include "trace/processor_counter.h"
#include "trace/ring/ring.h"

namespace trace::interposer {

/// The processor's counter, if the kernel keeps its own time by it.
struct Ticks {
    static inline std::atomic<bool> trusted = false;
    std::uint64_t operator()() const { return trusted.load(std::memory_order_relaxed) ? ProcessorCounter::read() : 0; }
};
struct SystemClock {
    std::int64_t operator()() const { return base::wall_ns(); }
};
extern constinit thread_local CounterClock<Ticks, SystemClock> this_threads_clock;

inline std::int64_t now_ns() { return this_threads_clock.now_ns(); }

/// The ring of this process and the lanes of its threads. The ring is made for the first record, so that a program that
/// never uses verbs leaves no file; a child of fork(2) gets a ring of its own. If no ring can be made, that is reported
/// once, and the program runs untraced.
class Recorder {
public:
    /// The calling thread's lane; null if it cannot record.
    Lane* lane() {
        Lane* const mine = current_;
        return mine != nullptr ? mine : first_record();
    }

    /// The device's number in records. Remembered beyond the ring, for rings of children.
    std::uint8_t device(const char* name);

private:
    Lane* first_record();
    bool open();
    void prepare();
    static void give_back(void* lane);
    static void before_fork();
    static void after_fork();
    static void in_child();

    static thread_local Lane* current_;
    static thread_local std::uint32_t patience_;  ///< records to lose before a lane is looked for again

    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    Ring ring_ = {};
    layout::Name names_[layout::most_devices] = {};
    std::uint8_t devices_ = 0;
    bool prepared_ = false;
    std::atomic<bool> refused_ = false;
    pthread_key_t at_thread_end_ = 0;
};

/// A preloaded object is one for its process.
extern Recorder recorder;

/// Records of one call: readers wait for them from here on.
class Recording {
public:
    explicit Recording(Lane& lane) : lane_(lane), time_ns_(now_ns()) { lane_.begin(time_ns_); }
    ~Recording() { lane_.end(); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    std::int64_t time_ns() const { return time_ns_; }
    /// A record of this call, to be filled in in place, and published before the next.
    Record& next(RecordKind kind, std::uint32_t number, std::uint8_t device) {
        Record& record = lane_.next();
        record.time_ns = time_ns_;
        record.number = number;
        record.process = 0;
        record.kind = kind;
        record.device = device;
        record.duration = 0;
        record.thread = lane_.thread();
        record.work = WorkRequest{};
        return record;
    }
    void publish() { lane_.publish(); }

    /// How long the call has taken, in Record's unit; only for one call in sixteen, because a clock costs half of the
    /// recording.
    std::uint16_t duration() const {
        constexpr std::uint64_t one_in = 16;
        constexpr std::int64_t unit_ns = 16;
        constexpr std::int64_t most = 65535;
        if (lane_.written() % one_in != 0) return 0;
        const std::int64_t units = (now_ns() - time_ns_ + unit_ns - 1) / unit_ns;
        return static_cast<std::uint16_t>(units < 1 ? 1 : units > most ? most : units);
    }

private:
    Lane& lane_;
    std::int64_t time_ns_;
};

}  // namespace trace::interposer
