// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/guard.h"

#include <atomic>

#include "plugins/wireshark/compat.h"
// After compat.h.
#include <wsutil/report_message.h>

namespace plugins::wireshark {

void report_failure_once(const char* what, const char* reason) {
    static std::atomic<bool> reported = false;
    if (!reported.exchange(true)) report_failure("rdmascope: the plugin's %s failed: %s", what, reason);
}

}  // namespace plugins::wireshark
