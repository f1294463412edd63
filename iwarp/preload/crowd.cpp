#include "iwarp/preload/crowd.h"

#include <algorithm>
#include <ctime>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "iwarp/preload/service.h"

namespace iwarp::preload {
namespace {

constexpr unsigned first_look = 32;  ///< polls in vain: about as long as an answer takes
constexpr unsigned between_looks = 64;
constexpr unsigned before_sleep = 2;
constexpr long sleep_ns = 50'000;  ///< and what the system adds to it, by default as much again
/// A system call takes less, another thread's share of the processor more.
constexpr std::int64_t long_yield_ns = 20'000;
/// A look at a crowd costs a share of the processor.
constexpr std::int64_t shortest_crowd_ns = 50'000'000;
constexpr std::int64_t longest_crowd_ns = 1'000'000'000;

/// How often another thread has had this one's processor.
long times_switched() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw + usage.ru_nvcsw;
}

}  // namespace

// Time that passes without another thread's turn is the host's of this virtual machine, and tells nothing.
void Crowd::look(std::int64_t now_ns) {
    const long before = times_switched();
    sched_yield();
    const std::int64_t then_ns = base::steady_ns();
    if (then_ns - now_ns < long_yield_ns || times_switched() == before) {
        look_again_after_ns_ = 0;
        return;
    }
    look_again_after_ns_ = std::clamp(2 * look_again_after_ns_, shortest_crowd_ns, longest_crowd_ns);
    crowded_until_ns_ = then_ns + look_again_after_ns_;
}

void Crowd::found_nothing(int descriptor) {
    if (++in_vain_ < before_sleep) return;
    const std::int64_t now_ns = base::steady_ns();
    if (now_ns < crowded_until_ns_) {
        pollfd octets{descriptor, POLLIN, 0};
        const timespec time{0, sleep_ns};
        ppoll(&octets, 1, &time, nullptr);
        return;
    }
    if (in_vain_ >= first_look && (in_vain_ - first_look) % between_looks == 0) look(now_ns);
}

Crowd& this_threads_crowd() {
    thread_local Crowd crowd;
    return crowd;
}

}  // namespace iwarp::preload
