#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trace {

/// A process with records.
struct Process {
    std::uint32_t pid =
        0;  ///< as the reader sees it; its records have this number. 0: unknown, or its own claim was not credible
    std::uint32_t user = 0;
    std::int64_t started_ns = 0;  ///< CLOCK_REALTIME of its first record
    std::string command = {};     ///< with arguments, at most `longest_command` bytes, none a control character
    std::string container = {};   ///< its id or name; empty: none
    std::vector<std::string> devices = {};  ///< by Record::device

    static constexpr std::size_t longest_command = 1024;
    static constexpr std::size_t longest_name = 64;
    bool operator==(const Process&) const = default;
};

/// The container that a path of /proc/PID/cgroup (or its line) names, as Docker, containerd, CRI-O, Podman, LXC and
/// systemd-nspawn write it; empty: none.
std::string container_of(std::string_view control_group);

/// Text from an untrusted source, for a terminal and for files: at most `longest` bytes, up to the first NUL, with `?`
/// for control characters.
std::string harmless(std::string_view text, std::size_t longest);

/// A process as it describes itself.
struct ClaimedProcess {
    std::uint32_t pid = 0;
    std::uint64_t pid_namespace = 0;
    std::uint64_t start_ticks = 0;
    std::uint32_t user = 0;  ///< the owner of its file: not its claim
};
/// The process's pid here, if it runs, belongs to that user and started at that time. A pid of another PID namespace is
/// searched for.
std::optional<std::uint32_t> find_process(const ClaimedProcess& claimed);
/// A process as /proc shows it; without command if it is gone.
Process describe_process(std::uint32_t pid);
/// Whether running processes of that PID namespace (0: ours) are visible here: a namespace sees itself and those
/// within.
bool sees_processes_of(std::uint64_t pid_namespace);
/// Whether `pid` is still the process that started then, and not a zombie. Ticks of 0 fit any.
bool is_running(std::uint32_t pid, std::uint64_t start_ticks);
/// The line of /proc/PID/cgroup of the unified hierarchy, or the last; empty if it cannot be read.
std::string control_group_of(std::uint32_t pid);

}  // namespace trace
