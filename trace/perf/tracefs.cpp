#include "trace/perf/tracefs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <fnmatch.h>
#include <sstream>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file.h"

namespace trace::inline perf {

using base::Failure;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders(const std::string& path) {
    std::vector<std::string> found;
    std::error_code fault;
    for (fs::directory_iterator at(path, fault); !fault && at != fs::directory_iterator(); at.increment(fault))
        if (std::error_code ignored; at->is_directory(ignored)) found.push_back(at->path().filename());
    std::sort(found.begin(), found.end());
    return found;
}

bool matches(const std::string& pattern, const std::string& text) {
    return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

/// The last `error:` of error_log: "[12.3] trace_uprobe: error: Failed to parse ..." without its stamp.
std::string last_error(const std::string& path) {
    std::istringstream log(base::read_file(path).value_or(std::string()));
    std::string line;
    std::string last;
    while (std::getline(log, line))
        if (const std::size_t at = line.find("error: "); at != std::string::npos) last = line.substr(at + 7);
    return last;
}

}  // namespace

base::Result<Tracefs> Tracefs::find(const std::string& root) {
    std::vector<std::string> places{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    if (!root.empty()) places = {root};
    for (const std::string& place : places) {
        const std::string events = place + "/events";
        if (::access(events.c_str(), R_OK | X_OK) == 0) return Tracefs(place);
        if (errno == EACCES || errno == EPERM)
            return Failure{
                base::Error{"may not be read: trace events need root, or the right to read tracefs", events}};
    }
    return Failure{
        base::Error{"no trace events there: mount them (mount -t tracefs nodev /sys/kernel/tracing), in a kernel with "
                    "CONFIG_TRACING",
                    places.front()}};
}

std::vector<std::string> Tracefs::events(const std::vector<std::string>& patterns) const {
    std::vector<std::string> found;
    for (const std::string& group : folders(root_ + "/events")) {
        std::vector<std::string> names;  // of events; a pattern without colon takes all of the group
        for (const std::string& pattern : patterns) {
            const std::size_t colon = pattern.find(':');
            if (matches(pattern.substr(0, colon), group))
                names.push_back(colon == std::string::npos ? "*" : pattern.substr(colon + 1));
        }
        if (names.empty()) continue;
        for (const std::string& event : folders(root_ + "/events/" + group))
            if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return matches(name, event); }))
                found.push_back(group + ":" + event);
    }
    return found;
}

std::string Tracefs::format_path(std::string_view event) const {
    std::string place(event);
    std::replace(place.begin(), place.end(), ':', '/');
    return root_ + "/events/" + place + "/format";
}

base::Result<void> Tracefs::change_uprobes(const std::string& line) const {
    const std::string path = root_ + "/uprobe_events";
    base::Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file) {
        const char* what = errno == ENOENT ? "is not there: probes in programs need a kernel with CONFIG_UPROBE_EVENTS"
                                           : "may not be written: probes in programs need root (CAP_SYS_ADMIN)";
        return Failure{base::Error{what, path}};
    }
    const ssize_t written = ::write(file.number(), line.data(), line.size());
    const int fault = errno;
    file.reset();
    if (written == static_cast<ssize_t>(line.size())) return {};
    const std::string reason = fault == EINVAL ? last_error(root_ + "/error_log") : std::string();
    return Failure{base::Error{
        fmt::format("the kernel refuses `{}`: {}", line, reason.empty() ? std::strerror(fault) : reason), path}};
}

}  // namespace trace::perf
