#include "base/printable.h"

#include "base/text_format.h"

namespace base {

std::string excerpt(std::string_view text) {
    constexpr std::size_t longest = 60;
    std::string out;
    append_printable(out, text.substr(0, longest));
    return text.size() > longest ? out + "..." : out;
}

}  // namespace base
