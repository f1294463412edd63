#include "base/shell_word.h"

#include <algorithm>

#include "base/ascii.h"

namespace base {

std::string shell_word(std::string_view word) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return is_alphanumeric(c) || std::string_view("/._+-:@=,").find(c) != std::string_view::npos;
    });
    if (plain) return std::string(word);
    std::string out = "'";
    for (const char letter : word) out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return out + "'";
}

}  // namespace base
