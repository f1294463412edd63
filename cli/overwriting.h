#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace cli {

/// Why nothing may be written to `path`: it is one of the files that the command reads, by whatever name or link, and
/// would be gone before it was read. Empty where it may. `-` among `read` is standard input; empty names are ignored.
std::string refuse_overwriting(const std::string& path, std::initializer_list<std::string_view> read);

/// The same for files that are numbered: `path` and what begins with it and ends in digits.
std::string refuse_overwriting_numbered(const std::string& path, const std::string& read);

}  // namespace cli
