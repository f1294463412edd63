#pragma once
#include <cstddef>
#include <string_view>

namespace wire {

/// Frame::comment holds any number of comments, each followed by a NUL; a comment cannot contain a NUL. The last NUL
/// may be missing if the last comment is not empty. So a text without NUL is one comment, a single NUL is one empty
/// comment, and an empty view is no comment.
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
