#pragma once
#include <cstddef>

namespace trace::inline ring {

/// The folder of all users, if there is one.
inline constexpr char machines_directory[] = "/run/rdmascope/trace";

/// Where rings are: $RDMASCOPE_TRACE_DIR; else `everybodys` where it is a folder, not a link, and this process may
/// write there; else $XDG_RUNTIME_DIR/rdmascope/trace; else /tmp/rdmascope-UID/trace.
///
/// The last two are made where they are missing, for this user alone; a folder in /tmp that belongs to somebody else,
/// or that others may write to, is refused. Writes the path into `path` and returns 0, else an errno, with the path
/// that it is about. Knows nothing but libc: traced programs call it.
int trace_directory(char* path, std::size_t size, bool make, const char* everybodys = machines_directory);

}  // namespace trace::ring
