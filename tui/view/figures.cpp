#include "tui/view/figures.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "base/clock.h"
#include "base/moment.h"
#include "base/timestamp.h"
#include "tui/view/grid.h"

namespace tui::inline view {

namespace {

base::Charset charset_of(const Letters& letters) { return letters.utf8 ? base::Charset::utf8 : base::Charset::ascii; }

}  // namespace

std::string short_count(std::uint64_t number) {
    return number < 100'000 ? base::group_digits(number) : base::format_count(number);
}

base::Style in_sentence(const Letters& letters) { return {base::Spacing::sentence, charset_of(letters)}; }
base::Style in_column(const Letters& letters) { return {base::Spacing::column, charset_of(letters)}; }

std::string clock_text(std::int64_t time_ns, bool finer) {
    std::string text;
    base::Timestamps(base::TimeStyle::time_of_day, false).append(text, time_ns);
    const std::size_t dot = text.find('.');
    return text.substr(0, finer ? std::min(dot + 4, text.size()) : dot);
}

std::string between_text(std::int64_t start_ns, std::int64_t end_ns) {
    constexpr std::uint64_t ms = 1'000'000;
    const std::int64_t last_ns = end_ns > start_ns ? end_ns - 1 : start_ns;
    const std::uint64_t length_ns = static_cast<std::uint64_t>(last_ns) - static_cast<std::uint64_t>(start_ns);
    const std::size_t cut = length_ns >= 100 * ms ? 4 : length_ns >= 10 * ms ? 2 : length_ns >= ms ? 1 : 0;
    std::string first = clock_text(start_ns, true);
    std::string last = clock_text(last_ns, true);
    for (std::string* text : {&first, &last}) text->erase(text->size() - std::min(cut, text->size()));
    if (first == last) return first;
    const auto differs =
        static_cast<std::size_t>(std::mismatch(first.begin(), first.end(), last.begin()).first - first.begin());
    const std::size_t colon = last.rfind(':', differs);
    return fmt::format("{} - {}", first, colon == std::string::npos ? last : last.substr(colon + 1));
}

std::string date_text(std::int64_t time_ns) { return base::moment(time_ns).substr(0, 10); }

std::string host_text(const metrics::Address& address, const metrics::HostNames* names) {
    return metrics::address_text(address, names);
}

Trouble trouble_of(const FeedStatus& feed, int width) {
    constexpr int badge = 10;  ///< " FAILED " and a blank on each side
    Trouble trouble;
    for (std::string& line : wrapped(feed.trouble, width - badge)) {
        if (trouble.first.empty()) {
            trouble.first = std::move(line);
        } else {
            trouble.rest += (trouble.rest.empty() ? "" : " ") + line;
        }
    }
    return trouble;
}

std::vector<int> deal(const std::uint64_t* shares, std::size_t count, int total) {
    std::vector<int> dealt(count, 0);
    const double sum = std::accumulate(shares, shares + count, 0.0);
    if (sum <= 0 || total <= 0) return dealt;
    std::vector<double> rest(count);
    int left = total;
    for (std::size_t i = 0; i < count; ++i) {
        const double exact = static_cast<double>(shares[i]) * total / sum;
        dealt[i] = static_cast<int>(exact);
        rest[i] = exact - dealt[i];
        left -= dealt[i];
    }
    for (; left > 0; --left) {
        const auto most = std::max_element(rest.begin(), rest.end());
        ++dealt[static_cast<std::size_t>(most - rest.begin())];
        *most = -1;
    }
    return dealt;
}

std::uint64_t shown_ns(const ModelState& state) {
    if (!state.reading) return 0;
    if (state.choice.window == Window::interval) return state.reading->length_ns;
    return state.reading->whole_ns();
}

}  // namespace tui::view
