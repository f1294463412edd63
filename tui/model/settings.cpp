#include "tui/model/settings.h"

#include <array>

namespace tui::inline model {

std::string_view name_of(Grouping grouping) {
    constexpr std::array<std::string_view, 6> names{"none",      "source",        "destination",
                                                    "transport", "traffic class", "process"};
    return names[static_cast<std::size_t>(grouping)];
}

}  // namespace tui::model
