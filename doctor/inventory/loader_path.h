#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/root.h"

namespace doctor::inline inventory {

/// /etc/ld.so.cache: library names and their files, in the loader's order; for 64-bit programs of this machine, without
/// those for processors with special features (glibc-hwcaps). Empty if the bytes are not a cache.
std::vector<std::pair<std::string, std::string>> read_loader_cache(std::string_view octets);

/// The folders that ld.so(8) searches.
class LoaderPath {
public:
    explicit LoaderPath(const Root& root);

    /// LD_LIBRARY_PATH of this process.
    const std::vector<std::string>& environment() const { return environment_; }
    /// Of ld.so.conf and those built into the loader.
    const std::vector<std::string>& folders() const { return folders_; }
    /// The file of a name in the cache; empty if it has none.
    std::string cached(std::string_view name) const;
    const std::multimap<std::string, std::string, std::less<>>& cache() const { return cache_; }
    /// The file that the loader chooses for a name, for a program without paths of its own; empty if absent.
    std::string find(const Root& root, std::string_view name) const;

private:
    std::vector<std::string> environment_ = {};
    std::vector<std::string> folders_ = {};
    std::multimap<std::string, std::string, std::less<>> cache_ = {};
    bool has_cache_ = false;
};

}  // namespace doctor::inventory
