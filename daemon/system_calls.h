#pragma once
#include "base/error.h"

namespace service {

/// From here on, this thread and the threads that it starts may use the system calls that the daemon needs, and no
/// others: no program can be started, no other process traced, nothing mounted, no module loaded. A call that is not on
/// the list fails with EPERM. Cannot be undone; needs no_new_privs. In builds with sanitizers it does nothing, because
/// they need calls of their own.
base::Result<void> restrict_system_calls();

/// Whether this build restricts them.
bool restricts_system_calls();

}  // namespace service
