#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "metrics/figures/snapshot.h"

namespace replay::inline plan {

/// Two flows that answer each other, or one whose answers were not captured.
struct PlannedConnection {
    /// Of the snapshot; side 0 posts those of the first, side 1 those of the second, where there is one.
    const metrics::FlowSnapshot* flows[2] = {nullptr, nullptr};
    /// An acknowledgement that passed so long ago, or longer, was known to the side when it posted (half of the
    /// quickest reaction that was seen); 0 where nothing is known.
    std::uint64_t reaction_ns[2] = {0, 0};
    bool crc = true;                       ///< MPA's, as captured; on where that is not known
    std::uint32_t depth[2] = {0, 0};       ///< messages outstanding at most, as captured
    bool invalidates[2] = {false, false};  ///< the side posts Sends with Invalidate
};

/// Who is a flow's poster.
struct Poster {
    std::uint32_t connection = 0;
    std::uint8_t side = 0;
};

/// Who talks to whom in a capture and how much, from a first reading; what happens when is read again, operation by
/// operation, so that nothing of the capture needs to be kept.
struct Survey {
    std::string path;
    metrics::Snapshot snapshot;
    std::vector<PlannedConnection> connections;        ///< those with messages, ascending id
    std::unordered_map<std::uint64_t, Poster> places;  ///< by flow's id
    std::int64_t begin_ns = 0;                         ///< when the first of them began
    std::uint64_t messages = 0;
    std::uint64_t longest = 0;       ///< bytes of a message
    std::vector<std::string> notes;  ///< what the capture lacks, or what becomes something else; one sentence each
    std::string broken;              ///< why the file ended early; empty where it did not

    /// Tells whether another host has the same capture and the same choice of flows.
    std::uint64_t fingerprint() const;
};

/// Reads the capture once. `flows`: ids, with their reverses; empty: all. Fails where the file cannot be read at all,
/// has no flow of such an id, or no operations.
base::Result<Survey> survey(const std::string& path, const std::vector<std::uint64_t>& flows);

}  // namespace replay::plan
