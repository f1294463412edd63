#include "trace/process.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <dirent.h>
#include <fmt/core.h>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <sys/stat.h>

#include "base/file.h"

namespace trace {

namespace {

/// A file of /proc; empty if it cannot be read.
std::string read_proc(const std::string& path) { return base::read_file(path).value_or(std::string()); }

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (wrong != std::errc{} || end != text.data() + text.size()) return {};
    return number;
}

/// State and start of a process: fields 3 and 22 of /proc/PID/stat.
struct Stat {
    char state;
    std::uint64_t start_ticks;
};
std::optional<Stat> stat_of(std::uint32_t pid) {
    constexpr int start_field = 22;
    const std::string text = read_proc(fmt::format("/proc/{}/stat", pid));
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= text.size()) return {};
    std::istringstream fields(text.substr(name_end + 2));
    std::string field;
    char state = 0;
    for (int number = 3; number <= start_field; ++number) {
        if (!(fields >> field)) return {};
        if (number == 3) state = field.front();
    }
    const auto ticks = number_in(field);
    if (!ticks) return {};
    return Stat{state, *ticks};
}

std::uint64_t namespace_of(const std::string& process) {
    struct stat found {};
    return stat(("/proc/" + process + "/ns/pid").c_str(), &found) == 0 ? found.st_ino : 0;
}

/// The words after a key of /proc/PID/status; empty if absent.
std::vector<std::string> status_words(const std::string& process, std::string_view key) {
    std::istringstream lines(read_proc("/proc/" + process + "/status"));
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, key.size(), key) != 0) continue;
        std::istringstream words(line.substr(key.size()));
        return {std::istream_iterator<std::string>(words), {}};
    }
    return {};
}

/// Its real, effective and saved user; what root has made may be of a process that has given up being root.
bool belongs_to(std::uint32_t pid, std::uint32_t user) {
    if (user == 0) return true;
    const std::vector<std::string> users = status_words(std::to_string(pid), "Uid:");
    const std::size_t count = std::min<std::size_t>(users.size(), 3);
    return std::ranges::any_of(std::span(users).first(count),
                               [user](const auto& one) { return number_in(one) == user; });
}

/// The last of the numbers that a process has, one for each PID namespace around it: its own view.
std::optional<std::uint64_t> innermost_pid(const std::string& process) {
    const std::vector<std::string> pids = status_words(process, "NSpid:");
    return pids.empty() ? std::nullopt : number_in(pids.back());
}

std::uint64_t our_namespace() {
    static const std::uint64_t ours = namespace_of("self");
    return ours;
}

bool is_hexadecimal(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// One part of a control group's path: `docker-ID.scope`, `cri-containerd-ID.scope`, `ID`, `lxc.payload.NAME`, ...
std::string container_in(std::string_view part) {
    constexpr std::size_t id_length = 64;
    constexpr std::array named{std::string_view{"lxc.payload."}, std::string_view{"machine-"}};
    std::string_view name = part;
    if (constexpr std::string_view scope = ".scope"; name.ends_with(scope)) name.remove_suffix(scope.size());
    if (name.size() >= id_length) {
        const std::string_view id = name.substr(name.size() - id_length);
        const bool apart = name.size() == id_length || name[name.size() - id_length - 1] == '-';
        if (apart && is_hexadecimal(id)) return std::string(id);
    }
    for (const std::string_view prefix : named)
        if (name.starts_with(prefix) && name.size() > prefix.size())
            return harmless(name.substr(prefix.size()), Process::longest_name);
    return {};
}

}  // namespace

std::string harmless(std::string_view text, std::size_t longest) {
    constexpr unsigned char first_printable = 0x20;
    constexpr unsigned char deleted = 0x7f;
    std::string result(text.substr(0, std::min({text.size(), text.find('\0'), longest})));
    for (char& c : result) {
        const auto octet = static_cast<unsigned char>(c);
        if (octet < first_printable || octet == deleted) c = '?';
    }
    return result;
}

std::string container_of(std::string_view control_group) {
    // The innermost part that names one: containers are run in containers.
    std::string found;
    while (!control_group.empty()) {
        const std::size_t end = std::min(control_group.find('/'), control_group.size());
        if (std::string one = container_in(control_group.substr(0, end)); !one.empty()) found = std::move(one);
        control_group.remove_prefix(std::min(end + 1, control_group.size()));
    }
    return found;
}

bool is_running(std::uint32_t pid, std::uint64_t start_ticks) {
    const auto stat = stat_of(pid);
    return stat && stat->state != 'Z' && stat->state != 'X' && (start_ticks == 0 || stat->start_ticks == start_ticks);
}

std::optional<std::uint32_t> find_process(const ClaimedProcess& claimed) {
    const auto fits = [&claimed](std::uint32_t pid) {
        return is_running(pid, claimed.start_ticks) && belongs_to(pid, claimed.user);
    };
    if (claimed.pid_namespace == 0 || claimed.pid_namespace == our_namespace()) {
        if (fits(claimed.pid)) return claimed.pid;
        return {};
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
    if (folder == nullptr) return {};
    while (const dirent* entry = readdir(folder.get())) {
        const std::string name = entry->d_name;
        const auto pid = number_in(name);
        if (!pid || namespace_of(name) != claimed.pid_namespace || innermost_pid(name) != claimed.pid) continue;
        if (fits(static_cast<std::uint32_t>(*pid))) return static_cast<std::uint32_t>(*pid);
    }
    return {};
}

bool sees_processes_of(std::uint64_t pid_namespace) {
    constexpr std::uint64_t initial = 0xEFFFFFFC;  // PROC_PID_INIT_INO
    return pid_namespace == 0 || pid_namespace == our_namespace() || our_namespace() == initial;
}

Process describe_process(std::uint32_t pid) {
    Process process;
    process.pid = pid;
    struct stat status {};
    if (stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0) process.user = status.st_uid;
    std::string command = read_proc(fmt::format("/proc/{}/cmdline", pid));
    std::replace(command.begin(), command.end(), '\0', ' ');
    while (command.ends_with(' ')) command.pop_back();
    process.command = harmless(command, Process::longest_command);
    process.container = container_of(control_group_of(pid));
    return process;
}

std::string control_group_of(std::uint32_t pid) {
    std::string text = read_proc(fmt::format("/proc/{}/cgroup", pid));
    while (text.ends_with('\n')) text.pop_back();
    const std::size_t last = text.rfind('\n');
    return last == std::string::npos ? text : text.substr(last + 1);
}

}  // namespace trace
