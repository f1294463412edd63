#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace cli {

/// Why nothing may be written to `path`: the command reads that file, by any name or link, and would destroy it before
/// it was read. Empty if writing is allowed. `-` among `read` is standard input; empty names are ignored.
std::string refuse_overwriting(const std::string& path, std::initializer_list<std::string_view> read);

/// The same for numbered files: `path`, and names that begin with it and end in digits.
std::string refuse_overwriting_numbered(const std::string& path, const std::string& read);

}  // namespace cli
