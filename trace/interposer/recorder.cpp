#include "trace/interposer/recorder.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "trace/interposer/pointer_table.h"
#include "trace/ring/trace_directory.h"

namespace trace::interposer {

constinit Recorder recorder;
constinit pthread_mutex_t tables_mutex = PTHREAD_MUTEX_INITIALIZER;
constinit pthread_mutex_t Learning::mutex_ = PTHREAD_MUTEX_INITIALIZER;
constinit thread_local unsigned Learning::depth_ = 0;

constinit thread_local CounterClock<Ticks, SystemClock> this_threads_clock{Ticks{}, SystemClock{}};
thread_local Lane* Recorder::current_ = nullptr;
thread_local std::uint32_t Recorder::patience_ = 0;

namespace {

std::uint64_t number_of(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

/// Counters of processors may differ, or stop: then the kernel does not use them either.
bool kernel_uses_counter() {
    char text[32] = "";
    const base::Descriptor file(
        open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC));
    if (!file) return false;
    const ssize_t got = read(file.number(), text, sizeof text - 1);
    constexpr std::size_t length = sizeof ProcessorCounter::clock_source - 1;
    return length > 0 && got > 0 && std::strncmp(text, ProcessorCounter::clock_source, length) == 0 &&
           text[length] == '\n';
}

/// The C library's name of an error without its locale's language, and without a buffer that threads share.
void say_untraced(const char* directory, int code) {
    char line[4400];
    const char* const reason = strerrordesc_np(code);
    const int length = std::snprintf(line, sizeof line, "rdmascope: process %d is not traced: a ring in %s: %s\n",
                                     static_cast<int>(getpid()), directory, reason == nullptr ? "?" : reason);
    if (length <= 0) return;
    const auto octets = static_cast<std::size_t>(length);
    [[maybe_unused]] const ssize_t unused = write(STDERR_FILENO, line, octets < sizeof line ? octets : sizeof line - 1);
}

}  // namespace

Lane* Recorder::first_record() {
    constexpr std::uint32_t retry_after = 1024;
    if (refused_.load(std::memory_order_relaxed)) return nullptr;
    if (patience_ > 0) {
        --patience_;
        ring_.lose();
        return nullptr;
    }
    const int saved = errno;
    pthread_mutex_lock(&mutex_);
    Lane* const lane = open() ? ring_.claim() : nullptr;
    if (lane != nullptr) {
        pthread_setspecific(at_thread_end_, lane);
    } else if (ring_.is_open()) {
        patience_ = retry_after;
        ring_.lose();
    }
    pthread_mutex_unlock(&mutex_);
    errno = saved;
    current_ = lane;
    return lane;
}

/// With the lock held.
bool Recorder::open() {
    if (ring_.is_open()) return true;
    if (refused_.load(std::memory_order_relaxed)) return false;
    prepare();
    char directory[4096] = "";
    int wrong = trace_directory(directory, sizeof directory, true);
    if (wrong == 0) {
        const std::uint64_t asked = number_of(layout::variable::records);
        const std::uint64_t capacity = asked == 0 ? Ring::usual_capacity : asked;
        wrong = ring_.open(
            directory, static_cast<std::uint32_t>(capacity < layout::most_capacity ? capacity : layout::most_capacity),
            number_of(layout::variable::session));
    }
    if (wrong != 0) {
        refused_.store(true, std::memory_order_relaxed);
        say_untraced(directory, wrong);
        return false;
    }
    for (std::uint8_t i = 0; i < devices_; ++i) ring_.device(names_[i].data());
    return true;
}

/// Once, and for children too.
void Recorder::prepare() {
    if (prepared_) return;
    prepared_ = true;
    ProcessorCounter::prepare();
    Ticks::trusted.store(kernel_uses_counter(), std::memory_order_relaxed);
    pthread_key_create(&at_thread_end_, give_back);
    pthread_atfork(before_fork, after_fork, in_child);
}

std::uint8_t Recorder::device(const char* name) {
    pthread_mutex_lock(&mutex_);
    std::uint8_t index = 0;
    while (index < devices_ && std::strncmp(names_[index].data(), name, sizeof names_[index] - 1) != 0) ++index;
    if (index == devices_) {
        if (devices_ < layout::most_devices) {
            std::strncpy(names_[index].data(), name, sizeof names_[index] - 1);
            ++devices_;
            if (ring_.is_open()) ring_.device(names_[index].data());
        } else {
            index = layout::unknown_device;
        }
    }
    pthread_mutex_unlock(&mutex_);
    return index;
}

/// Called by the C library at a thread's end. Destructors that come later and still record claim a lane again.
void Recorder::give_back(void* lane) {
    if (current_ == lane) Ring::give_back(*static_cast<Lane*>(lane));
    current_ = nullptr;
}

void Recorder::before_fork() {
    Learning::hold();
    pthread_mutex_lock(&tables_mutex);
    pthread_mutex_lock(&recorder.mutex_);
}
void Recorder::after_fork() {
    pthread_mutex_unlock(&recorder.mutex_);
    pthread_mutex_unlock(&tables_mutex);
    Learning::release();
}
void Recorder::in_child() {
    recorder.ring_.forget();
    if (current_ != nullptr) pthread_setspecific(recorder.at_thread_end_, nullptr);
    current_ = nullptr;
    patience_ = 0;
    recorder.refused_.store(false, std::memory_order_relaxed);
    after_fork();
}

}  // namespace trace::interposer
