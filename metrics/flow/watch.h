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
    void packet(const Flow& flow, FlowIndex index, std::uint64_t number) {
        frame = number;
        counted.push_back(index);
        witness.packet(flow.id, number);
    }
    /// All up to `position` is about to leave the flow's ledger: by the last packet, or, unless `measure`, since it had
    /// been acknowledged before it was seen.
    void acknowledged(const Flow& flow, std::uint64_t position, std::int64_t now_ns, bool measure);
    Messages& messages(FlowIndex index) {
        if (index >= beginnings_.size()) beginnings_.resize(index + std::size_t{1});
        return beginnings_[index];
    }

    Witness& witness;
    std::uint64_t frame = 0;         ///< of the last packet
    std::vector<FlowIndex> counted;  ///< the flows of the present frame's packets
    std::unordered_map<std::uint64_t, FlowIndex> by_id;

private:
    std::vector<Messages> beginnings_;
};

}  // namespace metrics
