#include "cli/signals.h"

#include <array>

namespace cli {

volatile std::sig_atomic_t Signals::stop_requested = 0;
volatile std::sig_atomic_t Signals::report_requested = 0;
volatile std::sig_atomic_t Signals::flush_requested = 0;

namespace {

constexpr std::array handled{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
constexpr std::size_t ending = 3;  ///< the first signals of the list ask for the end

/// Returns what was there before.
struct sigaction install(int number, void (*handler)(int), int flags) {
    struct sigaction old = {};
    ::sigaction(number, nullptr, &old);
    // SIGHUP stays ignored under nohup(1). A shell without job control starts background programs with SIGINT ignored,
    // so that ^C does not end them. A script that sends SIGINT wants the end, so SIGINT is handled, as in tcpdump.
    if (number == SIGHUP && old.sa_handler == SIG_IGN) return old;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
    return old;
}

}  // namespace

Signals::Signals() {
    stop_requested = 0;
    report_requested = 0;
    flush_requested = 0;
    for (std::size_t i = 0; i < handled.size(); ++i)
        old_[i] = install(handled[i], on_signal, i < ending ? static_cast<int>(SA_RESETHAND) : 0);
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &old_pipe_);
}

Signals::~Signals() {
    for (std::size_t i = 0; i < handled.size(); ++i) ::sigaction(handled[i], &old_[i], nullptr);
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
