#pragma once
#include <cstdint>
#include <optional>

#include "metrics/answers/subject.h"
#include "metrics/answers/verdict.h"

/// Why packets of a flow were sent again. One cause can have many effects in a flow (a late packet is NAKed, sent
/// again, and arrives twice): a flow gets the cause that explains the other effects.
namespace metrics::inline answers {

/// "elsewhere": of the other direction, which was not found.
enum class RepairCause {
    rnr,
    corruption,
    reordering,
    loss_before,
    loss_after,
    timeout,
    duplication,
    rnr_elsewhere,
    loss_elsewhere
};

Verdict verdict_of(RepairCause cause);
bool is_elsewhere(RepairCause cause);
/// Causes of the repeats of a sender that gave up. Holes before the tap, bad checksums and disorder only accompany
/// them.
bool explains_repeats(RepairCause cause);

std::optional<RepairCause> cause_of(const Subject& subject, const FlowSnapshot& flow);
/// What the answers that travelled on the flow report of another flow, which was not found. It is independent of the
/// flow's own cause.
std::optional<RepairCause> cause_elsewhere(const FlowSnapshot& flow);
/// The share of the time, or of the traffic, that repairs cost.
double severity_of(const FlowSnapshot& flow, RepairCause cause);
bool is_worth_an_alarm(const FlowSnapshot& flow, RepairCause cause, double severity);

/// Sequence error NAKs that ask for packets of the flow itself.
std::uint64_t sequence_naks(const FlowSnapshot& flow);
/// Those that ask for packets of another, which was not found.
std::uint64_t naks_of_another(const FlowSnapshot& flow);
std::uint64_t bad_checksums(const FlowSnapshot& flow);  ///< ICRC and MPA CRC

}  // namespace metrics::answers
