#include "cli/dump/frame_analysis.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>
#include <string>
#include <string_view>

#include "capture/files/file_source.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "dissect/output/analysis_fields.h"
#include "exporters/flow_fields.h"
#include "metrics/measure/engine/analyzer.h"
#include "wire/terminate.h"

namespace cli::dump {

namespace {

using dissect::output::AnalysisField;
using metrics::EventKind;
using metrics::FrameNote;

/// The field for an event's value. No value for events that say nothing about this frame (retransmission, whose value
/// is the length of a run) and for values that are differences.
std::optional<AnalysisField> field_of_event(EventKind kind) {
    using F = AnalysisField;
    switch (kind) {
        case EventKind::gap: return F::missing;
        case EventKind::duplicate: return F::duplicate;
        case EventKind::reordered: return F::out_of_order;
        case EventKind::nak: return F::nak;
        case EventKind::rnr_nak: return F::rnr_nak;
        case EventKind::timeout: return F::timeout;
        case EventKind::ce_mark: return F::ce;
        case EventKind::cnp: return F::cnp;
        case EventKind::pause: return F::pause;
        case EventKind::zero_window: return F::zero_window;
        case EventKind::icrc_bad: return F::icrc_bad;
        case EventKind::crc_bad: return F::crc_bad;
        case EventKind::terminate: return F::terminate;
        case EventKind::credit_exhausted: return F::credit_exhausted;
        case EventKind::ack_unseen: return F::ack_unseen;
        case EventKind::connect_request: return F::connect_request;
        case EventKind::connect_reply: return F::connect_reply;
        case EventKind::established: return F::established;
        case EventKind::rejected: return F::rejected;
        case EventKind::disconnected: return F::disconnected;
        case EventKind::reset: return F::reset;
        case EventKind::nak_missing: return F::nak_missing;
        case EventKind::icmp_error: return F::icmp_error;
        default: return {};
    }
}

/// "DDP, error type 1, code 0x02: tagged buffer error". RFC 5040, 4.8.
std::string terminate_words(std::uint64_t value) {
    const auto layer = static_cast<std::uint8_t>(value >> 12 & 0xf);
    const auto type = static_cast<std::uint8_t>(value >> 8 & 0xf);
    const auto code = static_cast<std::uint8_t>(value & 0xff);
    constexpr std::array<std::string_view, 3> layers{"RDMA", "DDP", "LLP"};
    std::string text = layer < layers.size() ? std::string(layers[layer]) : fmt::format("layer {}", layer);
    text += fmt::format(", error type {}, code {:#04x}", type, code);
    if (const std::string_view meaning = wire::terminate_code_name(layer, type, code); !meaning.empty())
        text += fmt::format(": {}", meaning);
    return text;
}

bool has_event(const FrameNote& note, EventKind kind) {
    return std::ranges::any_of(
        note.events, [&](const FrameNote::Event& event) { return event.kind == kind && event.flow == note.flow; });
}

/// A packet that was lost before the tap and passes now for the first time is transmitted again, too. A copy that the
/// network made is not.
bool is_sent_again(const FrameNote& note) {
    return (note.repeats || note.sent_again || has_event(note, EventKind::retransmission)) &&
           !has_event(note, EventKind::duplicate);
}

/// Gives values to the visitor.
class Describer {
public:
    explicit Describer(dissect::Visitor& visitor) : visitor_(visitor) {}

    void number(AnalysisField field, std::uint64_t value) {
        wire::Value found;
        found.number = value;
        visitor_.field(dissect::output::field_of(field), found, {});
    }
    /// A frame's number; 0 stands for no frame.
    void frame(AnalysisField field, std::uint64_t value) {
        if (value != 0) number(field, value);
    }
    void maybe(AnalysisField field, std::optional<std::uint64_t> value) {
        if (value) number(field, *value);
    }
    void text(AnalysisField field, std::string_view value) {
        wire::Value found;
        found.text = value;
        visitor_.field(dissect::output::field_of(field), found, {});
    }

private:
    dissect::Visitor& visitor_;
};

void describe_messages(const FrameNote& note, Describer& describer) {
    using F = AnalysisField;
    for (const FrameNote::Message& message : note.messages) {
        describer.text(F::message, text_of(message));
        describer.number(F::message_number, message.number);
        describer.text(F::message_operation, metrics::name_of(message.operation));
        describer.number(F::message_bytes, message.bytes);
        if (message.first_frame != note.frame) describer.frame(F::message_first_frame, message.first_frame);
    }
    for (const FrameNote::Message& message : note.answers) {
        describer.text(F::answer, text_of(message));
        describer.frame(F::request_in, message.last_frame);
        describer.maybe(F::response_time, message.latency_ns);
    }
}

void describe_repair(const FrameNote& note, Describer& describer) {
    using F = AnalysisField;
    if (is_sent_again(note)) {
        describer.number(F::retransmission, 1);
        describer.frame(F::retransmission_of, note.repeats_frame);
    }
    if (!note.repair) return;
    const metrics::Repair& repair = *note.repair;
    describer.text(F::recovery_cause, metrics::name_of(repair.cause));
    describer.maybe(F::recovery_nak_generation, repair.nak_generation_ns);
    describer.maybe(F::recovery_nak_reaction, repair.nak_reaction_ns);
    // A packet that fills a hole was lost before the tap, even if it had been sent again before.
    if (repair.of_lost && repair.first_out_of_sequence_frame == 0)
        describer.frame(F::recovery_lost_frame, note.repeats_frame);
    describer.frame(F::recovery_first_out_of_sequence_frame, repair.first_out_of_sequence_frame);
    describer.frame(F::recovery_nak_frame, repair.nak_frame);
}

void describe_event(const FrameNote::Event& event, Describer& describer) {
    describer.text(AnalysisField::event, metrics::name_of(event.kind));
    describer.number(AnalysisField::event_flow, event.flow);
    const std::optional<AnalysisField> field = field_of_event(event.kind);
    if (!field) return;
    if (event.kind == EventKind::terminate)
        describer.text(*field, terminate_words(event.value));
    else if (event.kind == EventKind::nak)
        describer.text(*field, event.value < metrics::nak_code_count ? metrics::nak_code_names[event.value] : "other");
    else if (dissect::output::field_of(*field).kind == wire::Kind::boolean)
        describer.number(*field, 1);
    else
        describer.number(*field, event.value);
}

void describe_sending(const FrameNote& note, Describer& describer) {
    using F = AnalysisField;
    if (note.gap_state) {
        describer.text(F::gap_state, metrics::name_of(*note.gap_state));
        describer.number(F::gap_time, note.gap_ns);
    }
    if (note.wire_ns != 0) describer.number(F::wire_time, note.wire_ns);
    if (!note.packet) return;
    describer.number(F::outstanding_messages, note.outstanding_messages);
    describer.number(F::outstanding_bytes, note.outstanding_bytes);
}

/// Measures the frames that the expression selects. Fails if the expression cannot be applied; `stop` ends the reading.
base::Result<void> measure(capture::FileSource& source, Selection& selection, metrics::Analyzer& analyzer,
                           bool (*stop)()) {
    std::array<wire::Frame, 64> frames;
    Progress progress(true);
    std::uint64_t read = 0;
    while (!stop()) {
        if (progress.due()) progress.draw(source.progress(), read);
        const capture::Batch batch = source.next_batch(frames);
        read += batch.count;
        analyzer.expect_interfaces(source.interfaces().size());
        for (std::size_t i = 0; i < batch.count; ++i) {
            const Selection::Answer answer =
                selection.everything() ? Selection::Answer::yes : selection.matches(frames[i], source.interfaces());
            if (answer == Selection::Answer::error) return base::Failure{selection.error()};
            if (answer == Selection::Answer::yes) analyzer.feed({&frames[i], 1});
        }
        // The frames before a damaged place are printed later, and then the damage is reported.
        if (batch.status == capture::ReadStatus::end || batch.status == capture::ReadStatus::error) break;
    }
    return {};
}

}  // namespace

FrameAnalysis::FrameAnalysis(const dissect::DissectorOptions& dissector, dissect::Sink& printer)
    : notes_({}, dissector, &printer) {}

bool FrameAnalysis::concerns(std::span<const std::uint64_t> flows) const {
    const auto is_chosen = [flows](std::uint64_t flow) { return std::ranges::find(flows, flow) != flows.end(); };
    return std::ranges::any_of(notes_.notes(), [&](const FrameNote& note) {
        if (is_chosen(note.flow)) return true;
        const metrics::FlowSnapshot* flow = notes_.flow(note.flow);
        return flow != nullptr && flow->reverse && is_chosen(*flow->reverse);
    });
}

void FrameAnalysis::describe(dissect::Visitor& visitor) const {
    using F = AnalysisField;
    Describer describer(visitor);
    for (const FrameNote& note : notes_.notes()) {
        describer.number(F::flow, note.flow);
        if (const metrics::FlowSnapshot* flow = notes_.flow(note.flow)) {
            describer.text(F::flow_source, exporters::endpoint_text(flow->source, nullptr));
            describer.text(F::flow_destination, exporters::endpoint_text(flow->destination, nullptr));
            describer.maybe(F::flow_reverse, flow->reverse);
        }
        describe_messages(note, describer);
        describe_repair(note, describer);
        describe_sending(note, describer);
        for (const FrameNote::Event& event : note.events) describe_event(event, describer);
    }
}

base::Result<std::vector<std::uint64_t>> find_flows(const DumpOptions& options, const std::string& expression,
                                                    bool (*stop)()) {
    std::vector<std::uint64_t> flows = options.flows;
    if (flows.empty() || options.read_path == "-") return flows;
    capture::FileOptions reading;
    reading.stop = stop;
    auto file = capture::open_file(*options.read_path, reading);
    if (!file) return base::Failure{file.error()};
    metrics::AnalyzerOptions analyzing;
    analyzing.dissector.parse.verify_crc = options.verify_crc;
    metrics::Analyzer analyzer(analyzing);
    Selection selection(expression, options.optimize);
    if (auto measured = measure(**file, selection, analyzer, stop); !measured) return base::Failure{measured.error()};
    analyzer.finish();
    const metrics::Snapshot snapshot = analyzer.snapshot();
    for (const std::uint64_t id : options.flows) {
        const metrics::FlowSnapshot* flow = snapshot.flow(id);
        if (flow == nullptr && !stop())
            return base::Failure{base::Error{
                .message = fmt::format("there is no flow {} in it; `rdmascope flows -r FILE --columns id,flow` lists "
                                       "all flows",
                                       id),
                .path = *options.read_path}};
        if (flow != nullptr && flow->reverse) flows.push_back(*flow->reverse);
    }
    return flows;
}

}  // namespace cli::dump
