#pragma once
#include <gtest/gtest.h>

#include "script.h"

/// What the tests of READs share.
namespace roce_test {

inline void answer_only(Script& script, std::int64_t index, std::uint32_t length) {
    script.answer(index, response_only, ack_syndrome, length);
}

inline std::uint64_t missing(const Script& script) { return script.shown().missing_packets.value_or(0); }
inline std::uint64_t repeated(const Script& script) { return script.shown().retransmitted_packets.value_or(0); }

/// The responses of a READ of `count` packets, of which `lost` does not pass; -1: all do.
inline void answer_all(Script& script, std::int64_t first, std::int64_t count, std::int64_t lost = -1) {
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint8_t opcode = count == 1       ? response_only
                                    : i == 0         ? response_first
                                    : i == count - 1 ? response_last
                                                     : response_middle;
        if (i != lost) script.answer(first + i, opcode, ack_syndrome, 1024);
    }
}

inline std::uint64_t responses_missing(Script& script) { return script.store.responder(script.responder()).missing; }
inline std::uint64_t responses_repeated(Script& script) { return script.store.responder(script.responder()).repeated; }
inline std::uint64_t payload(Script& script) { return script.responder().counts.payload_bytes; }

/// What the network has done to responses: no requester has asked for any of them again.
inline void expect_shuffled(Script& script, std::uint64_t late, std::uint64_t doubled) {
    const metrics::RequestState& carrier = script.responder().request;
    EXPECT_EQ(carrier.reordered, late);
    EXPECT_EQ(carrier.duplicates, doubled);
    EXPECT_EQ(responses_missing(script), 0u);
    EXPECT_EQ(responses_repeated(script), 0u);
    EXPECT_EQ(repeated(script), 0u);
    EXPECT_EQ(script.responder().attribution.time_in(metrics::State::recover_nak), 0u);
    EXPECT_EQ(script.requester().ledger.messages(), 0u);
}

/// A response of READs that take four PSNs each, from 0 on.
inline void answer_of_four(Script& script, std::int64_t index) {
    const std::uint8_t opcode = index % 4 == 0 ? response_first : index % 4 == 3 ? response_last : response_middle;
    script.answer(index, opcode, ack_syndrome, 1024);
}

}  // namespace roce_test
