#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantities.h"
#include "metrics/figures/snapshot.h"
#include "tui/model/model.h"
#include "tui/view/letters.h"
#include "tui/view/wrap.h"

namespace tui::inline view {

/// "12,345", from a hundred thousand on "123k".
std::string short_count(std::uint64_t number);
/// The style of quantities in sentences and next to labels: "14.0 ms", "881 µs" if the terminal has that letter.
base::Style in_sentence(const Letters& letters);
/// The style of quantities in tables and at the axes of charts: "14.0ms".
base::Style in_column(const Letters& letters);
/// Local time of day, with milliseconds where `finer`.
std::string clock_text(std::int64_t time_ns, bool finer);
/// "02:14:20 - 21": the local time of [start_ns, end_ns), as finely as needed; one time if both are the same.
std::string between_text(std::int64_t start_ns, std::int64_t end_ns);
std::string date_text(std::int64_t time_ns);  ///< "2026-11-21", local
/// The name if there is one, else the address.
std::string host_text(const metrics::Address& address, const metrics::HostNames* names);

/// A source's problem (FeedStatus::trouble), for the header's line and, if it is longer, for the footer's.
struct Trouble {
    std::string first;
    std::string rest;
};
Trouble trouble_of(const FeedStatus& feed, int width);

/// Divides `total` among the shares by largest remainder, so that all of it is used; all 0 if there are no shares.
std::vector<int> deal(const std::uint64_t* shares, std::size_t count, int total);

/// The time that the figures on the screen cover, 0 if absent: ModelState::choice.window.
std::uint64_t shown_ns(const ModelState& state);

}  // namespace tui::view
