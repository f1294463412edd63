#include "iwarp/preload/service.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

#include "iwarp/preload/engine.h"

namespace iwarp::preload {
namespace {

/// Who polled in vain polls again, be it after others had the processor. Who found what it wanted may watch memory now
/// for the answer (ib_write_lat), and that takes at least this long to come.
constexpr std::int64_t after_nothing_ns = 50'000;
constexpr std::int64_t after_something_ns = 3'000;
/// Octets that come while the service rests, and the program has stopped polling without a word, wait that long.
constexpr std::int64_t shortest_rest_ns = 20'000;
constexpr std::int64_t longest_rest_ns = 250'000;

void check(int failure, const char* what) {
    if (failure != 0) throw std::system_error(failure, std::generic_category(), what);
}

}  // namespace

std::int64_t Engine::Service::now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Engine::Service::Service(Engine& engine, int descriptor) : engine_(engine), descriptor_(descriptor) {
    wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    check(wake_ < 0 ? errno : 0, "no descriptor for the service thread");
    // The program's signals are for its own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    const int failure = pthread_create(&thread, nullptr, &Service::run, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure != 0) close(wake_);
    check(failure, "the service thread cannot be started");
    pthread_setname_np(thread, "rdmascope");
    pthread_detach(thread);
}

void* Engine::Service::run(void* service) {
    static_cast<Service*>(service)->serve();
    return nullptr;
}

void Engine::Service::driven(Next next) {
    const std::int64_t for_ns = next == Next::polls_again ? after_nothing_ns : after_something_ns;
    driven_until_ns_.store(now_ns() + for_ns, std::memory_order_relaxed);
}

void Engine::Service::take_over() {
    driven_until_ns_.store(0, std::memory_order_relaxed);
    if (!resting_.load(std::memory_order_relaxed)) return;
    const std::uint64_t one = 1;
    static_cast<void>(!write(wake_, &one, sizeof one));
}

bool Engine::Service::program_drives() const { return now_ns() < driven_until_ns_.load(std::memory_order_relaxed); }

void Engine::Service::give_way() {
    std::int64_t rest_ns = shortest_rest_ns;
    while (program_drives()) {
        pollfd woken{wake_, POLLIN, 0};
        const timespec rest{0, rest_ns};
        resting_.store(true, std::memory_order_relaxed);
        const int found = ppoll(&woken, 1, &rest, nullptr);
        resting_.store(false, std::memory_order_relaxed);
        std::uint64_t count = 0;
        if (found > 0) static_cast<void>(!read(wake_, &count, sizeof count));
        rest_ns = std::min(2 * rest_ns, longest_rest_ns);
    }
}

void Engine::Service::serve() {
    while (true) {
        pollfd readable{descriptor_, POLLIN, 0};
        if (poll(&readable, 1, -1) < 0 && errno != EINTR) return;
        give_way();
        const Lock::Hold hold(engine_.lock_);
        engine_.turn();
    }
}

}  // namespace iwarp::preload
