#pragma once
#include <csignal>

namespace base {

/// Blocks all signals for the calling thread while it exists. A thread that starts meanwhile inherits the mask: other
/// threads wait for signals.
class SignalBlock {
public:
    SignalBlock() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &former_);
    }
    ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
    SignalBlock(const SignalBlock&) = delete;
    SignalBlock& operator=(const SignalBlock&) = delete;

private:
    sigset_t former_{};
};

}  // namespace base
