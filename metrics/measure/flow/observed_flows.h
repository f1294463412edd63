#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "metrics/measure/account/frame_observer.h"
#include "metrics/measure/flow/flow.h"

namespace metrics::inline measure::inline flow {

/// State that an engine keeps only for an observer.
struct ObservedFlows {
    /// Where the message began that is under way.
    struct Beginning {
        std::uint64_t frame = 0;
        std::uint64_t position = 0;
    };
    struct Messages {
        Beginning present;
        Beginning past;  ///< of one that has packets missing, or is being sent again
    };

    /// The possible signals for the repair of a flow's next loss: the frames whose times the engine knows.
    struct Signals {
        std::uint64_t past_hole_frame = 0;      ///< the first packet past the present hole
        std::uint64_t response_frame = 0;       ///< the READ response before which another one was missing
        std::uint64_t nak_frame = 0;            ///< the NAK that waits for its repair, or the first duplicate ACK
        std::uint64_t nak_past_hole_frame = 0;  ///< where the hole of that NAK began
        std::optional<std::uint64_t> nak_generation_ns;  ///< from there to the NAK
        /// iWARP, where holes are filled one by one: when the last of them were noticed, and where.
        std::array<std::pair<std::int64_t, std::uint64_t>, 16> holes{};
        unsigned next_hole = 0;

        void note_hole(std::int64_t noticed_ns, std::uint64_t number) {
            holes[next_hole++ % holes.size()] = {noticed_ns, number};
        }
        std::uint64_t hole_frame(std::int64_t noticed_ns) const {
            for (const auto& [when, number] : holes)
                if (when == noticed_ns) return number;
            return 0;
        }
        void note_nak(std::uint64_t number, std::uint64_t past_hole, std::optional<std::uint64_t> generation_ns) {
            nak_frame = number;
            nak_past_hole_frame = generation_ns ? past_hole : 0;
            nak_generation_ns = generation_ns;
        }
        void put_nak(Repair& repair) const {
            repair.nak_frame = nak_frame;
            repair.nak_generation_ns = nak_generation_ns;
        }
        void clear() {
            note_nak(0, 0, {});
            response_frame = 0;
        }
    };

    explicit ObservedFlows(FrameObserver& frame_observer) : observer(frame_observer) {}

    /// The answers of the flow's messages will not be seen.
    void give_up(const Flow& flow) {
        for (const bool apart : {false, true}) observer.forgotten(flow.id, apart);
    }
    void packet(const Flow& flow, FlowIndex index, std::uint64_t number) {
        frame = number;
        counted.push_back(index);
        observer.packet(flow.id, number);
    }
    /// All up to `position` is about to leave the flow's ledger: by the last packet, or, unless `measure`, since it had
    /// been acknowledged before it was seen.
    void acknowledged(const Flow& flow, std::uint64_t position, std::int64_t now_ns, bool measure);
    Messages& messages(FlowIndex index) {
        if (index >= beginnings_.size()) beginnings_.resize(index + std::size_t{1});
        return beginnings_[index];
    }

    /// Of a flow with a problem; made when first asked for.
    Signals& signals(const Flow& flow) { return signals_[flow.id]; }
    /// The engine forgets the flow.
    void leave(const Flow& flow, FlowIndex index);

    FrameObserver& observer;
    std::uint64_t frame = 0;         ///< of the last packet
    std::vector<FlowIndex> counted;  ///< the flows of the present frame's packets
    std::unordered_map<std::uint64_t, FlowIndex> by_id;

private:
    std::vector<Messages> beginnings_;
    std::unordered_map<std::uint64_t, Signals> signals_;
};

}  // namespace metrics::measure::flow
