#pragma once
#include <filesystem>
#include <system_error>
#include <vector>

namespace capture::counters {

/// The paths of what is in a folder, in any order; empty if there is no such folder.
inline std::vector<std::filesystem::path> folder_entries(const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    std::vector<fs::path> found;
    std::error_code fault;
    for (fs::directory_iterator at(folder, fault); !fault && at != fs::directory_iterator(); at.increment(fault))
        found.push_back(at->path());
    return found;
}

}  // namespace capture::counters
