#pragma once
#include <string>
#include <string_view>

namespace base {

/// A word of a command that users paste: in single quotes if a shell would otherwise change it.
std::string shell_word(std::string_view word);

}  // namespace base
