#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/io/kind_list.h"
#include "cli/io/kinds_report.h"
#include "cli/io/options.h"
#include "cli/io/range_groups.h"
#include "cli/text_output.h"
#include "exporters/text_table.h"
#include "metrics/measure/commands/command_measure.h"
#include "upper/reader.h"

namespace cli::io {

/// The commands that ended in each interval: a row for each kind on each connection, or with --by in each group.
/// Intervals begin at multiples of their length since 1970. Intervals without commands are left out.
class IntervalReport {
public:
    /// What commands are read from. `ranges` has the groups of GroupBy::lba.
    struct Source {
        upper::Reader& reader;
        metrics::CommandMeasure& measure;
        RangeGroups& ranges;
        KindList& list;
    };
    IntervalReport(const IoOptions& options, const analysis::Names& names, TextOutput& output, Source source);

    /// Call this with the time of each frame, before the frame is dissected. Prints the interval if it has ended. False
    /// if printing failed.
    bool pass(std::int64_t time_ns);
    /// No more frames will come.
    void finish();

private:
    bool close();
    void print(const ConnectionFigures& figures);
    void print(const std::vector<Group>& groups);
    void print_table(const ConnectionFigures& figures);
    void print_table(const std::vector<Group>& groups);
    void print_json(std::string_view member, const std::string& objects);
    void print_csv(const ConnectionFigures& figures);
    std::string csv_cells() const;
    void begin();

    const IoOptions& options_;
    const analysis::Names& names_;
    TextOutput& output_;
    Source source_;
    std::int64_t length_ns_;
    std::optional<std::int64_t> start_ns_ = {};
    ConnectionFigures before_ = {};  ///< at the beginning of the interval, by their numbers
    std::optional<exporters::Table> table_ = {};
    bool begun_ = false;
    bool any_ = false;  ///< an interval was printed
};

}  // namespace cli::io
