#include "iwarp/preload/service_thread.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <system_error>
#include <unistd.h>

#include "base/clock.h"
#include "base/signal_block.h"
#include "iwarp/preload/progress_engine.h"

namespace iwarp::preload {
namespace {

/// Bytes that come while the service rests, and the program has stopped polling without a word, wait that long, or
/// until the program has not come when it was expected.
constexpr std::int64_t shortest_rest_ns = 20'000;
constexpr std::int64_t longest_rest_ns = 250'000;
constexpr std::int64_t longest_rest_of_driven_ns = 1'000'000;
/// After this number of wake-ups without work, because the program had done it already, the thread rests.
constexpr int patience = 3;

void check(int failure, const char* what) {
    if (failure != 0) throw std::system_error(failure, std::generic_category(), what);
}

}  // namespace

ProgressEngine::Service::Service(ProgressEngine& engine, int descriptor) : engine_(engine), descriptor_(descriptor) {
    wake_.reset(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    check(!wake_ ? errno : 0, "no descriptor for the service thread");
    pthread_t thread{};
    int failure = 0;
    {
        // The program's signals are for its own threads.
        const base::SignalBlock block;
        failure = pthread_create(&thread, nullptr, &Service::run, this);
    }
    check(failure, "the service thread cannot be started");
    pthread_setname_np(thread, "rdmascope");
    pthread_detach(thread);
}

void* ProgressEngine::Service::run(void* service) {
    static_cast<Service*>(service)->serve();
    return nullptr;
}

void ProgressEngine::Service::wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_.number(), &one, sizeof one));
}

// The service looks whether the program drives after it has said that it rests, this the other way round: one of the
// two sees the other.
void ProgressEngine::Service::take_over() {
    driven_until_ns_.store(0, std::memory_order_seq_cst);
    if (resting_.load(std::memory_order_seq_cst)) wake();
}

void ProgressEngine::Service::work_left() {
    if (sleeping_.exchange(false, std::memory_order_relaxed)) wake();  // else it looks for work before it sleeps
}

/// Rests until then, or until it is needed.
void ProgressEngine::Service::rest(std::int64_t for_ns) {
    pollfd woken{wake_.number(), POLLIN, 0};
    const timespec time{0, for_ns};
    if (ppoll(&woken, 1, &time, nullptr) <= 0) return;
    std::uint64_t count = 0;
    static_cast<void>(!::read(wake_.number(), &count, sizeof count));
}

void ProgressEngine::Service::give_way() {
    for (std::int64_t rest_ns = longest_rest_ns;; rest_ns = std::min(2 * rest_ns, longest_rest_of_driven_ns)) {
        resting_.store(true, std::memory_order_seq_cst);
        const std::int64_t driven_ns = driven_until_ns_.load(std::memory_order_seq_cst) - base::steady_ns();
        if (driven_ns <= 0) break;
        // A program that has driven for that long will continue.
        rest(rest_ns > longest_rest_ns ? rest_ns : std::clamp(driven_ns, shortest_rest_ns, longest_rest_ns));
    }
    resting_.store(false, std::memory_order_seq_cst);
}

/// Until the device has something to do. True if it was woken for that.
bool ProgressEngine::Service::sleep() const {
    std::array<pollfd, 2> readable{{{descriptor_, POLLIN, 0}, {wake_.number(), POLLIN, 0}}};
    ::poll(readable.data(), readable.size(), -1);
    if (readable[1].revents == 0) return false;
    std::uint64_t count = 0;
    static_cast<void>(!::read(wake_.number(), &count, sizeof count));
    return true;
}

/// Whether there was anything to do. The holder of the lock is the program, and drives as likely as not.
bool ProgressEngine::Service::turn() {
    for (int tried = 0; !engine_.lock_.try_acquire(); ++tried) {
        if (tried == patience) {
            engine_.lock_.acquire();
            break;
        }
        resting_.store(true, std::memory_order_seq_cst);
        rest(shortest_rest_ns << tried);
        give_way();
    }
    const Lock::Adopted hold(engine_.lock_);
    const bool moved = engine_.turn();
    sleeping_ = !engine_.device_->work_waits();
    return moved;
}

void ProgressEngine::Service::serve() {
    prctl(PR_SET_TIMERSLACK, 1'000UL, 0UL, 0UL, 0UL);  // ns; the system's is longer than most rests
    int in_vain = 0;
    while (true) {
        if (sleep()) in_vain = 0;
        // 0: the program sleeps, and relies on this thread.
        if (in_vain >= patience && driven_until_ns_.load(std::memory_order_seq_cst) != 0) {
            resting_.store(true, std::memory_order_seq_cst);
            rest(longest_rest_ns);
        }
        do {
            give_way();
            in_vain = turn() ? 0 : std::min(in_vain + 1, patience);
        } while (!sleeping_);
    }
}

}  // namespace iwarp::preload
