#include "fabric/findings/subnet_finding.h"

#include <algorithm>

namespace fabric::findings {

std::string_view name_of(FindingKind kind) {
    switch (kind) {
        case FindingKind::no_manager: return "no_manager";
        case FindingKind::two_managers: return "two_managers";
        case FindingKind::manager_handover: return "manager_handover";
        case FindingKind::lid_twice: return "lid_twice";
        case FindingKind::link_inactive: return "link_inactive";
        case FindingKind::width_degraded: return "width_degraded";
        case FindingKind::speed_degraded: return "speed_degraded";
        case FindingKind::symbol_errors: return "symbol_errors";
        case FindingKind::link_recoveries: return "link_recoveries";
        case FindingKind::link_downed: return "link_downed";
        case FindingKind::receive_errors: return "receive_errors";
        case FindingKind::integrity_errors: return "integrity_errors";
        case FindingKind::buffer_overruns: return "buffer_overruns";
        case FindingKind::discards: return "discards";
        case FindingKind::congestion: return "congestion";
        case FindingKind::p_key_violations: return "p_key_violations";
        case FindingKind::q_key_violations: return "q_key_violations";
        case FindingKind::management_drops: return "management_drops";
        case FindingKind::unanswered: return "unanswered";
        case FindingKind::node_lost: return "node_lost";
        case FindingKind::node_new: return "node_new";
        case FindingKind::link_lost: return "link_lost";
        case FindingKind::link_new: return "link_new";
        case FindingKind::rate_changed: return "rate_changed";
        case FindingKind::lid_changed: return "lid_changed";
    }
    return {};
}

std::string_view name_of(Grade grade) {
    switch (grade) {
        case Grade::note: return "note";
        case Grade::suspected: return "suspected";
        case Grade::minor: return "minor";
        case Grade::wrong: return "wrong";
    }
    return {};
}

std::optional<Grade> worst_of(const std::vector<Finding>& findings) {
    const auto worst = std::ranges::max_element(findings, {}, &Finding::grade);
    return worst == findings.end() ? std::nullopt : std::optional(worst->grade);
}

void sort_findings(std::vector<Finding>& findings) {
    std::ranges::stable_sort(findings, [](const Finding& one, const Finding& other) {
        return one.grade != other.grade ? one.grade > other.grade : one.kind < other.kind;
    });
}

}  // namespace fabric::findings
