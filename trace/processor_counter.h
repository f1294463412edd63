#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#elif defined(__aarch64__)
#include <atomic>
#endif

namespace trace {

/// The counter that every processor of a machine can read without the kernel. `clock_source` is the kernel's name for
/// it in /sys/devices/system/clocksource; if the kernel uses another one, the counter cannot be trusted. Call `prepare`
/// once before `read`.
#if defined(__x86_64__)
struct ProcessorCounter {
    static constexpr char clock_source[] = "tsc";
    static void prepare() {}
    static std::uint64_t read() { return __rdtsc(); }
};
#elif defined(__aarch64__)
struct ProcessorCounter {
    static constexpr char clock_source[] = "arch_sys_counter";
    static void prepare() {
        constexpr std::uint64_t ticks_per_sec = 1'000'000'000;
        std::uint64_t frequency = 0;
        asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
        unsigned bits = 0;
        while (frequency != 0 && frequency << (bits + 1) <= ticks_per_sec) ++bits;
        shift_.store(bits, std::memory_order_relaxed);
    }
    /// Ticks of one to two nanoseconds, as those of x86-64 are: the counter itself has 20 MHz to 1 GHz.
    static std::uint64_t read() {
        std::uint64_t ticks = 0;
        asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks << shift_.load(std::memory_order_relaxed);
    }

private:
    static inline std::atomic<unsigned> shift_ = 0;
};
#else
struct ProcessorCounter {
    static constexpr char clock_source[] = "";
    static void prepare() {}
    static std::uint64_t read() { return 0; }  // a CounterClock then reads the system's clock
};
#endif

}  // namespace trace
