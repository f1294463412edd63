#include "cli/report/second_reading.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/clock.h"
#include "base/quantities.h"
#include "cli/io/capture_run.h"
#include "cli/report/mark_collector.h"
#include "exporters/command_json.h"
#include "metrics/measure/commands/command_measure.h"
#include "upper/reader.h"

namespace cli::report {

namespace {

constexpr std::size_t most_connection_bytes = 250'000;

/// What the dissector finds, for the plots and for the commands.
class Both final : public dissect::Sink {
public:
    Both(MarkCollector& marks, upper::Reader& reader) : marks_(marks), reader_(reader) {}

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        marks_.on_frame(frame, dissection);
        reader_.on_frame(frame, dissection);
    }
    void on_unit(const dissect::Unit& unit) override {
        marks_.on_unit(unit);
        reader_.on_unit(unit);
    }
    void on_notice(const dissect::Notice& notice) override { reader_.on_notice(notice); }

private:
    MarkCollector& marks_;
    upper::Reader& reader_;
};

}  // namespace

io::IoOptions reading_options(const ReportOptions& options, const std::vector<std::string>& paths, bool is_copy) {
    io::IoOptions reading;
    reading.read_paths = paths;
    reading.verify_crc = options.verify_crc;
    reading.assignments = options.assignments;
    if (is_copy) return reading;
    reading.expression = options.expression;
    reading.expression_path = options.expression_path;
    reading.max_packets = options.max_packets;
    reading.duration_ns = options.duration_ns;
    return reading;
}

Details read_details(const ReportOptions& options, const std::vector<std::string>& paths, bool is_copy,
                     const metrics::Snapshot& snapshot, std::span<const metrics::FlowSnapshot* const> flows,
                     std::span<const std::uint64_t> frames) {
    MarkCollector::Bounds bounds;
    bounds.capture_ns = base::elapsed(snapshot.capture.first_ns, snapshot.capture.last_ns);
    MarkCollector marks(flows, frames, bounds);
    metrics::CommandMeasure measure;
    io::IoOptions reading = reading_options(options, paths, is_copy);
    // What was right the first time is right again. iWARP needs its CRCs to find the messages.
    const bool iwarp =
        std::ranges::any_of(snapshot.flows, [](const auto& flow) { return flow.transport == wire::Transport::iwarp; });
    reading.verify_crc = reading.verify_crc && (snapshot.capture.icrc_bad != 0 || iwarp);
    upper::Reader reader({.assignments = reading.assignments}, nullptr, &measure);
    Both both(marks, reader);
    io::CaptureRun capture(reading, both, {.command = "report", .handles_signals = true, .reads_again = true});
    Details details;
    details.failed = !capture.run();
    reader.finish();
    details.plots = marks.take();
    details.connections = measure.figures();
    return details;
}

std::string connections_json(const std::vector<metrics::CommandConnectionFigures>& connections,
                             const analysis::Names& names, std::vector<std::string>& left_out) {
    std::vector<const metrics::CommandConnectionFigures*> all;
    all.reserve(connections.size());
    for (const metrics::CommandConnectionFigures& connection : connections) all.push_back(&connection);
    exporters::CommandConnections listed = exporters::command_connections(all, &names, most_connection_bytes);
    if (listed.count < all.size())
        left_out.push_back(fmt::format("Of {} connections with commands, the {} with the most commands are listed.",
                                       base::group_digits(all.size()), listed.count));
    return std::move(listed.text);
}

}  // namespace cli::report
