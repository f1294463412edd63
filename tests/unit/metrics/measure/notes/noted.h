#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "metrics/measure/notes/frame_notes.h"
#include "tests/support/captures.h"

namespace notes_test {

/// What all notes say of one flow, added up.
struct Sums {
    std::uint64_t packets = 0;
    std::array<std::uint64_t, metrics::event_kind_count> events{};
    std::array<std::uint64_t, metrics::event_kind_count> event_values{};
    std::array<std::uint64_t, metrics::operation_count> messages{};
    std::array<metrics::Histogram, metrics::operation_count> latencies;
    metrics::StateTimes state_ns{};
    metrics::Histogram nak_generation;
    metrics::Histogram nak_reaction;
    metrics::Histogram recovery_total;
    std::uint64_t highest_number = 0;
};

/// A capture that was fed to FrameNotes, to its end.
struct Noted {
    explicit Noted(const std::vector<support::KeptFrame>& frames, bool verify_crc = true);

    std::map<std::uint64_t, Sums> sums() const;
    std::vector<const metrics::FrameNote*> of(std::uint64_t frame) const { return notes.notes(frame); }

    metrics::FrameNotes notes;
    std::uint64_t frames;
};

}  // namespace notes_test
