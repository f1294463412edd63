#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "metrics/flow/flow.h"
#include "metrics/witness.h"

namespace metrics {

/// What an engine keeps for its witness's sake, and only where it has one.
struct Watch {
    /// Where the message began that is under way.
    struct Beginning {
        std::uint64_t frame = 0;
        std::uint64_t position = 0;
    };
    struct Messages {
        Beginning present;
        Beginning past;  ///< of one that has packets missing, or is being sent again
    };

    explicit Watch(Witness& told) : witness(told) {}

    /// Nobody will say when the flow's messages are answered.
    void give_up(const Flow& flow) {
        for (const bool apart : {false, true}) witness.forgotten(flow.id, apart);
    }
    Messages& messages(FlowIndex index) {
        if (index >= beginnings_.size()) beginnings_.resize(index + std::size_t{1});
        return beginnings_[index];
    }

    Witness& witness;
    FlowIndex counted = no_flow;  ///< the flow of the last packet
    std::unordered_map<std::uint64_t, FlowIndex> by_id;

private:
    std::vector<Messages> beginnings_;
};

}  // namespace metrics
