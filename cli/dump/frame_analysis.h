#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "cli/dump/options.h"
#include "dissect/describe.h"
#include "dissect/dissector.h"
#include "metrics/measure/notes/present_notes.h"
#include "wire/frame.h"

namespace cli::dump {

/// Measures the frames while they are printed, for fields that depend on earlier frames.
class FrameAnalysis {
public:
    /// `printer` receives what the dissector finds in each frame.
    FrameAnalysis(const dissect::DissectorOptions& dissector, dissect::Sink& printer);

    void expect_interfaces(std::size_t count) { notes_.expect_interfaces(count); }
    void feed(const wire::Frame& frame) { notes_.feed(frame); }
    void finish() { notes_.finish(); }

    /// Whether the last frame says something about one of the flows, or about the reverse of one.
    bool concerns(std::span<const std::uint64_t> flows) const;
    /// Visits the fields of dissect::output::analysis_fields() that the frame has.
    void describe(dissect::Visitor& visitor) const;

private:
    metrics::PresentNotes notes_;
};

/// The flows of `--flow`, each with its reverse as far as the whole file shows it. An error if the file has no such
/// flow. Standard input can be read once: the reverse is then found while the packets are printed.
base::Result<std::vector<std::uint64_t>> find_flows(const DumpOptions& options, const std::string& expression,
                                                    bool (*stop)());

}  // namespace cli::dump
