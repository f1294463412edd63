#pragma once
#include <string>
#include <vector>

namespace service {

/// Right after everything is open: becomes `user` (where not empty) and keeps of root's power only what capturing needs
/// when interfaces come back: CAP_NET_RAW, and CAP_BPF and CAP_PERFMON where `trace_points`. Bounding and ambient sets
/// are cut too, and no_new_privs is set. Returns why it could not; else empty. Does nothing where there is nothing to
/// drop.
std::string drop_privileges(const std::string& user, bool trace_points);

/// "cap_net_raw", ...: the effective set, for the log and for tests.
std::vector<std::string> effective_capabilities();

}  // namespace service
