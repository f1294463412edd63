#pragma once
#include "base/descriptor.h"

namespace tui::inline terminal {

/// The signals of job control and of a window that changes its size, while a screen is up. One at a time; the
/// destructor gives them back. Signals that were ignored before stay so.
class TerminalSignals {
public:
    TerminalSignals();
    ~TerminalSignals();
    TerminalSignals(const TerminalSignals&) = delete;
    TerminalSignals& operator=(const TerminalSignals&) = delete;

    struct Said {
        bool resized = false;
        bool stop = false;       ///< SIGTSTP, of somebody else than the keyboard
        bool continued = false;  ///< the process had been stopped: others may have used the terminal
    };
    /// Readable when something has been said.
    int descriptor() const { return descriptor_.number(); }
    /// What was said since the last call.
    Said take();

    /// Stops the process group, as the keyboard would; returns when it goes on. False where stopping is ignored.
    bool stop();

private:
    base::Descriptor descriptor_;
};

}  // namespace tui::terminal
