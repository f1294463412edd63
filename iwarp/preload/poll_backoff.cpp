#include "iwarp/preload/poll_backoff.h"

#include <algorithm>
#include <ctime>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include "iwarp/preload/service_thread.h"

namespace iwarp::preload {
namespace {

constexpr unsigned first_look = 32;  ///< polls that found nothing: about as long as an answer takes
constexpr unsigned between_looks = 64;
constexpr unsigned before_sleep = 2;
constexpr long sleep_ns = 50'000;  ///< and what the system adds to it, by default as much again
/// A system call takes less, another thread's share of the processor more.
constexpr std::int64_t long_yield_ns = 20'000;
/// A look at contention costs a share of the processor.
constexpr std::int64_t shortest_contention_ns = 50'000'000;
constexpr std::int64_t longest_contention_ns = 1'000'000'000;

/// How often another thread has had this one's processor.
long times_switched() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw + usage.ru_nvcsw;
}

}  // namespace

// Time that passes while no other thread runs is time of this virtual machine's host, and means nothing.
void PollBackoff::look(std::int64_t now_ns) {
    const long before = times_switched();
    sched_yield();
    const std::int64_t then_ns = clock_ns();
    if (then_ns - now_ns < long_yield_ns || times_switched() == before) {
        look_again_after_ns_ = 0;
        return;
    }
    look_again_after_ns_ = std::clamp(2 * look_again_after_ns_, shortest_contention_ns, longest_contention_ns);
    contended_until_ns_ = then_ns + look_again_after_ns_;
}

void PollBackoff::found_nothing(int descriptor) {
    if (++empty_polls_ < before_sleep) return;
    const std::int64_t now_ns = clock_ns();
    if (now_ns < contended_until_ns_) {
        pollfd octets{descriptor, POLLIN, 0};
        const timespec time{0, sleep_ns};
        ppoll(&octets, 1, &time, nullptr);
        return;
    }
    if (empty_polls_ >= first_look && (empty_polls_ - first_look) % between_looks == 0) look(now_ns);
}

PollBackoff& this_threads_backoff() {
    thread_local PollBackoff backoff;
    return backoff;
}

}  // namespace iwarp::preload
