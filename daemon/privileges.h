#pragma once
#include <string>
#include <vector>

namespace service {

/// Right after everything is open, and before the first thread is started (a thread has capabilities of its own):
/// becomes `user` with its groups (where not empty) and keeps of root's power only what capturing needs when interfaces
/// come back: CAP_NET_RAW, and CAP_BPF and CAP_PERFMON where `trace_points`, as far as they are there; permitted and
/// effective, not inheritable. Ambient set, and bounding set where that is permitted, are emptied, and no_new_privs is
/// set. Who is not root loses what else it was given (file or ambient capabilities). Returns why it could not, and what
/// to do; else empty. On failure the process may have lost a part, and ought to end.
std::string drop_privileges(const std::string& user, bool trace_points);

/// "cap_net_raw", ...: the effective set, for the log and for tests.
std::vector<std::string> effective_capabilities();

}  // namespace service
