#include "cli/text_output.h"

#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <unistd.h>

namespace cli {

bool TextOutput::flush() {
    for (std::size_t done = 0; error_ == 0 && done < text_.size();) {
        const ssize_t now = ::write(descriptor_, text_.data() + done, text_.size() - done);
        if (now >= 0) {
            done += static_cast<std::size_t>(now);
            written_ += static_cast<std::uint64_t>(now);
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
    text_.clear();
    return error_ == 0;
}

bool TextOutput::reader_is_gone() const { return error_ == EPIPE; }

std::string TextOutput::error() const {
    const char* advice = error_ == ENOSPC || error_ == EDQUOT ? "; make room, or print elsewhere" : "";
    const char* reason = error_ == ENOSPC ? "the disk is full" : std::strerror(error_);
    return fmt::format("standard output: {} (after {} bytes){}", reason, written_, advice);
}

}  // namespace cli
