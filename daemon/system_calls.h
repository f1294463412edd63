#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"

namespace service {

/// From here on, this thread and the threads that it starts may use the system calls that the daemon needs, and no
/// others: no program can be started, no other process traced, nothing mounted, no module loaded. A call that is not on
/// the list fails with EPERM. Cannot be undone; needs no_new_privs. In builds with sanitizers it does nothing, because
/// they need calls of their own.
base::Result<void> restrict_system_calls();

/// The same, with a thread that answers the calls that are refused: so it is known which the list lacks. The threads of
/// the process that exist already are not restricted.
class SystemCallFilter {
public:
    /// Gets the name of a call when the call is refused for the first time, on a thread of its own.
    using Report = std::function<void(const std::string& call)>;

    /// Where the kernel cannot tell which calls it refuses (before Linux 5.0, or under a filter that asks for it too),
    /// the calls are refused all the same.
    static base::Result<std::unique_ptr<SystemCallFilter>> install(Report report);
    /// Calls go on being refused, with ENOSYS.
    ~SystemCallFilter();
    SystemCallFilter(const SystemCallFilter&) = delete;
    SystemCallFilter& operator=(const SystemCallFilter&) = delete;

private:
    struct State;
    explicit SystemCallFilter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Whether this build restricts them.
bool restricts_system_calls();

}  // namespace service
