#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "metrics/answers/answer.h"

/// What each clause of an answer rests on: figures of the snapshot, read here and not by the code that prints it.
namespace why_test {

/// An answer's flows, and the snapshot that they are of.
struct Facts {
    const metrics::Snapshot& snapshot;
    std::vector<const metrics::FlowSnapshot*> flows;
    std::vector<const metrics::FlowSnapshot*> scope = {};  ///< all that were asked about

    std::uint64_t sum(const std::function<std::uint64_t(const metrics::FlowSnapshot&)>& figure) const;
};
/// `one`: only that flow and its reverse were asked about.
Facts facts_of(const metrics::Snapshot& snapshot, const metrics::Answer& answer, const std::uint64_t* one = nullptr);

using Figure = std::function<std::uint64_t(const Facts&)>;

struct Clause {
    std::string words;  ///< of the summary
    Figure figure;
    bool in_advice = false;  ///< they may stand in the advice, too
};

/// Stand only where the figure is above 0.
const std::vector<Clause>& assertions();
/// Say that something was not there: stand only where the figure is 0.
const std::vector<Clause>& denials();

}  // namespace why_test
