#pragma once
#include <cstddef>
#include <string_view>

namespace wire {

/// Frame::comment holds any number of comments: each ends with a NUL, which none can contain, but the last of them may
/// lack its own where it is not empty. So a text is one comment, a NUL alone is one that is empty, and an empty view is
/// none.
template <class Visit>
void for_each_comment(std::string_view comments, Visit&& visit) {
    while (!comments.empty()) {
        const std::size_t end = comments.find('\0');
        visit(comments.substr(0, end));
        if (end == std::string_view::npos) return;
        comments.remove_prefix(end + 1);
    }
}

}  // namespace wire
