#include "cli/dump/signals.h"

#include <array>

namespace cli::dump {

volatile std::sig_atomic_t Signals::stop_ = 0;
volatile std::sig_atomic_t Signals::report_ = 0;
volatile std::sig_atomic_t Signals::flush_ = 0;

namespace {

constexpr std::array ENDING{SIGINT, SIGTERM, SIGHUP};
constexpr std::array ASKING{SIGUSR1, SIGUSR2};

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
    stop_ = 0;
    report_ = 0;
    flush_ = 0;
    for (const int number : ENDING) install(number, on_signal, static_cast<int>(SA_RESETHAND));
    for (const int number : ASKING) install(number, on_signal, 0);
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &old_pipe_);
}

Signals::~Signals() {
    for (const int number : ENDING) install(number, SIG_DFL, 0);
    for (const int number : ASKING) install(number, SIG_DFL, 0);
    ::sigaction(SIGPIPE, &old_pipe_, nullptr);
}

void Signals::on_signal(int number) {
    if (number == SIGUSR1)
        report_ = 1;
    else if (number == SIGUSR2)
        flush_ = 1;
    else
        stop_ = 1;
}

void Signals::end_by_broken_pipe() const {
    if (old_pipe_.sa_handler == SIG_IGN) return;
    ::sigaction(SIGPIPE, &old_pipe_, nullptr);
    ::raise(SIGPIPE);
}

}  // namespace cli::dump
