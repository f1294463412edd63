#include "doctor/root.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/descriptor.h"
#include "doctor/strings.h"

namespace doctor {

namespace {

constexpr unsigned most_links = 40;        // as the kernel's MAXSYMLINKS
constexpr std::size_t kept_octets = 4096;  // of a file in the transcript
constexpr std::size_t kept_files = 20000;

void push_front(std::deque<std::string>& parts, std::string_view path) {
    std::size_t at = 0;
    for (std::string_view part : split(path, '/'))
        if (!part.empty()) parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at++), std::string(part));
}

/// The target of a link, or nothing if `path` is not a link.
std::optional<std::string> target_of(const std::string& path) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    if (size < 0) return std::nullopt;
    return std::string(target.data(), static_cast<std::size_t>(size));
}

Sight sight_of(int code) { return code == EACCES || code == EPERM ? Sight::denied : Sight::unusable; }

/// Whether a file describes the machine and not its users.
bool is_evidence(std::string_view path) {
    static constexpr std::array folders{
        std::string_view("/sys/class/"),         std::string_view("/sys/module/"),
        std::string_view("/sys/devices/"),       std::string_view("/sys/bus/"),
        std::string_view("/sys/kernel/config/"), std::string_view("/proc/sys/"),
        std::string_view("/etc/libibverbs.d/"),  std::string_view("/proc/modules"),
        std::string_view("/proc/self/limits"),
    };
    return std::any_of(folders.begin(), folders.end(), [path](std::string_view f) { return path.starts_with(f); });
}

}  // namespace

std::string operator/(const std::string& folder, std::string_view name) {
    std::string path = folder;
    if (path.empty() || path.back() != '/') path += '/';
    return path.append(name);
}

Root::Root(std::string folder, Transcript* transcript) : folder_(std::move(folder)), transcript_(transcript) {
    while (!folder_.empty() && folder_.back() == '/') folder_.pop_back();
}

std::string Root::resolve(std::string_view path) const {
    if (path.empty()) return {};
    std::deque<std::string> ahead;
    push_front(ahead, path);
    std::vector<std::string> done;
    const auto joined = [&done] {
        std::string whole;
        for (const std::string& part : done) whole.append("/").append(part);
        return whole;
    };
    unsigned links = 0;
    while (!ahead.empty()) {
        const std::string part = std::move(ahead.front());
        ahead.pop_front();
        if (part == ".") continue;
        if (part == "..") {
            if (!done.empty()) done.pop_back();
            continue;
        }
        const std::string here = folder_ + joined() + "/" + part;
        struct stat status {};
        if (here.size() >= PATH_MAX || ::lstat(here.c_str(), &status) != 0) return {};
        if (!S_ISLNK(status.st_mode)) {
            done.push_back(part);
            continue;
        }
        const auto target = target_of(here);
        if (!target || ++links > most_links) return {};
        if (target->starts_with('/')) done.clear();
        push_front(ahead, *target);
    }
    return done.empty() ? "/" : joined();
}

std::optional<Status> Root::status(std::string_view path) const {
    const std::string real = resolve(path);
    struct stat found {};
    if (real.empty() || ::lstat((folder_ + real).c_str(), &found) != 0) return std::nullopt;
    Status status;
    status.kind = S_ISREG(found.st_mode)                             ? Kind::file
                  : S_ISDIR(found.st_mode)                           ? Kind::folder
                  : S_ISCHR(found.st_mode) || S_ISBLK(found.st_mode) ? Kind::device
                                                                     : Kind::other;
    status.mode = found.st_mode & 07777;
    status.user = found.st_uid;
    status.group = found.st_gid;
    status.octets = static_cast<std::uint64_t>(found.st_size);
    return status;
}

Content Root::read(std::string_view path, std::size_t most) const {
    const std::string real = resolve(path);
    if (real.empty()) return {};
    // A FIFO or a terminal would make open() or read() wait.
    const base::Descriptor file(
        ::open((folder_ + real).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
    if (!file) return {errno == ENOENT ? Sight::absent : sight_of(errno)};
    struct stat status {};
    if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return {Sight::unusable};

    Content content{Sight::seen};
    std::string& octets = content.octets;
    for (;;) {
        const std::size_t had = octets.size();
        // One byte more than required shows whether there are more.
        const std::size_t want = std::min(std::max(had, std::size_t{8192}), most + 1 - had);
        octets.resize(had + want);
        const ssize_t got = ::read(file.number(), octets.data() + had, want);
        octets.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return {sight_of(errno)};
        if (got == 0 || octets.size() > most) break;
    }
    content.cut = octets.size() > most;
    if (content.cut) octets.resize(most);
    if (transcript_ != nullptr && is_evidence(path) && transcript_->size() < kept_files)
        transcript_->emplace(path, octets.substr(0, kept_octets));
    return content;
}

std::optional<std::string> Root::line(std::string_view path) const {
    const Content content = read(path);
    if (content.sight != Sight::seen) return std::nullopt;
    return std::string(base::trimmed(std::string_view(content.octets).substr(0, content.octets.find('\n'))));
}

std::optional<std::uint64_t> Root::number(std::string_view path) const {
    const auto text = line(path);
    return text ? number_in(*text) : std::nullopt;
}

std::vector<std::string> Root::list(std::string_view path) const {
    std::vector<std::string> names;
    const std::string real = resolve(path);
    if (real.empty()) return names;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir((folder_ + real).c_str()), ::closedir);
    if (folder == nullptr) return names;
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string_view name = static_cast<const char*>(entry->d_name);
        if (name == "." || name == "..") continue;
        if (names.size() == most_names) break;
        names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::optional<std::string> Root::link_name(std::string_view path) const {
    const std::size_t slash = path.rfind('/');
    const std::string folder = resolve(path.substr(0, slash + 1));
    if (folder.empty()) return std::nullopt;
    const auto target = target_of(folder_ + folder + "/" + std::string(path.substr(slash + 1)));
    if (!target) return std::nullopt;
    return target->substr(target->rfind('/') + 1);
}

std::optional<std::string> Root::attribute(std::string_view path, const char* name) const {
    const std::string real = resolve(path);
    if (real.empty()) return std::nullopt;
    std::array<char, 256> value{};
    const ssize_t size = ::lgetxattr((folder_ + real).c_str(), name, value.data(), value.size());
    if (size < 0) return std::nullopt;
    return std::string(value.data(), static_cast<std::size_t>(size));
}

}  // namespace doctor
