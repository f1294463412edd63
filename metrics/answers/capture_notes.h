#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/figures/snapshot.h"

/// Properties of a capture that a reader must know before its answers: what the capture lacks, contains twice, or shows
/// changed.
namespace metrics::inline answers {

enum class NoteKind : std::uint8_t {
    incomplete,           ///< packets were dropped or forgotten
    unsorted,             ///< times run backwards
    unread_carriers,      ///< frames that were not read may hold RDMA
    copies,               ///< packets are there several times, as one place saw them
    merged,               ///< packets are there several times, as two places saw them
    cut,                  ///< frames are shorter than their packets were, and answers are missing because of that
    one_direction,        ///< the capture has no acknowledgements, although there must have been some
    sample,               ///< one packet in n is there
    addresses_rewritten,  ///< the ICRC is wrong everywhere
    crc_unusable,         ///< the ICRC of some packets says nothing about them
    shared_port,          ///< all flows between two hosts have one UDP source port
    long_fpdus,           ///< FPDUs are longer than a segment
};
inline constexpr std::array<std::string_view, 12> note_kind_names{
    "incomplete",    "unsorted", "unread_carriers",     "copies",       "merged",      "cut",
    "one_direction", "sample",   "addresses_rewritten", "crc_unusable", "shared_port", "long_fpdus"};
constexpr std::string_view name_of(NoteKind kind) { return note_kind_names[static_cast<std::size_t>(kind)]; }

struct CaptureNote {
    NoteKind kind{};
    std::string text;                   ///< one or two plain sentences
    std::vector<std::uint64_t> frames;  ///< the first few that show it; empty if none is kept
};

/// The most important note first.
std::vector<CaptureNote> capture_notes(const Snapshot& snapshot);

}  // namespace metrics::answers
