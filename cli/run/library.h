#pragma once
#include <string>

namespace cli::run {

/// Finds a library of rdmascope that is loaded before a program's own libraries. It is next to this program, as in a
/// build folder, or where it was installed. Returns why the library is missing, or an empty string. `purpose`: "of the
/// software stack".
std::string find_library(const char* name, const char* purpose, std::string& path);

/// Adds the library to the LD_PRELOAD of this process and its children, after the libraries that are there: a sanitizer
/// must be the first, and a library that wraps functions of another library must come before that library.
void preload(const std::string& path);

}  // namespace cli::run
