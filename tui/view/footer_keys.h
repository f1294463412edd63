#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "tui/model/keys.h"

namespace tui::inline view {

/// A key in the last line: one that users should be reminded of, in fewer words than in help.
struct FooterKey {
    std::string_view key;
    std::string_view does;
    std::uint32_t views;
    enum class Where : std::uint8_t { view, prompt, menu, text } where = Where::view;
};
std::span<const FooterKey> footer_keys();

}  // namespace tui::view
