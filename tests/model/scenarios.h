#pragma once
#include <string>
#include <vector>

#include "tests/model/model_run.h"

namespace model {

struct Scenario {
    std::string name;
    Plan plan;
};

/// One connection of two hosts, both ends quiet.
Plan pair_plan();

/// One cause each: what the sender waits for is known, and most of the time it is that.
std::vector<Scenario> scenarios();
Scenario scenario(const std::string& name);
/// Senders that pace themselves: most of the time they have nothing to send, wherever the tap is.
std::vector<Scenario> paced_scenarios();

}  // namespace model
