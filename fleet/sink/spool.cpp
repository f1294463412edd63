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

base::Failure<base::Error> failed(std::string_view doing, const std::string& path) {
    return base::failure(fmt::format("cannot {} ({})", doing, std::strerror(errno)), path);
}

base::Result<void> sync_folder(const std::string& folder) {
    const base::Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor || ::fsync(descriptor.number()) != 0) return failed("write the folder to the disk", folder);
    return {};
}

}  // namespace

base::Result<std::unique_ptr<Spool>> Spool::open(const std::string& folder, std::uint64_t max_octets) {
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    const std::string lock_path = folder + "/lock";
    base::Descriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
    if (!lock) return failed("write into the spool's folder", folder);
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0)
        return base::failure("another daemon has this spool; give each a folder of its own", folder);
    std::unique_ptr<Spool> spool(new Spool(folder, max_octets, std::move(lock)));
    if (const auto looked = spool->look(); !looked) return base::Failure{looked.error()};
    return spool;
}

/// What a former process left. A file that it did not finish was never promised to anybody.
base::Result<void> Spool::look() {
    std::error_code code;
    for (auto at = std::filesystem::directory_iterator(folder_, code);
         !code && at != std::filesystem::directory_iterator(); at.increment(code)) {
        const std::string name = at->path().filename();
        if (name.ends_with(unfinished)) ::unlink(path(name).c_str());
        if (!name.ends_with(suffix)) continue;
        std::error_code gone;
        const std::uint64_t octets = at->file_size(gone);
        if (!gone) files_.push_back({name, octets});
    }
    if (code) return base::failure(fmt::format("cannot read the spool's folder ({})", code.message()), folder_);
    std::ranges::sort(files_, {}, &File::name);
    for (const File& file : files_) counters_.octets += file.octets;
    counters_.files = files_.size();
    return {};
}

base::Result<void> Spool::put(const std::string& name, std::string_view octets) {
    const std::lock_guard lock(mutex_);
    make_room(octets.size());
    const std::string final_path = path(name + std::string(suffix));
    const std::string temporary = path(name + std::string(unfinished));
    {
        const base::Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
        if (!file) return failed("write", temporary);
        if (!base::write_all(file.number(), octets) || ::fsync(file.number()) != 0) {
            auto failure = failed("write", temporary);
            ::unlink(temporary.c_str());
            return failure;
        }
    }
    if (::rename(temporary.c_str(), final_path.c_str()) != 0) {
        auto failure = failed("rename", temporary);
        ::unlink(temporary.c_str());
        return failure;
    }
    files_.push_back({name + std::string(suffix), octets.size()});
    counters_.octets += octets.size();
    counters_.files = files_.size();
    return sync_folder(folder_);
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
    ::unlink(path(name).c_str());
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

base::Result<std::string> Spool::read(const std::string& name) const {
    auto octets = base::read_file(path(name), most_file_octets);
    if (!octets) return failed("read", path(name));
    return *std::move(octets);
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
