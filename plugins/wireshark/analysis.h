// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "metrics/measure/notes/frame_notes.h"
#include "plugins/wireshark/command_events.h"
#include "plugins/wireshark/journal.h"
#include "plugins/wireshark/lacking.h"
#include "upper/reader.h"

namespace plugins::wireshark {

/// The options of a file's analysis; a change means another analysis of all frames.
struct AnalysisOptions {
    bool verify_crc = true;
    std::optional<std::uint64_t> link_bits_per_sec;
    bool commands = true;  ///< of upper layers
    LackingOptions lacking;
};

/// A file as far as it was read: every frame is fed once, and then any frame can be requested any number of times.
class Analysis {
public:
    explicit Analysis(const AnalysisOptions& options);
    ~Analysis();

    /// A frame, in ascending order; a frame that was fed before changes nothing. `layers` are those that Wireshark
    /// found in it.
    void feed(const wire::Frame& frame, const FoundLayers& layers);
    /// No more frames will come; the figures are final.
    void finish();

    std::vector<const metrics::FrameNote*> notes(std::uint64_t frame) const { return notes_.notes(frame); }
    const metrics::FlowSnapshot* flow(std::uint64_t id) const { return notes_.flow(id); }
    const std::vector<CommandEvent>& command_events(std::uint64_t frame) const {
        return command_events_.of_frame(frame);
    }
    bool describes(std::uint64_t frame) const { return journal_.holds(frame); }
    bool describes_layers(std::uint64_t frame) const { return journal_.holds_layers(frame); }
    /// Shows the messages of a frame that was fed, and the layers that Wireshark lacks.
    void describe(const wire::Frame& frame, dissect::Visitor& visitor) const;
    metrics::Snapshot snapshot() const { return notes_.snapshot(); }
    bool verifies_crc() const { return options_.verify_crc; }

private:
    class Recorder;
    dissect::Sink* sink();
    void describe_messages(const wire::Frame& frame, dissect::Visitor& visitor) const;

    AnalysisOptions options_;
    std::unique_ptr<dissect::Dissection> scratch_ = std::make_unique<dissect::Dissection>();
    Journal journal_;
    CommandEvents command_events_;
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<upper::Reader> reader_;  ///< between the dissector and the recorder; null: no commands are read
    metrics::FrameNotes notes_;
    std::uint64_t last_frame_ = 0;
    bool finished_ = false;
};

}  // namespace plugins::wireshark
