#pragma once
#include <cstdint>
#include <string>

#include "cli/top/options.h"
#include "dissect/registry.h"
#include "metrics/answers/answer.h"
#include "tui/model/feed.h"
#include "tui/model/model.h"

namespace cli::top {

/// What is shown, and how it begins.
struct Show {
    tui::Feed& feed;
    const metrics::HostNames& names;
    const dissect::FieldRegistry& fields;
    const TopOptions& options;
    tui::Settings settings;
    std::string notice = {};  ///< to be said on the first picture; empty: nothing
    bool notice_is_error = true;
};

/// What is left when the screen is closed.
struct Shown {
    std::string error = {};    ///< why there was no screen; empty where there was one
    bool gone = false;         ///< the terminal is gone: write nothing more to it
    tui::Settings began = {};  ///< settings on the first picture, and on the last one
    tui::Settings settings = {};
    tui::ReadingPtr last = nullptr;
};

/// The screen, until its user has enough or a signal ends it.
Shown show_screen(const Show& show);

/// Chooses the view and the filter that the command line asks for, as a user would.
void begin_with(tui::Model& model, const TopOptions& options);

}  // namespace cli::top
