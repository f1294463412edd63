#include "cli/report/second_reading.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.h"
#include "base/quantities.h"
#include "cli/io/capture_run.h"
#include "cli/io/kinds_report.h"
#include "cli/report/mark_collector.h"
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

std::uint64_t commands_of(const metrics::CommandConnectionFigures& connection) {
    std::uint64_t commands = 0;
    for (const metrics::CommandKindFigures& kind : connection.kinds) commands += kind.commands;
    return commands;
}

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
    const io::IoOptions reading = reading_options(options, paths, is_copy);
    upper::Reader reader({.assignments = reading.assignments}, nullptr, &measure);
    Both both(marks, reader);
    io::CaptureRun capture(reading, both, {.command = "report", .reads_again = true});
    Details details;
    details.failed = !capture.run();
    reader.finish();
    details.plots = marks.take();
    details.connections = measure.figures();
    return details;
}

std::string connections_json(std::vector<metrics::CommandConnectionFigures> connections, const analysis::Names& names,
                             std::vector<std::string>& left_out) {
    std::vector<std::size_t> order(connections.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&connections](std::size_t i) { return commands_of(connections[i]); });
    std::map<std::size_t, std::string> chosen;  // by their place in the capture
    std::size_t bytes = 0;
    for (const std::size_t i : order) {
        std::string text;
        io::append_json(text, {connections[i]}, names);
        text = nlohmann::ordered_json::parse(text).at("connections").at(0).dump();
        bytes += text.size();
        if (bytes > most_connection_bytes && !chosen.empty()) break;
        chosen.emplace(i, std::move(text));
    }
    if (chosen.size() < connections.size())
        left_out.push_back(fmt::format("Of {} connections with commands, the {} with the most commands are listed.",
                                       base::group_digits(connections.size()), chosen.size()));
    std::string out = "[";
    for (const auto& [place, text] : chosen) out += (out.size() == 1 ? "\n" : ",\n") + text;
    return out + "]";
}

}  // namespace cli::report
