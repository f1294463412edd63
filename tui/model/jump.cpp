#include "tui/model/jump.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/moment.h"
#include "base/quantities.h"

namespace tui::inline model {

namespace {

base::Failure<base::Error> expected(const std::string& what) { return {{.message = what + " is expected"}}; }

}  // namespace

base::Result<std::int64_t> jump_target(const std::string& text, const FeedStatus& feed) {
    const auto bounded = [&feed](std::int64_t time_ns) {
        return std::clamp(time_ns, feed.begin_ns, std::max(feed.begin_ns, feed.end_ns.value_or(time_ns)));
    };
    if (text == "start") return feed.begin_ns;
    if (text.ends_with('%') || text == "end") {
        const base::Parsed<double> share = base::parse_share(text == "end" ? "100%" : text);
        if (!share) return expected("a share from 0% to 100%");
        if (*share > 0 && !feed.end_ns)
            return base::Failure{base::Error{"where it ends is known when it was read to the end"}};
        const auto length = static_cast<double>(feed.end_ns.value_or(feed.begin_ns) - feed.begin_ns);
        return bounded(feed.begin_ns + static_cast<std::int64_t>(length * *share));
    }
    if (text.starts_with('+') || text.starts_with('-')) {
        const base::Parsed<std::uint64_t> by_ns = base::parse_duration(std::string_view(text).substr(1));
        if (!by_ns) return expected(by_ns.error());
        const auto by = static_cast<std::int64_t>(*by_ns);
        return bounded(text.starts_with('+') ? feed.now_ns + by : feed.now_ns - by);
    }
    std::int64_t time_ns = 0;
    if (!base::take_moment(text, feed.now_ns, time_ns).empty())
        return expected("+10s, -1m, 50%, 12:00:03, '2026-11-21 10:00', start or end");
    return bounded(time_ns);
}

}  // namespace tui::model
