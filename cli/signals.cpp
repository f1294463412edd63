#include "cli/signals.h"

#include <array>

namespace cli {

volatile std::sig_atomic_t Signals::stop_requested = 0;
volatile std::sig_atomic_t Signals::report_requested = 0;
volatile std::sig_atomic_t Signals::flush_requested = 0;

namespace {

constexpr std::array ending{SIGINT, SIGTERM, SIGHUP};
constexpr std::array asking{SIGUSR1, SIGUSR2};

void install(int number, void (*handler)(int), int flags) {
    struct sigaction old = {};
    // A background job of a shell without job control has SIGINT ignored, nohup SIGHUP: they stay so.
    if (::sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) return;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
}

}  // namespace

Signals::Signals() {
    stop_requested = 0;
    report_requested = 0;
    flush_requested = 0;
    for (const int number : ending) install(number, on_signal, static_cast<int>(SA_RESETHAND));
    for (const int number : asking) install(number, on_signal, 0);
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &old_pipe_);
}

Signals::~Signals() {
    for (const int number : ending) install(number, SIG_DFL, 0);
    for (const int number : asking) install(number, SIG_DFL, 0);
    ::sigaction(SIGPIPE, &old_pipe_, nullptr);
}

void Signals::on_signal(int number) {
    if (number == SIGUSR1)
        report_requested = 1;
    else if (number == SIGUSR2)
        flush_requested = 1;
    else
        stop_requested = 1;
}

void Signals::end_by_broken_pipe() const {
    if (old_pipe_.sa_handler == SIG_IGN) return;
    ::sigaction(SIGPIPE, &old_pipe_, nullptr);
    ::raise(SIGPIPE);
}

}  // namespace cli
