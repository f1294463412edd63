#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"
#include "policy/compliance.h"

namespace policy {

/// What breaks the rule, with names of hosts: a sentence.
std::string sentence_of(const RuleOutcome& outcome, const Compliance& compliance, const metrics::HostNames& names);

/// The answers to the question `policy` of `why`: one for each broken rule, at most 16, else one.
std::vector<metrics::Answer> answers_of(const Compliance& compliance, const metrics::Snapshot& snapshot,
                                        const metrics::HostNames& names);

/// Judges a snapshot, or one flow of it and its reverse, and adds the answers to those of `why`, in their order.
void add_answers(const Rules& rules, const metrics::Snapshot& snapshot, const metrics::HostNames& names,
                 const std::uint64_t* flow, std::vector<metrics::Answer>& answers);

}  // namespace policy
