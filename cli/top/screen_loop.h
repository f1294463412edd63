#pragma once
#include <cstdint>
#include <string>

#include "cli/top/options.h"
#include "dissect/registry.h"
#include "metrics/answers/answer.h"
#include "tui/model/feed.h"
#include "tui/model/model.h"

namespace cli::top {

/// What the screen shows, and how it begins.
struct Show {
    tui::Feed& feed;
    const metrics::HostNames& names;
    const dissect::FieldRegistry& fields;
    const TopOptions& options;
    tui::Settings settings;
    std::string notice = {};  ///< a notice on the first picture; may be empty
    bool notice_is_error = true;
};

/// The state after the screen was closed.
struct Shown {
    std::string error = {};    ///< why there was no screen; empty if there was a screen
    bool gone = false;         ///< the terminal is gone: nothing can be written to it
    tui::Settings began = {};  ///< settings on the first picture, and on the last picture
    tui::Settings settings = {};
    tui::ReadingPtr last = nullptr;
};

/// Shows the screen until the user or a signal ends it.
Shown show_screen(const Show& show);

/// Chooses the view and the filter that the command line asks for, as a user would.
void begin_with(tui::Model& model, const TopOptions& options);

}  // namespace cli::top
