#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "tui/model/keys.h"

namespace tui {

/// A key in the last line: the few that one wants to be reminded of, in words shorter than those of help.
struct FooterKey {
    std::string_view key;
    std::string_view does;
    std::uint32_t views = (1U << view_count) - 1;
};
std::span<const FooterKey> footer_keys();

}  // namespace tui
