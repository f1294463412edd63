#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/report/sequence_plot.h"
#include "exporters/report/time_line.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"
#include "metrics/figures/snapshot.h"

namespace exporters::report {

/// Where the figures come from.
enum class SourceKind : std::uint8_t { file, live, history, daemon };
constexpr std::string_view name_of(SourceKind kind) {
    constexpr std::array<std::string_view, 4> names{"file", "live", "history", "daemon"};
    return names[static_cast<std::size_t>(kind)];
}

/// All that a report shows.
struct ReportData {
    std::string title;
    std::string version;               ///< of the program
    std::vector<std::string> command;  ///< the command line, in words
    SourceKind source = SourceKind::file;
    std::vector<std::string> files;  ///< to which the numbers of frames refer; empty if no file was read
    bool anonymous = false;
    std::string summary;  ///< what was read, in a sentence
    bool crc_verified = true;
    const metrics::HostNames* names = nullptr;
    const metrics::Snapshot* snapshot = nullptr;
    std::vector<metrics::Answer> answers;
    const metrics::DeviceFigures* devices = nullptr;
    std::string commands = "[]";  ///< connections with commands of upper layers, as `io --json` has them
    const TimeLine* time_line = nullptr;
    std::vector<SequencePlot> plots;    ///< of the flows that are worth a look, the worst first
    std::string live = {};              ///< of a daemon's page: the JSON of the member `live`; empty otherwise
    std::vector<std::string> left_out;  ///< what was thinned or left out, one sentence each
};

}  // namespace exporters::report
