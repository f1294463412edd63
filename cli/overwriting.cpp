#include "cli/overwriting.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/ascii.h"
#include "capture/files/output.h"

namespace cli {

namespace {

/// Only of a regular file anything can be lost.
bool is_file(const std::string& path) {
    std::error_code unknown;
    return std::filesystem::is_regular_file(path, unknown);
}

std::string name_of(std::string_view path) { return path == "-" ? "/dev/stdin" : std::string(path); }

}  // namespace

std::string refuse_overwriting(const std::string& path, std::initializer_list<std::string_view> read) {
    if (path.empty() || path == "-" || !is_file(path)) return {};
    const bool is_read = std::any_of(read.begin(), read.end(), [&](std::string_view each) {
        return !each.empty() && capture::same_file(name_of(each), path);
    });
    return is_read ? std::string(capture::is_being_read) : std::string{};
}

std::string refuse_overwriting_numbered(const std::string& path, const std::string& read) {
    if (std::string plain = refuse_overwriting(path, {read}); !plain.empty()) return plain;
    std::error_code unknown;
    const std::string first = std::filesystem::weakly_canonical(path, unknown).string();
    const std::string source = std::filesystem::weakly_canonical(name_of(read), unknown).string();
    if (first.empty() || !source.starts_with(first) || !is_file(source)) return {};
    const std::string_view rest = std::string_view(source).substr(first.size());
    return std::all_of(rest.begin(), rest.end(), base::is_digit) ? std::string(capture::is_being_read) : std::string{};
}

}  // namespace cli
