#include "daemon/recorder/recording_names.h"

#include <algorithm>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/ascii.h"
#include "base/descriptor.h"

namespace service::inline recorder {
namespace {

constexpr std::string_view prefix = "rdmascope-";
constexpr std::string_view recording_suffix = ".pcapng";
constexpr std::string_view unfinished_suffix = ".part";
constexpr std::size_t max_trigger_letters = 64;

bool is_plain(char c) { return base::is_alphanumeric(c) || c == '-' || c == '_'; }

/// "20261121T101530.123Z-", each digit as 'd'.
constexpr std::string_view time_shape = "ddddddddTdddddd.dddZ-";
bool has_time_shape(std::string_view text) {
    if (text.size() < time_shape.size()) return false;
    for (std::size_t i = 0; i < time_shape.size(); ++i)
        if (time_shape[i] == 'd' ? !base::is_digit(text[i]) : text[i] != time_shape[i]) return false;
    return true;
}

bool is_unfinished(std::string_view name) {
    if (!name.starts_with('.') || !name.ends_with(unfinished_suffix)) return false;
    name.remove_prefix(1);
    name.remove_suffix(unfinished_suffix.size());
    return is_recording(name);
}

/// Of regular files.
template <class Wanted>
std::vector<std::string> names_in(const base::Folder& folder, Wanted&& wanted) {
    std::vector<std::string> names;
    base::Descriptor own(::openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(own ? ::fdopendir(own.number()) : nullptr, ::closedir);
    if (!entries) return names;
    own.release();
    while (const dirent* entry = ::readdir(entries.get())) {
        struct stat found {};
        if (wanted(std::string_view(entry->d_name)) &&
            ::fstatat(folder.descriptor(), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode))
            names.emplace_back(entry->d_name);
    }
    return names;
}

}  // namespace

std::string recording_name(std::int64_t time_ns, std::string_view trigger) {
    constexpr std::int64_t second = 1'000'000'000;
    std::time_t seconds = time_ns / second;
    std::int64_t rest = time_ns % second;
    if (rest < 0) {
        rest += second;
        --seconds;
    }
    std::tm utc = {};
    ::gmtime_r(&seconds, &utc);
    std::string name = fmt::format("{}{:04}{:02}{:02}T{:02}{:02}{:02}.{:03}Z-", prefix, utc.tm_year + 1900,
                                   utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, rest / 1'000'000);
    for (const char c : trigger.substr(0, max_trigger_letters)) name += is_plain(c) ? c : '_';
    if (trigger.empty()) name += "unnamed";
    return name.append(recording_suffix);
}

bool is_recording(std::string_view name) {
    if (!name.starts_with(prefix) || !name.ends_with(recording_suffix)) return false;
    name.remove_prefix(prefix.size());
    if (!has_time_shape(name)) return false;
    name.remove_prefix(time_shape.size());
    if (name.size() <= recording_suffix.size()) return false;
    name.remove_suffix(recording_suffix.size());
    return name.size() <= max_trigger_letters && std::all_of(name.begin(), name.end(), is_plain);
}

std::string unfinished_name(std::string_view name) { return fmt::format(".{}{}", name, unfinished_suffix); }

void remove_unfinished(const base::Folder& folder) {
    for (const std::string& name : names_in(folder, is_unfinished)) {
        const auto file = folder.open_file(name);
        // The process that writes a recording holds a lock on it.
        if (file && ::flock(file->number(), LOCK_EX | LOCK_NB) == 0) folder.remove(name);
    }
}

std::uint64_t remove_oldest(const base::Folder& folder, std::uint64_t max_files, const std::string& just_written) {
    std::vector<std::string> names = names_in(folder, is_recording);
    const std::string_view newest = std::string_view(just_written).substr(0, prefix.size() + time_shape.size());
    const auto is_to_come = [newest](const std::string& name) {
        return !newest.empty() && std::string_view(name).substr(0, newest.size()) > newest;
    };
    std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
        if (is_to_come(a) != is_to_come(b)) return is_to_come(a);
        return a < b;
    });
    std::uint64_t removed = 0;
    for (const std::string& name : names) {
        if (names.size() - removed <= max_files) break;
        if (name == just_written) continue;
        if (folder.remove(name)) ++removed;
    }
    return removed;
}

}  // namespace service::recorder
