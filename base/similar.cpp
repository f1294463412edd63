#include "base/similar.h"

#include <algorithm>
#include <fmt/core.h>
#include <vector>

namespace base {

std::size_t distance(std::string_view a, std::string_view b) {
    // Optimal string alignment: three rows of the table are enough.
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + changed});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        std::swap(before_last, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string_view candidate : known) {
        // An unfinished word is nearer than its length says.
        const bool begun = word.size() >= 2 && candidate.starts_with(word);
        const std::size_t d = begun ? 1 : distance(word, candidate);
        if (d >= best_distance) continue;
        best = candidate;
        best_distance = d;
    }
    return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    const std::string_view meant = nearest(word, known);
    return meant.empty() ? std::string{} : fmt::format(", did you mean '{}'?", meant);
}

}  // namespace base
