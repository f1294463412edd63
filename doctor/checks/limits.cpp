#include <fmt/core.h>

#include "base/quantities.h"
#include "base/shell_word.h"
#include "doctor/checks/check.h"
#include "doctor/strings.h"

namespace doctor::inline checks {

namespace {

/// Below this not even the queues of a few queue pairs fit; above, it is a matter of what programs register.
constexpr std::uint64_t tight = std::uint64_t{1} << 20;

constexpr std::string_view remedy =
    "printf '* soft memlock unlimited\\n* hard memlock unlimited\\n' > /etc/security/limits.d/rdma.conf  # and log in "
    "again; for a service: LimitMEMLOCK=infinity";

}  // namespace

void check_memlock(const Inventory& machine, Report& report) {
    if (!machine.limits.seen)
        return report.add(Severity::unseen, {}, "/proc/self/limits cannot be read", {}, "ulimit -l");
    if (!machine.limits.memlock) return report.fine("unlimited");
    const std::uint64_t octets = *machine.limits.memlock;
    const std::string size = base::format_exact_size(octets);
    // Root's CAP_IPC_LOCK lifts the limit for itself; the users' programs have it all the same.
    const Severity severity = machine.limits.exempt ? Severity::note : Severity::warning;
    report.add(
        octets < tight ? Severity::warning : severity, "RLIMIT_MEMLOCK",
        octets < tight
            ? fmt::format("{}: creating completion queues and queue pairs fails, not only registering memory", size)
            : fmt::format("{} can be locked: registering more (ibv_reg_mr) fails with ENOMEM{}", size,
                          machine.limits.exempt ? "; this process has CAP_IPC_LOCK, and is exempt" : ""),
        "unlimited, or what programs register", std::string(remedy));
}

void check_memlock_configured(const Inventory& machine, Report& report) {
    for (const LimitLine& line : machine.limits.configured)
        if (line.octets)
            report.add(*line.octets < tight ? Severity::warning : Severity::note, line.file,
                       fmt::format("`{}`: {}", line.text, base::format_exact_size(*line.octets)),
                       "unlimited, where RDMA programs run", "sudoedit " + base::shell_word(line.file));
    report.fine("nothing there limits it");
}

}  // namespace doctor::checks
