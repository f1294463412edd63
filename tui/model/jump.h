#pragma once
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "tui/model/feed.h"

namespace tui::inline model {

/// The time that a text means: "+10s" and "-1m" from where the source is, "50%" of it, "12:00:03" on the day that is
/// shown, a moment as base/moment.h has them, "start", "end". The result is bounded to the source's range. The error
/// says what is expected.
base::Result<std::int64_t> jump_target(const std::string& text, const FeedStatus& feed);

}  // namespace tui::model
