#pragma once
#include <string>

namespace cli::run {

/// A library of ours to be put before a program's own, in `path`: next to this program, as in a build folder, or where
/// it was installed. Returns why the library is missing, or an empty string. `purpose`: "of the software stack".
std::string find_library(const char* name, const char* purpose, std::string& path);

/// Adds it to the LD_PRELOAD of this process, and of those that it becomes or starts; after what is there: a sanitizer
/// must be the first, and a library that wraps the functions of another stands above it.
void preload(const std::string& path);

}  // namespace cli::run
