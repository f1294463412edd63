#include "tests/fuzz/driver.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

#include "tests/support/sanitized.h"

extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*)());

namespace fuzz {

namespace {

void (*leave_last)() = nullptr;

void die(int number) {
    leave_last();
    _exit(128 + number);
}

}  // namespace

void on_death(void (*leave)()) {
    leave_last = leave;
    std::signal(SIGABRT, die);
    if constexpr (support::sanitized) {
        // The other signals are the sanitizer's.
        __sanitizer_set_death_callback(leave);
    } else {
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, die);
    }
}

std::uint64_t number_of(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

Shard shard_of(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return {number_of(text), 1};
    return {number_of(text.substr(0, slash)), std::max<std::size_t>(1, number_of(text.substr(slash + 1)))};
}

std::uint64_t wished_mutations() {
    const char* const wish = std::getenv("RDMASCOPE_MUTATIONS");
    return wish != nullptr ? number_of(wish) : 400'000;
}

}  // namespace fuzz
