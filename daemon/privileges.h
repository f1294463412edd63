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

/// The rights needed in addition to CAP_NET_RAW, which every daemon keeps to open interfaces that come back.
struct Rights {
    bool trace_points = false;      ///< CAP_BPF and CAP_PERFMON
    bool everybodys_files = false;  ///< CAP_DAC_READ_SEARCH: the rings of others' programs
};

/// Call this right after everything is open, and before the first thread starts (a thread has capabilities of its own).
/// Becomes `user` with its groups (if not empty). Keeps of root's rights only CAP_NET_RAW and those that `rights`
/// names, if they are there; permitted and effective, not inheritable. The ambient set is emptied, and the bounding set
/// if that is permitted; no_new_privs is set. A process without root loses its other capabilities (file or ambient
/// ones). After a failure the process may have lost a part, and should end.
base::Result<void> drop_privileges(const std::string& user, const Rights& rights);

/// "cap_net_raw", ...: the effective set, for the log and for tests.
std::vector<std::string> effective_capabilities();

}  // namespace service
