/// Runs a fuzz target over files and folders of files, without libFuzzer: what CTest does with past crashes and seeds.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

void replay(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    // What is named last before a crash is what crashed.
    std::fprintf(stderr, "%s\n", path.c_str());
    // An allocation of exactly this size lets AddressSanitizer see one octet too many.
    const std::vector<std::uint8_t> exact(content.begin(), content.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<std::filesystem::path> paths;
    for (int i = 1; i < count; ++i) {
        if (!std::filesystem::is_directory(arguments[i])) {
            paths.emplace_back(arguments[i]);
            continue;
        }
        for (const auto& entry : std::filesystem::recursive_directory_iterator(arguments[i]))
            if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) replay(path);
    std::printf("%zu inputs survived\n", paths.size());
    return 0;
}
