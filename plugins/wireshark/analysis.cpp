// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/analysis.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "dissect/output/command_fields.h"
#include "dissect/output/frame_fields.h"

namespace plugins::wireshark {

namespace {

metrics::EngineOptions engine_options(const AnalysisOptions& options) {
    metrics::EngineOptions engine;
    engine.link_bits_per_sec = options.link_bits_per_sec;
    engine.commands = options.commands;
    return engine;
}

dissect::DissectorOptions dissector_options(const AnalysisOptions& options) {
    dissect::DissectorOptions dissector;
    dissector.parse.verify_crc = options.verify_crc;
    return dissector;
}

const wire::FieldInfo& response_in() {
    static const auto rows = dissect::output::command_fields();
    return std::ranges::find(rows, "rdma.io.response_in", [](const auto& row) { return row.info.name; })->info;
}

/// Passes on what Wireshark has no field for: its own dissectors show the others.
class OurFields final : public dissect::Visitor {
public:
    explicit OurFields(dissect::Visitor& next) : next_(next) {}

    void open(const wire::FieldInfo& heading, const wire::Value& value, dissect::Extent extent) override {
        next_.open(heading, value, extent);
    }
    void field(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent) override {
        if (info.name.starts_with("rdma.")) next_.field(info, value, extent);
    }
    void close() override { next_.close(); }

private:
    dissect::Visitor& next_;
};

}  // namespace

/// Writes into the journal what `dump` says of a frame's units, then the layers that Wireshark lacks.
class Analysis::Recorder final : public dissect::Sink {
public:
    Recorder(Journal& journal, CommandEvents& events, const LackingOptions& options)
        : journal_(journal), events_(events), options_(options) {}

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
        transport_ = unit.transport;
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
    void on_message(const dissect::UpperMessage& message) override {
        events_.on_message(message);
        OurFields ours(journal_);
        dissect::output::describe_command(message, ours);
        const dissect::CommandFacts& facts = message.facts;
        if (message.dissection.layer_count != 0 && lacks_upper_layer(facts.protocol, transport_, options_)) {
            journal_.describing(message.bytes);
            dissect::describe(message.dissection, message.bytes, journal_);
            journal_.mark_layers();
            journal_.describing({});
        }
        if (facts.role == dissect::CommandRole::response && facts.request_frame != 0)
            responses_.emplace(facts.request_frame, message.frame.number);
    }

    /// Shows the frames of the responses to the requests that the frame completed.
    void describe_responses(std::uint64_t frame, dissect::Visitor& visitor) const {
        const auto [first, last] = responses_.equal_range(frame);
        std::vector<std::uint64_t> frames;
        for (auto at = first; at != last; ++at) frames.push_back(at->second);
        std::ranges::sort(frames);
        for (const std::uint64_t response : frames) visitor.field(response_in(), {response, {}, {}}, {});
    }

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
    CommandEvents& events_;
    LackingOptions options_;
    FoundLayers layers_;
    std::unordered_set<std::uint32_t> streams_;                        ///< that Wireshark takes apart
    std::unordered_multimap<std::uint64_t, std::uint64_t> responses_;  ///< by the request's frame
    const dissect::Dissection* frame_dissection_ = nullptr;
    bool has_units_ = false;
    wire::Transport transport_{};  ///< of the last unit, whose messages follow it
};

Analysis::Analysis(const AnalysisOptions& options)
    : options_(options),
      recorder_(std::make_unique<Recorder>(journal_, command_events_, options.lacking)),
      reader_(options.commands
                  ? std::make_unique<upper::Reader>(upper::ReaderOptions{}, recorder_.get(), &command_events_)
                  : nullptr),
      notes_(engine_options(options), dissector_options(options), sink()) {
    notes_.expect_interfaces(2);  // Wireshark does not report how many the file has
}
Analysis::~Analysis() = default;

dissect::Sink* Analysis::sink() {
    if (reader_) return reader_.get();
    return recorder_.get();
}

void Analysis::feed(const wire::Frame& frame, const FoundLayers& layers) {
    if (finished_ || frame.number <= last_frame_) return;
    last_frame_ = frame.number;
    recorder_->begin(frame, layers);
    notes_.feed(frame);
    if (reader_) command_events_.after_frame(frame.number, reader_->last_place());
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
    if (reader_) reader_->finish();
    recorder_->end();
}

void Analysis::describe(const wire::Frame& frame, dissect::Visitor& visitor) const {
    describe_messages(frame, visitor);
    recorder_->describe_responses(frame.number, visitor);
}

void Analysis::describe_messages(const wire::Frame& frame, dissect::Visitor& visitor) const {
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
