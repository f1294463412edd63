#pragma once
#include <array>
#include <csignal>

namespace cli {

/// The requests that a user may send to a running capture by signal. One object at a time; the destructor restores the
/// signals.
///
/// SIGINT, SIGTERM and SIGHUP ask for a clean end; a second one ends the program at once, in case it hangs in a read.
/// SIGUSR1 asks for the counts, SIGUSR2 for buffered data to be written. SIGPIPE is ignored: a failed write shows it.
class Signals {
public:
    Signals();
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    static bool stop() { return stop_requested != 0; }
    static bool pending() { return report_requested != 0 || flush_requested != 0; }
    static bool take_report() { return take(report_requested); }
    static bool take_flush() { return take(flush_requested); }

    /// Ends the program by SIGPIPE, as other programs end whose reader has gone, unless the parent ignored that signal.
    void end_by_broken_pipe() const;

private:
    static bool take(volatile std::sig_atomic_t& flag) {
        const bool was = flag != 0;
        if (was) flag = 0;
        return was;
    }
    static void on_signal(int number);

    static volatile std::sig_atomic_t stop_requested;
    static volatile std::sig_atomic_t report_requested;
    static volatile std::sig_atomic_t flush_requested;

    std::array<struct sigaction, 5> old_ = {};
    struct sigaction old_pipe_ = {};
};

}  // namespace cli
