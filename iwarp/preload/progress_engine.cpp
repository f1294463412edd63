#include "iwarp/preload/progress_engine.h"

#include <algorithm>
#include <new>
#include <pthread.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "fmt/core.h"
#include "iwarp/preload/async_events.h"
#include "iwarp/preload/operations.h"
#include "iwarp/preload/service_thread.h"
#include "iwarp/preload/verbs_objects.h"

namespace iwarp::preload {
namespace {

/// A thread that polled without success polls again, perhaps after other threads had the processor; a thread that is
/// posting will poll. A thread that found a completion may now watch memory for the answer (ib_write_lat). That takes
/// at least this long, unless the thread has always come back sooner.
constexpr std::int64_t after_nothing_ns = 300'000;
constexpr std::int64_t after_something_ns = 3'000;
constexpr unsigned enough_quick_returns = 8;
/// A turn takes that long where bytes come as fast as they are taken.
constexpr std::int64_t long_turn_ns = 2'000'000;
/// Posts that follow each other so closely belong together.
constexpr std::int64_t burst_ns = 10'000;
constexpr unsigned posts_a_turn = 16;

}  // namespace

ProgressEngine& ProgressEngine::instance() {
    static ProgressEngine& engine = *new ProgressEngine;  // what a program does while it exits must still find it
    return engine;
}

const Settings& ProgressEngine::settings() {
    static const Settings& settings = *new Settings(Settings::from_environment());
    return settings;
}

bool ProgressEngine::usable() {
    if (!forked_.load(std::memory_order_relaxed)) return true;
    complaint_.say(
        "this process is the child of one that opened the software RDMA device; the device stays with the parent. Open "
        "it after fork(), not before");
    return false;
}

void ProgressEngine::before_fork() { instance().lock_.acquire(); }
void ProgressEngine::after_fork() { instance().lock_.release(); }
void ProgressEngine::after_fork_in_child() {
    instance().forked_ = true;
    instance().lock_.release();
}

Device& ProgressEngine::device() {
    if (device_) return *device_;
    settings();
    std::shared_ptr<Device> device = Device::open(device_options());
    descriptor_ = device->descriptor();
    service_ = std::make_unique<Service>(*this, descriptor_);
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
    device_ = std::move(device);
    return *device_;
}

void ProgressEngine::drive() {
    drive_a_turn();
    posted_ns_ = 0;
}

/// The service thread does not wait for the lock meanwhile: as soon as it had it, the two would drive by turns, each
/// with the other's bytes far from its processor.
void ProgressEngine::drive_a_turn() {
    service_->expect_program(long_turn_ns);
    turn();
    service_->expect_program(patience_ns());
}

/// How long the program may take until it calls again, before the service thread does its work.
std::int64_t ProgressEngine::patience_ns() const {
    return quick_returns_ == enough_quick_returns ? after_nothing_ns : after_something_ns;
}

void ProgressEngine::comes_back(std::int64_t now_ns) {
    if (found_ns_ == 0) return;
    const bool quick = now_ns - std::exchange(found_ns_, 0) < after_something_ns;
    quick_returns_ = quick ? std::min(quick_returns_ + 1, enough_quick_returns) : 0;
}

void ProgressEngine::called() {
    if (found_ns_ != 0) comes_back(base::steady_ns());
}

void ProgressEngine::found_something() {
    found_ns_ = base::steady_ns();
    if (quick_returns_ == enough_quick_returns) service_->expect_program(after_nothing_ns);
}

void ProgressEngine::found_nothing() { service_->expect_program(after_nothing_ns); }

void ProgressEngine::posted() {
    const std::int64_t now_ns = base::steady_ns();
    comes_back(now_ns);
    const bool in_burst = now_ns - posted_ns_ < burst_ns;
    posted_ns_ = now_ns;
    burst_ = in_burst ? burst_ + 1 : 0;
    if (burst_ % posts_a_turn != 0) return service_->expect_program(after_nothing_ns);
    drive_a_turn();
    posted_ns_ = base::steady_ns();  // the turn was not the program's time
}

void ProgressEngine::leave_work() {
    if (device_ && device_->work_waits()) service_->work_left();
}

bool ProgressEngine::turn() {
    const bool moved = device_->progress();
    hand_out_events();
    return moved;
}

void ProgressEngine::hand_out_events() {
    if (!device_) return;
    while (const std::optional<Event> event = device_->next_event()) hand_out(*event);
}

void ProgressEngine::yield_driving() {
    if (service_) service_->take_over();
}

void ProgressEngine::hand_out(const Event& event) {
    switch (event.kind) {
        case Event::Kind::completion: completion_event(*event.completion_queue); return;
        case Event::Kind::completion_overflow: overflow_event(*event.completion_queue); return;
        case Event::Kind::receive_limit: limit_event(*event.shared_receive_queue); return;
        case Event::Kind::connect_request:
            if (observer_ != nullptr) observer_->connection_requested(event);
            return;
        default: break;
    }
    auto* const qp = static_cast<Qp*>(event.queue_pair->context);
    if (qp == nullptr) return;  // made by the stack's own interface, in a test
    connection_event(*qp, event);
    if (observer_ != nullptr) observer_->connection_changed(*qp, event);
}

void say(const std::string& line) {
    // Not through stdio's buffers, which are the program's.
    const std::string whole = "librdmascope-verbs: " + line + "\n";
    static_cast<void>(!::write(STDERR_FILENO, whole.data(), whole.size()));
}

int errno_of_exception(const char* function) {
    try {
        throw;
    } catch (const Error& error) {
        say(fmt::format("{}: {}", function, error.what()));
        return EINVAL;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const std::system_error& error) {
        say(fmt::format("{}: {}", function, error.what()));
        return error.code().value();
    } catch (...) {
        return EIO;
    }
}

}  // namespace iwarp::preload
