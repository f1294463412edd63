#pragma once
#include <string_view>
#include <vector>

#include "metrics/figures/snapshot.h"

namespace service::inline recorder {

/// The kinds of events that a figure counts or comes from: "rnr_naks" has `rnr_nak`. Empty if no kind stands for the
/// figure; then all events may be shown.
std::vector<metrics::EventKind> find_event_kinds(std::string_view path);

}  // namespace service::recorder
