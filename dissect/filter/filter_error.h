#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dissect::filter {

/// Why a display filter was refused, and the place of the mistake.
struct FilterError {
    std::string message;                   ///< one sentence, without a full stop
    std::string expression;                ///< as the user wrote it
    std::uint32_t column = 0;              ///< of the first byte at fault, from 0; the expression's length at its end
    std::uint32_t length = 1;              ///< bytes at fault
    std::vector<std::string> suggestions;  ///< names that may have been meant, best first

    /// The message, the expression with a line that marks the place, and the suggestions: several lines, the last one
    /// without a line end. Control characters of the expression are shown as dots, a long expression in part.
    std::string text() const;
    /// The same in one line, for places that show the expression next to it.
    std::string line() const;
};

}  // namespace dissect::filter
