#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/analysis/options.h"
#include "tui/model/keys.h"
#include "tui/model/settings.h"

namespace cli::top {

struct Size {
    int width = 0;
    int height = 0;
};

/// The command line of `top`.
struct TopOptions : analysis::AnalysisOptions {
    std::optional<std::uint64_t> interval_ns = {};
    std::optional<double> speed = {};  ///< for files and history; 0: full speed
    bool paused = false;
    std::vector<std::string> columns = {};
    std::string sort = {};
    std::string filter = {};
    std::optional<tui::View> view = {};
    std::string theme = {};
    bool ascii = false;
    bool mouse = true;
    bool color = true;
    bool once = false;  ///< one picture as text, without a terminal
    std::optional<Size> size = {};

    bool column_help() const { return columns.size() == 1 && columns.front() == "help"; }
    /// Whether the source is played back: files and history are, live packets and the daemon are not.
    bool plays_back() const { return recalls() || !read_paths.empty(); }
};

/// Reads the command line.
std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, TopOptions& out);
std::string help_text();
options::OptionTable<TopOptions> option_table();

/// "100ms" to "10s". Sets `into_ns`, or returns what is expected instead of the value.
std::string take_interval(const std::string& value, std::uint64_t& into_ns);

/// The stored settings, with the command line's choices in their place.
tui::Settings overridden(tui::Settings settings, const TopOptions& options);

}  // namespace cli::top
