#include "fleet/sink/spool.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"

namespace fleet::sink {
namespace {

constexpr std::string_view suffix = ".rows";
constexpr std::string_view unfinished = ".new";
/// Of one file: more than a million flows in an interval.
constexpr std::size_t most_file_octets = std::size_t{2} << 30;
constexpr mode_t folder_mode = 0750;
constexpr mode_t file_mode = 0640;

base::Failure<base::Error> failed(std::string_view doing, const std::string& path) {
    return base::failure(fmt::format("cannot {} ({})", doing, std::strerror(errno)), path);
}

base::Result<base::Folder> make_folder(const std::string& path) {
    auto folder = base::Folder::make(path, folder_mode);
    if (!folder) return base::failure("cannot be the spool's folder: " + folder.error().reason, path);
    return std::move(folder).value();
}

base::Result<base::Descriptor> lock_folder(const base::Folder& folder) {
    auto lock = folder.open_file("lock", O_RDWR | O_CREAT, file_mode);
    if (!lock) return base::failure("cannot be written: " + lock.error().reason, folder.path_of("lock"));
    if (::flock(lock->number(), LOCK_EX | LOCK_NB) != 0)
        return base::failure("another daemon has this spool; give each a folder of its own", folder.path());
    return std::move(lock).value();
}

}  // namespace

base::Result<std::unique_ptr<Spool>> Spool::open(const std::string& path, std::uint64_t max_octets) {
    auto folder = make_folder(path);
    if (!folder) return base::Failure{folder.error()};
    auto lock = lock_folder(*folder);
    if (!lock) return base::Failure{lock.error()};
    std::unique_ptr<Spool> spool(new Spool(std::move(folder).value(), max_octets, std::move(lock).value()));
    if (const auto looked = spool->look(); !looked) return base::Failure{looked.error()};
    return spool;
}

/// What a former process left. A file that it did not finish was never reported as kept.
base::Result<void> Spool::look() {
    std::error_code code;
    for (auto at = std::filesystem::directory_iterator(folder_.path(), code);
         !code && at != std::filesystem::directory_iterator(); at.increment(code)) {
        const std::string name = at->path().filename();
        if (name.ends_with(unfinished)) folder_.remove(name);
        std::error_code gone;
        if (!name.ends_with(suffix) || !std::filesystem::is_regular_file(at->symlink_status(gone))) continue;
        const std::uint64_t octets = at->file_size(gone);
        if (!gone) files_.push_back({name, octets});
    }
    if (code) return base::failure(fmt::format("cannot read the spool's folder ({})", code.message()), folder_.path());
    std::ranges::sort(files_, {}, &File::name);
    for (const File& file : files_) counters_.octets += file.octets;
    counters_.files = files_.size();
    return {};
}

/// The folder may be removed while the daemon runs.
base::Result<void> Spool::replace_removed() {
    if (!base::is_removed(lock_.number())) return {};
    auto folder = make_folder(folder_.path());
    if (!folder) return base::Failure{folder.error()};
    auto lock = lock_folder(*folder);
    if (!lock) return base::Failure{lock.error()};
    const std::lock_guard guard(mutex_);
    folder_ = std::move(folder).value();
    lock_ = std::move(lock).value();
    return {};
}

/// The file appears under its name when it is whole and on the disk.
base::Result<void> Spool::write(const std::string& name, std::string_view octets) const {
    const std::string temporary = name + std::string(unfinished);
    const std::string final_name = name + std::string(suffix);
    {
        folder_.remove(temporary);
        const auto file = folder_.open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, file_mode);
        if (!file) return base::failure("cannot be written: " + file.error().reason, folder_.path_of(temporary));
        if (!base::write_all(file->number(), octets) || ::fsync(file->number()) != 0) {
            auto failure = failed("write", folder_.path_of(temporary));
            folder_.remove(temporary);
            return failure;
        }
    }
    if (!folder_.rename(temporary, final_name)) {
        auto failure = failed("rename", folder_.path_of(temporary));
        folder_.remove(temporary);
        return failure;
    }
    if (!folder_.synchronise()) {
        auto failure = failed("write the folder to the disk", folder_.path());
        folder_.remove(final_name);
        return failure;
    }
    return {};
}

/// The disk may take long: other threads do not wait for it.
base::Result<void> Spool::put(const std::string& name, std::string_view octets) {
    {
        const std::lock_guard lock(mutex_);
        make_room(octets.size());
    }
    auto written = replace_removed();
    if (written) written = write(name, octets);
    const std::lock_guard lock(mutex_);
    if (!written) {
        ++counters_.failed;
        return written;
    }
    files_.push_back({name + std::string(suffix), octets.size()});
    counters_.octets += octets.size();
    counters_.files = files_.size();
    return {};
}

void Spool::make_room(std::uint64_t octets) {
    while (!files_.empty() && counters_.octets + octets > max_octets_) {
        const std::string name = files_.front().name;
        forget(name);
        ++counters_.dropped;
    }
}

bool Spool::forget(const std::string& name) {
    const auto found = std::ranges::find(files_, name, &File::name);
    if (found == files_.end()) return false;
    folder_.remove(name);
    counters_.octets -= found->octets;
    files_.erase(found);
    counters_.files = files_.size();
    return true;
}

std::vector<std::string> Spool::oldest(std::size_t most_files, std::uint64_t most_octets) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    std::uint64_t octets = 0;
    for (const File& file : files_) {
        octets += file.octets;
        if (names.size() == most_files || (!names.empty() && octets > most_octets)) break;
        names.push_back(file.name);
    }
    return names;
}

base::Result<base::Descriptor> Spool::open_file(const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto file = folder_.open_file(name);
    if (file) return std::move(file).value();
    if (file.error().code == ENOENT && forget(name)) ++counters_.dropped;
    return base::failure("cannot be read: " + file.error().reason, folder_.path_of(name));
}

base::Result<std::string> Spool::read(const std::string& name) {
    const auto file = open_file(name);
    if (!file) return base::Failure{file.error()};
    auto octets = base::read_file(file->number(), most_file_octets);
    if (!octets) {
        const std::string reason = std::strerror(errno);
        const std::lock_guard lock(mutex_);
        return base::failure("cannot be read: " + reason, folder_.path_of(name));
    }
    return *std::move(octets);
}

bool Spool::has(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(files_, name, &File::name) != files_.end();
}

void Spool::remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    forget(name);
}

void Spool::drop(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (forget(name)) ++counters_.dropped;
}

SpoolCounters Spool::counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
}

}  // namespace fleet::sink
