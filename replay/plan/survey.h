#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "capture/files/file_source.h"
#include "metrics/figures/snapshot.h"

namespace replay::inline plan {

/// Two flows that answer each other, or one whose answers were not captured.
struct PlannedConnection {
    /// Of the snapshot; side 0 posts those of the first, side 1 those of the second, if there is one.
    const metrics::FlowSnapshot* flows[2] = {nullptr, nullptr};
    /// An acknowledgement that passed at least this long ago was known to the side when it posted (half of the quickest
    /// reaction that was seen); 0 if nothing is known.
    std::uint64_t reaction_ns[2] = {0, 0};
    bool crc = true;                       ///< MPA's CRC, as captured; on if that is unknown
    std::uint32_t depth[2] = {0, 0};       ///< most messages outstanding, as captured
    bool invalidates[2] = {false, false};  ///< the side posts Sends with Invalidate
};

/// The poster of a flow.
struct Poster {
    std::uint32_t connection = 0;
    std::uint8_t side = 0;
};

/// The ends in a capture and the amount of their traffic, from a first reading; the times of events are read again,
/// operation by operation, so that nothing of the capture needs to be kept.
struct Survey {
    std::string path;
    metrics::Snapshot snapshot;
    std::vector<PlannedConnection> connections;        ///< those with messages, ascending id
    std::unordered_map<std::uint64_t, Poster> places;  ///< by flow's id
    std::int64_t begin_ns = 0;                         ///< when the first connection began
    std::uint64_t messages = 0;
    std::uint64_t longest = 0;       ///< bytes of a message
    std::vector<std::string> notes;  ///< what the capture lacks, or what is replaced by something else; one sentence
                                     ///< each
    std::string broken;              ///< why the file ended early; empty if it did not

    /// Shows whether another host has the same capture and the same choice of flows.
    std::uint64_t fingerprint() const;
};

/// Receives the progress through the file, and the number of frames read so far.
using SurveyWatch = std::function<void(const capture::FileSource::Progress&, std::uint64_t frames)>;

/// Reads the capture once. `flows`: ids, with their reverses; empty: all. Fails if the file cannot be read, has no flow
/// with such an id, or no operations. `watch` is called after each batch of frames.
base::Result<Survey> survey(const std::string& path, const std::vector<std::uint64_t>& flows,
                            const SurveyWatch& watch = {});

}  // namespace replay::plan
