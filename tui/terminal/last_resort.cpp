#include "tui/terminal/last_resort.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <unistd.h>

namespace tui::inline terminal {

namespace {

constexpr std::array faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// For signal handlers: nothing here is allocated.
int terminal_descriptor = -1;
termios settings{};
std::array<char, 256> leave_text{};
std::size_t farewell_size = 0;
std::terminate_handler next_handler = nullptr;

void give_back() {
    if (terminal_descriptor < 0) return;
    static_cast<void>(!::write(terminal_descriptor, leave_text.data(), farewell_size));
    ::tcsetattr(terminal_descriptor, TCSANOW, &settings);
    terminal_descriptor = -1;
}

void on_fault(int number) {
    give_back();
    std::signal(number, SIG_DFL);
    ::raise(number);
}

[[noreturn]] void on_terminate() {
    give_back();  // so that what is said of the exception can be read
    if (next_handler != nullptr) next_handler();
    std::abort();
}

void change(void (*from)(int), void (*to)(int)) {
    for (const int number : faults) {
        struct sigaction action = {};
        if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != from) continue;
        action = {};
        action.sa_handler = to;
        sigemptyset(&action.sa_mask);
        ::sigaction(number, &action, nullptr);
    }
}

}  // namespace

LastResort::LastResort(int descriptor, const termios& before, std::string_view leave) {
    settings = before;
    farewell_size = std::min(leave.size(), leave_text.size());
    std::copy_n(leave.begin(), farewell_size, leave_text.begin());
    terminal_descriptor = descriptor;
    change(SIG_DFL, on_fault);
    next_handler = std::set_terminate(on_terminate);
}

LastResort::~LastResort() {
    terminal_descriptor = -1;
    std::set_terminate(next_handler);
    change(on_fault, SIG_DFL);
}

}  // namespace tui::terminal
