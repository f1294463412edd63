#pragma once
#include "base/descriptor.h"

namespace tui::inline terminal {

/// The signals of job control and of changes of the window's size, while a screen is shown. One object at a time; the
/// destructor restores them. Signals that were ignored before stay ignored.
class TerminalSignals {
public:
    TerminalSignals();
    ~TerminalSignals();
    TerminalSignals(const TerminalSignals&) = delete;
    TerminalSignals& operator=(const TerminalSignals&) = delete;

    struct Said {
        bool resized = false;
        bool stop = false;       ///< SIGTSTP that does not come from the keyboard
        bool continued = false;  ///< the process had been stopped: other programs may have used the terminal
    };
    /// Readable after a signal.
    int descriptor() const { return descriptor_.number(); }
    /// The signals since the last call.
    Said take();

    /// Stops the process group, as the keyboard would; returns when it continues. False if stopping is ignored.
    bool stop();

private:
    base::Descriptor descriptor_;
};

}  // namespace tui::terminal
