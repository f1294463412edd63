#include "tui/terminal/terminal_signals.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tui::inline terminal {

namespace {

constexpr std::array numbers{SIGWINCH, SIGTSTP, SIGCONT};
std::array<struct sigaction, numbers.size()> previous_actions{};
std::array<volatile std::sig_atomic_t, numbers.size()> said{};
volatile std::sig_atomic_t event_descriptor = -1;

void on_signal(int number) {
    const int error = errno;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] == number) said[i] = 1;
    // Whichever thread it interrupts, the one that waits is woken.
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event_descriptor, &one, sizeof one));
    errno = error;
}

bool take_one(std::size_t index) {
    const bool was = said[index] != 0;
    said[index] = 0;
    return was;
}

void handle(int number, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
}

}  // namespace

TerminalSignals::TerminalSignals() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    event_descriptor = descriptor();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        said[i] = 0;
        ::sigaction(numbers[i], nullptr, &previous_actions[i]);
        if (previous_actions[i].sa_handler != SIG_IGN) handle(numbers[i], on_signal);
    }
}

TerminalSignals::~TerminalSignals() {
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &previous_actions[i], nullptr);
    event_descriptor = -1;
}

TerminalSignals::Said TerminalSignals::take() {
    std::uint64_t count = 0;
    static_cast<void>(!::read(descriptor(), &count, sizeof count));
    return {take_one(0), take_one(1), take_one(2)};
}

bool TerminalSignals::stop() {
    if (previous_actions[1].sa_handler == SIG_IGN) return false;
    handle(SIGTSTP, SIG_DFL);
    ::kill(0, SIGTSTP);
    handle(SIGTSTP, on_signal);
    return true;
}

}  // namespace tui::terminal
