#pragma once
#include <string>

#include "tui/model/settings.h"

namespace cli::top {

/// Where a user's choices are kept: TOML, one key each, all optional. What is wrong with it is left out and told; keys
/// that are not ours are kept.
class SettingsFile {
public:
    /// $XDG_CONFIG_HOME/rdmascope/top.toml, or below ~/.config; empty where there is neither.
    static std::string usual_path();

    explicit SettingsFile(std::string path) : path_(std::move(path)) {}

    tui::Settings read();
    /// What was wrong with what was read, in a line; empty where nothing was.
    const std::string& complaint() const { return complaint_; }

    /// Stores the settings that differ from `began`, and keeps what others have stored meanwhile. Returns the reason if
    /// that failed; empty on success, or if nothing has changed. A file that is not TOML is not overwritten.
    std::string write(const tui::Settings& began, const tui::Settings& now) const;

private:
    std::string path_;
    std::string complaint_ = {};
};

}  // namespace cli::top
