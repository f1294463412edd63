#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/error.h"

namespace service {

struct Account {
    uid_t user = 0;
    gid_t group = 0;
};
/// Fails with what to do if there is no such account.
base::Result<Account> find_account(const std::string& user);

/// What is needed beyond CAP_NET_RAW, without which no interface that comes back can be opened.
struct Rights {
    bool trace_points = false;      ///< CAP_BPF and CAP_PERFMON
    bool everybodys_files = false;  ///< CAP_DAC_READ_SEARCH: the rings of others' programs
};

/// Right after everything is open, and before the first thread is started (a thread has capabilities of its own):
/// becomes `user` with its groups (where not empty) and keeps of root's power only CAP_NET_RAW and what `rights` name,
/// as far as it is there; permitted and effective, not inheritable. Ambient set, and bounding set where that is
/// permitted, are emptied, and no_new_privs is set. Who is not root loses what else it was given (file or ambient
/// capabilities). On failure the process may have lost a part, and ought to end.
base::Result<void> drop_privileges(const std::string& user, const Rights& rights);

/// "cap_net_raw", ...: the effective set, for the log and for tests.
std::vector<std::string> effective_capabilities();

}  // namespace service
