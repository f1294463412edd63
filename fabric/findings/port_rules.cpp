#include "fabric/findings/port_rules.h"

#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "base/quantities.h"

namespace fabric::findings {

namespace {

constexpr std::string_view cable_advice =
    "reseat the cable at both ends, clean a fibre; if the counter grows again, replace the cable, then the port";
constexpr std::string_view partition_advice =
    "compare the P_Keys of the sender with the partitions that the subnet manager gives to both ends "
    "(smpquery pkeys, partitions.conf)";

/// A counter that should not grow.
struct CounterRule {
    Counter counter;
    FindingKind kind;
    Grade grade;  ///< if the counter grew between two readings
    std::string_view meaning;
    std::string_view advice;
};

constexpr std::array counter_rules{
    CounterRule{Counter::symbol_errors, FindingKind::symbol_errors, Grade::wrong, "bits were damaged on the link",
                cable_advice},
    CounterRule{Counter::link_recoveries, FindingKind::link_recoveries, Grade::wrong, "the link trained again",
                cable_advice},
    CounterRule{Counter::link_downed, FindingKind::link_downed, Grade::wrong, "the link went down",
                "ask why: a restart of the other end, a loose cable, or an operator"},
    CounterRule{Counter::receive_errors, FindingKind::receive_errors, Grade::wrong,
                "packets came damaged or could not be kept", cable_advice},
    CounterRule{Counter::integrity_errors, FindingKind::integrity_errors, Grade::wrong,
                "errors of the link came faster than the port permits", cable_advice},
    CounterRule{Counter::buffer_overruns, FindingKind::buffer_overruns, Grade::wrong,
                "the other end sent more than the credits permitted",
                "update the firmware of both ends; a sender that ignores credits is faulty"},
    CounterRule{Counter::transmit_discards, FindingKind::discards, Grade::wrong,
                "packets waited too long for the link, or the link was down",
                "look for congestion downstream: a slow receiver, a degraded link"},
    CounterRule{Counter::transmit_constraint_errors, FindingKind::p_key_violations, Grade::wrong,
                "the port held back packets whose P_Key is not in its table", partition_advice},
    CounterRule{Counter::receive_constraint_errors, FindingKind::p_key_violations, Grade::wrong,
                "packets came with a P_Key that is not in the port's table", partition_advice},
    CounterRule{Counter::vl15_dropped, FindingKind::management_drops, Grade::minor,
                "management datagrams were dropped for lack of buffers",
                "ask less at a time: fewer subnet managers and monitors, or --parallel 2"},
};

/// Ticks waited for each 4 bytes sent, from which on a port counts as congested.
constexpr double congested_ticks_per_word = 0.1;
constexpr double bytes_per_word = 4;

/// What grew between two readings; without a second reading, what stands in the first.
struct Grown {
    CounterEvidence evidence;
    std::uint64_t amount = 0;
};

std::optional<Grown> grown(const Port& port, Counter counter) {
    const auto& latest = port.latest();
    if (!latest || !latest->value(counter)) return {};
    Grown result{{counter, *latest->value(counter), latest->is_at_limit(counter), {}}, 0};
    result.amount = result.evidence.value;
    if (port.counters && port.later_counters) {
        result.evidence.grown = growth(*port.counters, *port.later_counters, counter);
        // A counter that cannot grow any more says only that it once did.
        result.amount = result.evidence.grown.value_or(result.evidence.at_limit ? result.evidence.value : 0);
    }
    return result;
}

std::string amount_text(const CounterEvidence& evidence) {
    if (evidence.grown)
        return fmt::format("{} grew by {}", row_of(evidence.counter).label, base::group_digits(*evidence.grown));
    return fmt::format("{} is {}{}", row_of(evidence.counter).label, base::group_digits(evidence.value),
                       evidence.at_limit ? ", its limit" : "");
}

Finding finding_at(const LinkEnd& end, const LinkEnd& peer, FindingKind kind, Grade grade) {
    Finding finding;
    finding.kind = kind;
    finding.grade = grade;
    finding.at = end.id();
    finding.peer = peer.id();
    return finding;
}

void judge_counter(const CounterRule& rule, const LinkEnd& end, const LinkEnd& peer, std::vector<Finding>& into) {
    const auto found = grown(*end.port, rule.counter);
    if (!found || found->amount == 0) return;
    Finding finding = finding_at(end, peer, rule.kind, found->evidence.grown ? rule.grade : Grade::suspected);
    finding.observed = fmt::format("{}: {}", amount_text(found->evidence), rule.meaning);
    finding.advice = rule.advice;
    finding.evidence = {found->evidence};
    into.push_back(std::move(finding));
}

void judge_waiting(const LinkEnd& end, const LinkEnd& peer, std::vector<Finding>& into) {
    const auto waited = grown(*end.port, Counter::transmit_wait);
    const auto sent = grown(*end.port, Counter::transmit_bytes);
    if (!waited || !sent || waited->amount == 0) return;
    const double words = static_cast<double>(sent->amount) / bytes_per_word;
    if (static_cast<double>(waited->amount) < words * congested_ticks_per_word) return;
    Finding finding =
        finding_at(end, peer, FindingKind::congestion, waited->evidence.grown ? Grade::minor : Grade::suspected);
    finding.observed = fmt::format("{}, {} sent: packets waited for credits of the other end",
                                   amount_text(waited->evidence), base::format_size(static_cast<double>(sent->amount)));
    finding.advice =
        "follow the link towards its other end until a port waits no more: that port's receiver, or its degraded link, "
        "is the bottleneck";
    finding.evidence = {waited->evidence, sent->evidence};
    into.push_back(std::move(finding));
}

/// PortInfo counts the violations of keys, and is read once.
void judge_keys(const LinkEnd& end, const LinkEnd& peer, std::vector<Finding>& into) {
    const KeyViolations& violations = end.port->violations;
    if (violations.p_key != 0) {
        Finding finding = finding_at(end, peer, FindingKind::p_key_violations, Grade::suspected);
        finding.observed =
            fmt::format("P_KeyViolations is {}: packets came with a P_Key that is not in the port's table",
                        base::group_digits(violations.p_key));
        finding.advice = partition_advice;
        into.push_back(std::move(finding));
    }
    if (violations.q_key != 0) {
        Finding finding = finding_at(end, peer, FindingKind::q_key_violations, Grade::suspected);
        finding.observed =
            fmt::format("Q_KeyViolations is {}: datagrams came with a Q_Key that their queue pair does not have",
                        base::group_digits(violations.q_key));
        finding.advice = "a program sends to a queue pair that was made again: let it resolve its peer again";
        into.push_back(std::move(finding));
    }
}

/// What one of the two properties of a link's rate is, and could be.
struct Degradation {
    FindingKind kind{};
    bool is_degraded = false;    ///< less than both ends support
    bool is_configured = false;  ///< as much as both ends are configured for
    std::string observed = {};
};

Degradation judge_width(const Link& link) {
    const WidthMask width = link.rate().width;
    const WidthMask best = link.best().width;
    const WidthMask enabled = greatest_width(link.from.port->widths_enabled & link.to.port->widths_enabled);
    return {FindingKind::width_degraded, lanes_of(width) < lanes_of(best), lanes_of(width) >= lanes_of(enabled),
            fmt::format("the link is {} wide, and both ends can {}", width_name(width), width_name(best))};
}

Degradation judge_speed(const Link& link) {
    const SpeedMask speed = link.rate().speed;
    const SpeedMask best = link.best().speed;
    const SpeedMask enabled = greatest_speed(link.from.port->speeds_enabled & link.to.port->speeds_enabled);
    return {FindingKind::speed_degraded, lane_bits_per_sec(speed) < lane_bits_per_sec(best),
            lane_bits_per_sec(speed) >= lane_bits_per_sec(enabled),
            fmt::format("the link runs at {}, and both ends can {}", speed_name(speed), speed_name(best))};
}

}  // namespace

void judge_counters(const LinkEnd& end, const LinkEnd& peer, std::vector<Finding>& into) {
    for (const CounterRule& rule : counter_rules) judge_counter(rule, end, peer, into);
    judge_waiting(end, peer, into);
    judge_keys(end, peer, into);
}

void judge_link(const Link& link, std::vector<Finding>& into) {
    if (!link.is_active()) {
        Finding finding = finding_at(link.from, link.to, FindingKind::link_inactive, Grade::wrong);
        finding.observed = "the cable is connected, and the link is not active: no subnet manager has configured it";
        finding.advice = "start a subnet manager (opensm), or read its log for these ports";
        into.push_back(std::move(finding));
    }
    if (!link.rate().known() || !link.best().known()) return;
    for (const Degradation& found : {judge_width(link), judge_speed(link)}) {
        if (!found.is_degraded) continue;
        Finding finding = finding_at(link.from, link.to, found.kind, found.is_configured ? Grade::minor : Grade::wrong);
        finding.observed = found.observed;
        finding.advice =
            found.is_configured
                ? "an end is configured for no more: enable what is supported (ibportstate), reset the port"
                : "reseat or replace the cable: a lane or a speed failed in training";
        into.push_back(std::move(finding));
    }
}

}  // namespace fabric::findings
