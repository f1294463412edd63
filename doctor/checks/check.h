#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/inventory/inventory.h"

namespace doctor::inline checks {

/// The severity of a finding.
enum class Severity : std::uint8_t {
    not_applicable,  ///< the machine does not have what the check is about: no device, no library
    ok,              ///< checked, and as it should be
    unseen,          ///< cannot be determined from here; the command shows it
    note,            ///< worth knowing; no harm
    warning,         ///< works worse, or will not work for some users
    broken,          ///< RDMA does not work on the named device or file
};
std::string_view name_of(Severity severity);

struct Finding {
    std::string_view check;  ///< the row's id
    Severity severity = Severity::ok;
    std::string subject = {};  ///< what it is about: a device, a file; may be empty
    std::string observed = {};
    std::string expected = {};
    std::string command = {};  ///< that repairs it, or shows more; empty if absent
};

/// Collects what checks report.
class Report {
public:
    /// Sets the row that reports from now on.
    void begin(std::string_view check) {
        check_ = check;
        quiet_ = true;
    }
    void add(Severity severity, std::string subject, std::string observed, std::string expected = {},
             std::string command = {});
    /// `ok`, unless the row has reported anything else.
    void fine(std::string observed);
    /// `not_applicable`, unless the row has reported anything else.
    void not_applicable(std::string reason);
    /// `fine` of devices; `not_applicable` if the machine has no devices.
    void fine_devices(const Inventory& machine, std::string observed);
    std::size_t count(Severity severity) const;
    std::vector<Finding> take() { return std::exchange(findings_, {}); }

private:
    std::string_view check_ = {};
    bool quiet_ = true;
    std::vector<Finding> findings_ = {};
};

/// A row of the table of checks. `run` uses only the inventory.
struct Check {
    std::string_view id;        ///< "provider.abi"; scripts identify the check by it
    std::string_view title;     ///< the question, in a few words
    Severity worst;             ///< that it can report
    std::string_view evidence;  ///< the source of the answer
    void (*run)(const Inventory& machine, Report& report);
};

std::span<const Check> all_checks();

/// Every check's findings: the worst first, else in the order of the table.
std::vector<Finding> examine(const Inventory& machine);
/// `ok` if there are no findings.
Severity worst_of(std::span<const Finding> findings);
void sort_by_severity(std::vector<Finding>& findings);

// The rows' functions, by file.
void check_core(const Inventory& machine, Report& report);
void check_several_cores(const Inventory& machine, Report& report);
void check_library_files(const Inventory& machine, Report& report);
void check_library_versions(const Inventory& machine, Report& report);
void check_processes(const Inventory& machine, Report& report);
void check_ofed(const Inventory& machine, Report& report);
void check_headers(const Inventory& machine, Report& report);
void check_layout(const Inventory& machine, Report& report);

void check_provider_abi(const Inventory& machine, Report& report);
void check_provider_suffix(const Inventory& machine, Report& report);
void check_provider_missing(const Inventory& machine, Report& report);
void check_provider_undeclared(const Inventory& machine, Report& report);
void check_provider_kernel_abi(const Inventory& machine, Report& report);

void check_modules(const Inventory& machine, Report& report);
void check_adapters(const Inventory& machine, Report& report);
void check_foreign_modules(const Inventory& machine, Report& report);
void check_stale_modules(const Inventory& machine, Report& report);
void check_verbs_abi(const Inventory& machine, Report& report);
void check_taint(const Inventory& machine, Report& report);

void check_any_device(const Inventory& machine, Report& report);
void check_device_provider(const Inventory& machine, Report& report);
void check_device_nodes(const Inventory& machine, Report& report);
void check_cm_node(const Inventory& machine, Report& report);
void check_ports(const Inventory& machine, Report& report);

void check_memlock(const Inventory& machine, Report& report);
void check_memlock_configured(const Inventory& machine, Report& report);

void check_netdevs(const Inventory& machine, Report& report);
void check_mtu(const Inventory& machine, Report& report);
void check_gids(const Inventory& machine, Report& report);
void check_roce_mode(const Inventory& machine, Report& report);
void check_flow_control(const Inventory& machine, Report& report);
void check_ecn(const Inventory& machine, Report& report);
void check_pauses(const Inventory& machine, Report& report);

void check_tracefs(const Inventory& machine, Report& report);
void check_events(const Inventory& machine, Report& report);
void check_uprobes(const Inventory& machine, Report& report);
void check_btf(const Inventory& machine, Report& report);
void check_perf(const Inventory& machine, Report& report);
void check_capture_right(const Inventory& machine, Report& report);
void check_trace_right(const Inventory& machine, Report& report);
void check_clock(const Inventory& machine, Report& report);
void check_counters(const Inventory& machine, Report& report);

/// Bytes of payload in a packet that an Ethernet device's MTU leaves for RoCE: 256 to 4096, or 0 if no size fits
/// (Linux, include/rdma/ib_addr.h, iboe_get_mtu: 96 bytes of headers at most).
unsigned roce_mtu(std::uint64_t netdev_mtu);

}  // namespace doctor::checks
