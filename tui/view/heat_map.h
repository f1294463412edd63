#pragma once
#include <cstdint>
#include <vector>

#include "tui/view/chart.h"

namespace tui::inline view {

/// Latencies of the intervals shown, rows of powers of two.
struct HeatMap {
    std::size_t lowest = 0;                             ///< bin of the lowest row
    std::size_t bins_per_row = 1;                       ///< where there are more bins than rows
    std::vector<std::vector<std::uint32_t>> rows = {};  ///< by row from the lowest, by column
    std::uint32_t most = 0;
};
/// The bins that the columns use, in at most `height` rows.
HeatMap heat_map_of(const TimeColumns& columns, int height);
/// 0 for none, else 1 to 7 by the logarithm of the count, 7 where it is `most`.
unsigned heat_of(std::uint32_t count, std::uint32_t most);

}  // namespace tui::view
