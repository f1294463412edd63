#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace base {

/// Why a source, writer or filter stopped: what is wrong, where, and what to do about it.
struct Error {
    std::string message;                       ///< a sentence without the path
    std::string path = {};                     ///< file or interface; empty where there is none
    std::optional<std::uint64_t> offset = {};  ///< octets from the start of the file (of the uncompressed data)
    std::uint64_t frames = 0;                  ///< frames delivered before it

    /// `path: message (at byte 24, after 3 frames)`, ready for stderr.
    std::string text() const;
};

}  // namespace base
