#pragma once
#include <cstdint>
#include <vector>

#include "metrics/figures/snapshot.h"
#include "metrics/measure/posts/trace_join.h"
#include "tests/model/model_analysis.h"
#include "wire/trace/record.h"

/// The model's programs, as an interposer would have recorded them, and what both views say together.
namespace model {

using Records = std::vector<wire::trace::Record>;

/// How a program looks at its completion queue, and what the recorder does.
struct Recording {
    std::uint32_t signal_every = 1;  ///< of so many work requests the last is signalled
    std::int64_t poll_ns = 0;        ///< a completion lies so long in its queue, and up to `poll_jitter_ns` more
    std::int64_t poll_jitter_ns = 0;
    std::int64_t early_ns = 0;  ///< posts are told so much earlier than the adapter was rung
    bool ids = false;           ///< every work request has an id of its own
};

/// Process id of a side: its number and 1000.
constexpr std::uint32_t process_of(std::uint32_t side) { return 1000 + side; }
/// When the program took the completion of each work request; of one that is not signalled, of the next that is.
std::vector<std::int64_t> polls(const History& history, std::uint32_t side, const Recording& recording);
/// What all sides did, in the order of time.
Records records(const History& history, const Recording& recording);

/// Times of one message at the tap, since the start; -1: did not pass.
struct MessageTruth {
    std::int64_t post_ns = -1;
    std::int64_t first_ns = -1;
    std::int64_t last_ns = -1;
    std::int64_t ack_ns = -1;
    std::int64_t poll_ns = -1;
};
std::vector<MessageTruth> messages(const History& history, Tap tap, std::uint32_t side, const Recording& recording);

/// Feeds both, as a command does.
metrics::Snapshot analyse_both(const History& history, const Frames& frames, const Records& records,
                               metrics::posts::TraceJoin& join);
/// The same to an analyzer whose observer `join` is.
metrics::Snapshot analyse_both(const History& history, const Frames& frames, const Records& records,
                               metrics::posts::TraceJoin& join, metrics::Analyzer& analyzer);

}  // namespace model
