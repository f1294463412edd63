#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/subnet.h"

namespace fabric::findings {

/// What is wrong, or what changed. docs/fabric.md lists the names.
enum class FindingKind : std::uint8_t {
    no_manager,
    two_managers,
    manager_handover,
    lid_twice,
    link_inactive,
    width_degraded,
    speed_degraded,
    symbol_errors,
    link_recoveries,
    link_downed,
    receive_errors,
    integrity_errors,
    buffer_overruns,
    discards,
    congestion,
    p_key_violations,
    q_key_violations,
    management_drops,
    unanswered,
    node_lost,
    node_new,
    link_lost,
    link_new,
    rate_changed,
    lid_changed,
};
/// "width_degraded".
std::string_view name_of(FindingKind kind);

/// How bad, and how sure.
enum class Grade : std::uint8_t {
    note,       ///< a change that may be intended
    suspected,  ///< a counter that is not 0; when it grew is not known
    minor,
    wrong,
};
std::string_view name_of(Grade grade);

struct CounterEvidence {
    Counter counter{};
    std::uint64_t value = 0;                  ///< since the last reset
    bool at_limit = false;                    ///< the counter stopped there: there were more
    std::optional<std::uint64_t> grown = {};  ///< between the two readings
};

struct Finding {
    FindingKind kind{};
    Grade grade = Grade::suspected;
    std::optional<PortId> at = {};    ///< number 0: the node itself
    std::optional<PortId> peer = {};  ///< the other end of the link
    std::string observed = {};        ///< what was seen, without the names of the ends
    std::string advice = {};
    std::vector<CounterEvidence> evidence = {};
};

/// The worst grade; no value if there is no finding.
std::optional<Grade> worst_of(const std::vector<Finding>& findings);

/// The worst first; of one grade, those of one kind together.
void sort_findings(std::vector<Finding>& findings);

/// What is wrong with a subnet, the worst first. If its ports have two readings of counters, what grew between them is
/// judged, else what stands in them.
std::vector<Finding> find_problems(const Subnet& subnet);

/// What differs between an earlier and a later reading of the subnet, and which counters grew.
std::vector<Finding> find_changes(const Subnet& before, const Subnet& after);

}  // namespace fabric::findings
