#include "cli/file_words.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace cli {

namespace {

bool has_ending_of_capture(std::string_view word) {
    constexpr std::array<std::string_view, 3> compressions{".gz", ".zst", ".lz4"};
    constexpr std::array<std::string_view, 4> formats{".pcap", ".pcapng", ".cap", ".erf"};
    for (const std::string_view compression : compressions)
        if (word.ends_with(compression)) word.remove_suffix(compression.size());
    return std::ranges::any_of(formats, [word](std::string_view format) { return word.ends_with(format); });
}

}  // namespace

bool names_capture(const std::string& word) {
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::status(word, unknown);
    const bool is_file = std::filesystem::is_regular_file(status) || std::filesystem::is_fifo(status);
    return is_file || word.find('/') != std::string::npos || has_ending_of_capture(word);
}

std::vector<std::string> take_captures(std::vector<std::string>& words, std::size_t most) {
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(std::min(most, words.size()));
    const auto rest = std::find_if_not(words.begin(), end, names_capture);
    std::vector<std::string> captures(words.begin(), rest);
    words.erase(words.begin(), rest);
    return captures;
}

}  // namespace cli
