#include "cli/report/perfetto_trace.h"

#include <fmt/core.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/quantities.h"
#include "cli/io/capture_run.h"
#include "cli/io/words.h"
#include "cli/report/second_reading.h"
#include "exporters/flow_fields.h"
#include "metrics/figures/latencies.h"
#include "metrics/measure/commands/command_measure.h"
#include "metrics/measure/notes/frame_notes.h"
#include "upper/reader.h"

namespace cli::report {

namespace {

/// Notes on a frame with its message take about 200 bytes.
constexpr std::uint64_t most_noted_frames = 2'000'000;
constexpr std::size_t most_trace_bytes = std::size_t{256} << 20;

std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Writes the events. A process of the trace is a flow or a connection.
class EventWriter {
public:
    explicit EventWriter(std::int64_t start_ns) : start_ns_(start_ns) {}

    bool is_full() const { return out_.size() > most_trace_bytes; }
    std::size_t process(const std::string& name) {
        ++processes_;
        add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", processes_,
                        json_text(name)));
        return processes_;
    }
    /// Slices of one process may overlap, so each slice has its own number.
    void slice(std::size_t process, std::string_view category, std::string_view name, std::int64_t from_ns,
               std::int64_t to_ns, std::string_view arguments) {
        ++slices_;
        add(fmt::format(R"({{"ph":"b","cat":"{}","id":{},"pid":{},"tid":1,"ts":{},"name":{},"args":{{{}}}}})", category,
                        slices_, process, time(from_ns), json_text(name), arguments));
        add(fmt::format(R"({{"ph":"e","cat":"{}","id":{},"pid":{},"tid":1,"ts":{},"name":{}}})", category, slices_,
                        process, time(to_ns), json_text(name)));
    }
    void instant(std::size_t process, std::string_view name, std::int64_t at_ns, std::string_view arguments) {
        add(fmt::format(R"({{"ph":"i","s":"p","pid":{},"tid":1,"ts":{},"name":{},"args":{{{}}}}})", process,
                        time(at_ns), json_text(name), arguments));
    }
    /// Names the track of packet() in a process.
    void name_packets(std::size_t process) {
        add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"repairs"}}}})", process,
                        packet_track));
    }
    /// A slice of a nanosecond. Arrows lead from such slices to others, because a viewer draws arrows between slices of
    /// tracks alone.
    void packet(std::size_t process, std::string_view name, std::int64_t at_ns, std::uint64_t frame) {
        add(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":0.001,"name":{},"args":{{"frame":{}}}}})",
                        process, packet_track, time(at_ns), json_text(name), frame));
    }
    /// An arrow between two packets of a process.
    void arrow(std::size_t process, std::string_view name, std::int64_t from_ns, std::int64_t to_ns) {
        ++arrows_;
        constexpr std::string_view form =
            R"({{"ph":"{}"{},"cat":"repair","id":{},"pid":{},"tid":{},"ts":{},"name":{}}})";
        add(fmt::format(form, "s", "", arrows_, process, packet_track, time(from_ns), json_text(name)));
        // `bp`: the arrow ends at the slice that is open at this time, not at the next one.
        add(fmt::format(form, "f", R"(,"bp":"e")", arrows_, process, packet_track, time(to_ns), json_text(name)));
    }
    std::string take() { return std::move(out_) + "\n]}\n"; }

private:
    static constexpr unsigned packet_track = 2;

    void add(const std::string& event) {
        out_ += first_ ? "\n" : ",\n";
        first_ = false;
        out_ += event;
    }
    /// Microseconds since the first frame, with three digits of a fraction.
    std::string time(std::int64_t ns) const {
        return fmt::format("{:.3f}", static_cast<double>(ns - start_ns_) / 1000);
    }

    std::int64_t start_ns_;
    std::string out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    bool first_ = true;
    std::size_t processes_ = 0;
    std::size_t slices_ = 0;
    std::size_t arrows_ = 0;
};

/// Feeds what is read to the notes and to the reader of commands, and remembers when each frame passed.
class NotedFrames final : public dissect::Sink {
public:
    NotedFrames(metrics::FrameNotes& notes, upper::Reader& reader) : notes_(notes), reader_(reader) {}

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        times_.resize(std::max<std::size_t>(times_.size(), frame.number + 1));
        times_[frame.number] = frame.time_ns;
        notes_.feed(frame);
        reader_.on_frame(frame, dissection);
    }
    void on_unit(const dissect::Unit& unit) override { reader_.on_unit(unit); }
    void on_notice(const dissect::Notice& notice) override { reader_.on_notice(notice); }

    const std::vector<std::int64_t>& times() const { return times_; }

private:
    metrics::FrameNotes& notes_;
    upper::Reader& reader_;
    std::vector<std::int64_t> times_ = {};  ///< by the frame's number
};

/// The events of flows, from the notes on each frame.
class FlowEvents {
public:
    FlowEvents(EventWriter& writer, const metrics::Snapshot& snapshot, const analysis::Names& names,
               const std::vector<std::int64_t>& times)
        : writer_(writer), snapshot_(snapshot), names_(names), times_(times) {}

    void add(const metrics::FrameNote& note) {
        for (const metrics::FrameNote::Message& message : note.messages) add(note.flow, message);
        add_arrow(note, note.repeats_frame, "first sent", "repeat");
        if (note.repair) add_arrow(note, note.repair->nak_frame, "reported missing", "repair");
        for (const metrics::FrameNote::Event& event : note.events)
            if (event.kind != metrics::EventKind::long_gap)
                writer_.instant(process_of(event.flow), metrics::name_of(event.kind), times_[note.frame],
                                fmt::format("\"frame\":{},\"value\":{}", note.frame, event.value));
    }

private:
    std::size_t process_of(std::uint64_t id) {
        const auto found = processes_.find(id);
        if (found != processes_.end()) return found->second;
        const metrics::FlowSnapshot* flow = snapshot_.flow(id);
        const std::string name =
            flow == nullptr ? fmt::format("flow {}", id)
                            : fmt::format("{} > {} ({} {}, flow {})", exporters::endpoint_text(flow->source, &names_),
                                          exporters::endpoint_text(flow->destination, &names_),
                                          metrics::name_of(flow->transport), metrics::name_of(flow->service), id);
        return processes_.emplace(id, writer_.process(name)).first->second;
    }
    /// From an earlier frame, if the capture has it, to the frame of the note, which is sent again.
    void add_arrow(const metrics::FrameNote& note, std::uint64_t from_frame, std::string_view from_name,
                   std::string_view name) {
        if (from_frame == 0 || from_frame >= note.frame) return;
        const std::size_t process = process_of(note.flow);
        add_packet(process, from_frame, from_name);
        add_packet(process, note.frame, "sent again");
        writer_.arrow(process, name, times_[from_frame], times_[note.frame]);
    }
    void add_packet(std::size_t process, std::uint64_t frame, std::string_view name) {
        if (packets_.lower_bound({process, 0}) == packets_.upper_bound({process, ~std::uint64_t{0}}))
            writer_.name_packets(process);
        if (packets_.emplace(process, frame).second) writer_.packet(process, name, times_[frame], frame);
    }
    void add(std::uint64_t flow, const metrics::FrameNote::Message& message) {
        const std::uint64_t first = message.first_frame != 0 ? message.first_frame : message.last_frame;
        const std::uint64_t last = std::max(message.last_frame, message.response_frame);
        if (first == 0 || last >= times_.size()) return;
        const std::string latency =
            message.latency_ns ? fmt::format(",\"latency_ns\":{}", *message.latency_ns) : std::string();
        writer_.slice(
            process_of(flow), "message", metrics::name_of(message.operation), times_[first], times_[last],
            fmt::format("\"number\":{},\"bytes\":{},\"first_frame\":{},\"last_frame\":{},\"response_frame\":{}{}",
                        message.number, message.bytes, message.first_frame, message.last_frame, message.response_frame,
                        latency));
    }

    EventWriter& writer_;
    const metrics::Snapshot& snapshot_;
    const analysis::Names& names_;
    const std::vector<std::int64_t>& times_;
    std::map<std::uint64_t, std::size_t> processes_ = {};
    std::set<std::pair<std::size_t, std::uint64_t>> packets_ = {};  ///< process and frame, that were written
};

/// A command that has ended, with the place of its connection.
struct KeptCommand {
    std::uint64_t connection = 0;
    metrics::CommandRecord record = {};
};

void add_commands(EventWriter& writer, const std::vector<KeptCommand>& commands,
                  const std::vector<metrics::CommandConnectionFigures>& connections, const analysis::Names& names) {
    std::map<std::uint64_t, std::size_t> processes;
    for (const metrics::CommandConnectionFigures& connection : connections)
        processes[connection.number] =
            writer.process(fmt::format("{}: {}", connection.protocol, io::ends_text(connection, names)));
    for (const KeptCommand& command : commands) {
        const metrics::CommandRecord& record = command.record;
        const auto process = processes.find(command.connection);
        if (process == processes.end() || !record.latency_ns || writer.is_full()) continue;
        writer.slice(
            process->second, "command", record.kind.empty() ? "(not captured)" : record.kind, record.begin_ns,
            record.begin_ns + static_cast<std::int64_t>(*record.latency_ns),
            fmt::format("\"id\":{},\"request_frame\":{},\"response_frame\":{},\"error\":{}", json_text(record.id),
                        record.request_first_frame, record.response_frame, json_text(record.error)));
    }
}

}  // namespace

EventTrace read_trace_events(const ReportOptions& options, const metrics::Snapshot& snapshot,
                             const analysis::Names& names, exporters::report::Anonymous* anonymous) {
    dissect::DissectorOptions dissector;
    dissector.parse.verify_crc = options.verify_crc;
    metrics::EngineOptions engine;
    engine.link_bits_per_sec = options.link_bits_per_sec;
    metrics::FrameNotes notes(engine, dissector);
    std::vector<KeptCommand> commands;
    metrics::CommandMeasure measure([&commands](const auto& connection, const metrics::CommandRecord& record) {
        commands.push_back({connection.number, record});
    });
    upper::Reader reader({.assignments = options.assignments}, nullptr, &measure);
    NotedFrames frames(notes, reader);
    io::IoOptions reading = reading_options(options, options.read_paths, false);
    const bool all = reading.max_packets && *reading.max_packets <= most_noted_frames;
    if (!all) reading.max_packets = most_noted_frames;
    io::CaptureRun capture(reading, frames, {.command = "report", .handles_signals = true, .reads_again = true});
    EventTrace trace;
    trace.failed = !capture.run();
    notes.finish();
    reader.finish();
    EventWriter writer(snapshot.capture.first_ns);
    FlowEvents flows(writer, snapshot, names, frames.times());
    for (std::uint64_t frame = 1; frame < frames.times().size() && !writer.is_full(); ++frame)
        for (const metrics::FrameNote* note : notes.notes(frame)) flows.add(*note);
    auto connections = measure.figures();
    if (anonymous != nullptr) connections = anonymous->connections(std::move(connections));
    add_commands(writer, commands, connections, names);
    if ((!all && capture.extent().packets == most_noted_frames) || writer.is_full())
        trace.left_out = fmt::format("the trace ends early: it holds at most {} packets and {} of text",
                                     base::group_digits(most_noted_frames),
                                     base::format_size(static_cast<double>(most_trace_bytes)));
    trace.text = writer.take();
    return trace;
}

}  // namespace cli::report
