#pragma once
#include <string>
#include <vector>

#include "metrics/figures/snapshot.h"
#include "policy/rules.h"

namespace policy {

/// A command, or a setting of a program, that gives a flow what the rule expects.
struct Remedy {
    std::string command;
    std::string note = {};     ///< where, or for which programs: "NCCL"
    bool is_addition = false;  ///< to those before; otherwise each is enough where its note fits
};
using Remedies = std::vector<Remedy>;

/// Remedies for the sender's host. Of several permitted values the first is meant.
Remedies remedies(const Rule& rule, const metrics::FlowSnapshot& flow);

/// "NCCL_IB_TC=104   (NCCL)"
std::string text_of(const Remedy& remedy);

}  // namespace policy
