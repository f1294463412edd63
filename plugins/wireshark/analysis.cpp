// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/analysis.h"

#include <unordered_set>

#include "dissect/output/frame_fields.h"

namespace plugins::wireshark {

namespace {

metrics::EngineOptions engine_options(const AnalysisOptions& options) {
    metrics::EngineOptions engine;
    engine.link_bits_per_sec = options.link_bits_per_sec;
    engine.commands = true;
    return engine;
}

dissect::DissectorOptions dissector_options(const AnalysisOptions& options) {
    dissect::DissectorOptions dissector;
    dissector.parse.verify_crc = options.verify_crc;
    return dissector;
}

}  // namespace

/// Writes into the journal what `dump` says of a frame's units, then the layers that Wireshark lacks.
class Analysis::Recorder final : public dissect::Sink {
public:
    Recorder(Journal& journal, const LackingOptions& options) : journal_(journal), options_(options) {}

    void begin(const wire::Frame& frame, const FoundLayers& layers) {
        journal_.begin(frame.number, frame.bytes);
        layers_ = layers;
        frame_dissection_ = nullptr;
        has_units_ = false;
    }
    /// A frame without units may still be one that could not be read to its end.
    void end() {
        if (!has_units_ && frame_dissection_ != nullptr && concerns_rdma(*frame_dissection_))
            dissect::output::describe_outcome(*frame_dissection_, journal_);
        frame_dissection_ = nullptr;
    }

    void on_frame(const wire::Frame&, const dissect::Dissection& dissection) override {
        frame_dissection_ = &dissection;
    }
    void on_unit(const dissect::Unit& unit) override {
        has_units_ = true;
        // Most packets are never looked at, or long after.
        if (unit.in_frame && journal_.keep({unit.transport, unit.repeats_frame})) {
            if (lacks_packet(unit.dissection, options_)) journal_.mark_layers();
            return;
        }
        dissect::output::describe_unit(unit, journal_);
        journal_.describing(unit.bytes);
        if (describe_lacking(unit, found(unit), options_, journal_)) journal_.mark_layers();
        journal_.describing({});
    }
    void on_notice(const dissect::Notice& notice) override { dissect::output::describe_notice(notice, journal_); }

private:
    /// A stream that Wireshark has recognised once is its own from then on, though it shows some FPDUs with another
    /// frame than we do.
    FoundLayers found(const dissect::Unit& unit) {
        if (unit.transport != wire::Transport::iwarp) return layers_;
        if (layers_.mpa) streams_.insert(unit.stream);
        return {streams_.contains(unit.stream)};
    }
    /// Every frame that Wireshark shows has an outcome; the plugin speaks of those with RDMA.
    static bool concerns_rdma(const dissect::Dissection& d) { return d.has(dissect::LayerId::bth); }

    Journal& journal_;
    LackingOptions options_;
    FoundLayers layers_;
    std::unordered_set<std::uint32_t> streams_;  ///< that Wireshark takes apart
    const dissect::Dissection* frame_dissection_ = nullptr;
    bool has_units_ = false;
};

Analysis::Analysis(const AnalysisOptions& options)
    : options_(options),
      recorder_(std::make_unique<Recorder>(journal_, options.lacking)),
      notes_(engine_options(options), dissector_options(options), recorder_.get()) {
    notes_.expect_interfaces(2);  // Wireshark does not report how many the file has
}
Analysis::~Analysis() = default;

void Analysis::feed(const wire::Frame& frame, const FoundLayers& layers) {
    if (finished_ || frame.number <= last_frame_) return;
    last_frame_ = frame.number;
    recorder_->begin(frame, layers);
    notes_.feed(frame);
    recorder_->end();
}

void Analysis::finish() {
    if (finished_) return;
    finished_ = true;
    // What streams still held belongs to the last frame.
    wire::Frame last;
    last.number = last_frame_;
    recorder_->begin(last, {});
    notes_.finish();
    recorder_->end();
}

void Analysis::describe(const wire::Frame& frame, dissect::Visitor& visitor) const {
    const std::optional<Journal::Packet> packet = journal_.packet(frame.number);
    if (!packet) return journal_.replay(frame.number, visitor);
    // A packet that ended a datagram's waiting, or the file's last frame, has more to it.
    dissect::Dissection& dissection = *scratch_;
    dissect::dissect_frame(frame, dissector_options(options_).parse, dissection);
    const dissect::Unit unit{frame, dissection,        dissection,   frame.bytes,
                             true,  packet->transport, frame.number, packet->repeats_frame};
    dissect::output::describe_unit(unit, visitor);
    describe_lacking(unit, {}, options_.lacking, visitor);
    journal_.replay(frame.number, visitor);
}

}  // namespace plugins::wireshark
