#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tui::inline model {

enum class Grouping : std::uint8_t { none, source, destination, transport, traffic_class, process };
std::string_view name_of(Grouping grouping);

/// The time that figures cover: the last interval, or all since the source began.
enum class Window : std::uint8_t { interval, total };

/// Colour schemes, the default first; view/theme.h has the colours themselves.
inline constexpr std::array<std::string_view, 4> theme_names{"safe", "classic", "light", "plain"};

/// A user's choices that are stored for the next time: ~/.config/rdmascope/top.toml.
struct Settings {
    std::vector<std::string> columns;  ///< names of model/columns.h; empty: the usual ones
    std::string sort;  ///< a column's name, with `-` before it for the reverse order; empty: the default
    Grouping grouping = Grouping::none;
    Window window = Window::interval;
    std::string theme = std::string(theme_names.front());  ///< one of theme_names
    std::uint64_t interval_ns = 1'000'000'000;
    bool names = true;  ///< hosts by name
    bool operator==(const Settings&) const = default;
};

}  // namespace tui::model
