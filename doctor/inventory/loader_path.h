#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/root.h"

namespace doctor::inline inventory {

/// /etc/ld.so.cache: library names and where they are, in the loader's order; for 64-bit programs of this machine, and
/// without those for processors of special abilities (glibc-hwcaps). Empty where the bytes are no cache.
std::vector<std::pair<std::string, std::string>> read_loader_cache(std::string_view octets);

/// Where ld.so(8) looks for libraries.
class LoaderPath {
public:
    explicit LoaderPath(const Root& root);

    /// LD_LIBRARY_PATH of this process.
    const std::vector<std::string>& environment() const { return environment_; }
    /// Of ld.so.conf and those built into the loader.
    const std::vector<std::string>& folders() const { return folders_; }
    /// Where the cache has a name; empty where it does not.
    std::string cached(std::string_view name) const;
    const std::multimap<std::string, std::string, std::less<>>& cache() const { return cache_; }
    /// The file that the loader takes for a name, asked by a program without paths of its own; empty if there is none.
    std::string find(const Root& root, std::string_view name) const;

private:
    std::vector<std::string> environment_ = {};
    std::vector<std::string> folders_ = {};
    std::multimap<std::string, std::string, std::less<>> cache_ = {};
    bool has_cache_ = false;
};

}  // namespace doctor::inventory
