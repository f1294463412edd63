#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace base {

/// Why a source, writer or filter stopped: what is wrong, where, and what to do about it.
struct Error {
    std::string message;                       ///< a sentence without the path
    std::string path = {};                     ///< file or interface; empty if absent
    std::optional<std::uint64_t> offset = {};  ///< bytes from the start of the file (of the uncompressed data)
    std::uint64_t frames = 0;                  ///< frames delivered before it

    /// `path: message (at byte 24, after 3 frames)`, ready for stderr.
    std::string text() const;
};

/// For a step that reports all errors, not only the first: `Result<T, Errors>`.
using Errors = std::vector<Error>;
/// One line for each error.
std::string text_of(const Errors& errors);

/// `return failure("no such file; name another with --config", path)`.
inline Failure<Error> failure(std::string message, std::string path = {}) {
    return {Error{.message = std::move(message), .path = std::move(path)}};
}

}  // namespace base
