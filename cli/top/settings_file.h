#pragma once
#include <string>

#include "tui/model/settings.h"

namespace cli::top {

/// The file of a user's choices: TOML with one optional key for each choice. Invalid values are ignored and reported.
/// Unknown keys are kept.
class SettingsFile {
public:
    /// $XDG_CONFIG_HOME/rdmascope/top.toml, or below ~/.config; empty if neither folder is known.
    static std::string usual_path();

    explicit SettingsFile(std::string path) : path_(std::move(path)) {}

    tui::Settings read();
    /// What was wrong in the file, in one line; empty if the file is valid.
    const std::string& complaint() const { return complaint_; }

    /// Stores the settings that differ from `began`, and keeps what other processes have stored meanwhile. Returns the
    /// reason if that failed; empty on success, or if nothing has changed. A file that is not TOML is not overwritten.
    std::string write(const tui::Settings& began, const tui::Settings& now) const;

private:
    std::string path_;
    std::string complaint_ = {};
};

}  // namespace cli::top
