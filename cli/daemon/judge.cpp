#include "cli/daemon/judge.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <grp.h>
#include <linux/magic.h>
#include <optional>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "base/open_file.h"
#include "base/quantities.h"
#include "capture/filter/bpf.h"
#include "cli/analysis/session.h"
#include "daemon/fleet_feed.h"
#include "daemon/http/access.h"
#include "daemon/recorder/triggers.h"
#include "daemon/service.h"

namespace cli::daemon {

namespace {

/// Finds the lines of keys in the file.
class Places {
public:
    explicit Places(const DaemonOptions& options) : options_(options) {
        std::error_code unknown;
        if (!options.config_path || !std::filesystem::is_regular_file(*options.config_path, unknown)) return;
        try {
            table_ = toml::parse_file(*options.config_path);
        } catch (const toml::parse_error&) {  // the reader of the file has reported it
        }
    }
    /// "rdmascope.toml:12:8: capture.filter: ". The place is left out if the command line has set the key.
    std::string of(const std::string& key) const {
        const bool overridden = std::any_of(options_.settings.begin(), options_.settings.end(),
                                            [&](const auto& setting) { return setting.first == key; });
        const toml::node* const node = overridden ? nullptr : table_.at_path(key).node();
        if (node == nullptr) return key + ": ";
        return fmt::format("{}:{}:{}: {}: ", *options_.config_path, node->source().begin.line,
                           node->source().begin.column, key);
    }

private:
    const DaemonOptions& options_;
    toml::table table_ = {};
};

struct Account {
    uid_t user = 0;
    std::vector<gid_t> groups = {};
};

std::optional<Account> account_of(const std::string& name) {
    const passwd* const entry = ::getpwnam(name.c_str());
    if (entry == nullptr) return {};
    Account account{entry->pw_uid, std::vector<gid_t>(64)};
    int count = static_cast<int>(account.groups.size());
    if (::getgrouplist(name.c_str(), entry->pw_gid, account.groups.data(), &count) < 0)
        count = static_cast<int>(account.groups.size());
    account.groups.resize(static_cast<std::size_t>(count));
    return account;
}

bool may(const Account& account, const struct stat& folder, mode_t wanted) {
    if (account.user == 0) return true;
    const bool in_group =
        std::find(account.groups.begin(), account.groups.end(), folder.st_gid) != account.groups.end();
    const unsigned shift = folder.st_uid == account.user ? 6 : in_group ? 3 : 0;
    return (folder.st_mode >> shift & wanted) == wanted;
}

/// 0, or why no user can make a file in this folder.
int closed_to_all(const std::string& folder) {
    struct statfs system {};
    if (::statfs(folder.c_str(), &system) != 0) return 0;
    if (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC) return EPERM;
    return ::faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) != 0 && errno == EROFS ? EROFS : 0;
}

/// Why no file can be made below `directory`: it, or a folder above it, is not a folder or belongs to another user, or
/// the file system accepts no files. Returns an errno; 0 if no obstacle is known. Rights are judged only for root, who
/// asks on behalf of a user.
int obstacle(const std::string& directory, const std::optional<Account>& account) {
    constexpr mode_t write = 2;
    constexpr mode_t search = 1;
    std::error_code unknown;
    mode_t wanted = write | search;  // rights on the first folder that exists
    for (std::filesystem::path path = std::filesystem::absolute(directory, unknown);; path = path.parent_path()) {
        struct stat found {};
        if (::stat(path.c_str(), &found) == 0) {
            if (!S_ISDIR(found.st_mode)) return ENOTDIR;
            if (const int code = (wanted & write) != 0 ? closed_to_all(path.string()) : 0; code != 0) return code;
            if (account && !may(*account, found, wanted)) return EACCES;
            wanted = search;
        } else if (errno != ENOENT && errno != ENOTDIR) {
            return account ? errno : 0;
        }
        if (path == path.root_path() || path.empty()) return 0;
    }
}

/// Why rows cannot be written to clickhouse.jsonl: no folder is made for this file.
std::optional<std::string> obstacle_of_lines(const std::string& path) {
    std::error_code unknown;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (path.empty()) return {};
    if (std::filesystem::is_directory(path, unknown)) return path + ": is a directory, and a file is expected";
    if (!std::filesystem::is_directory(folder, unknown)) return folder.string() + ": there is no such folder; make it";
    return {};
}

/// What is taken when the daemon starts: the kernel would end this program, or another one, for lack of memory.
std::optional<std::string> judge_memory(const service::Config& config, const Places& places) {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page_octets = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_octets <= 0) return {};
    const auto machine = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_octets);
    const auto shown = [](std::uint64_t octets) { return base::format_size(static_cast<double>(octets)); };
    const std::uint64_t rings = config.capture.buffer_octets * config.capture.threads.value_or(1);
    const std::uint64_t frames = config.recorder.directory.empty() ? 0 : config.recorder.memory_octets;
    if (rings + frames <= machine) return {};
    // Where each of both fits, the sum does not.
    const auto more = [&](const std::string& what, std::uint64_t octets) {
        return std::max(rings, frames) > machine ? "" : fmt::format(", {} {} more", what, shown(octets));
    };
    if (frames > rings)
        return places.of("recorder.memory") +
               fmt::format("{} are taken at the start{}, and this machine has {} of memory", shown(frames),
                           more("the rings of one interface take", rings), shown(machine));
    return places.of("capture.buffer") +
           fmt::format("the rings of one interface take {}{}, and this machine has {} of memory", shown(rings),
                       more("recorder.memory takes", frames), shown(machine));
}

/// "rdmascope.toml:2:8: http.token_file: /etc/token: No such file or directory": some texts begin with the key.
std::string with_place(const Places& places, const std::string& key, base::Error error) {
    if (error.message.starts_with(key + ": ")) error.message.erase(0, key.size() + 2);
    return places.of(key) + error.text();
}

/// What the daemon's parts say of the files that they read at the start.
void judge_read_files(const service::Config& config, const Places& places, std::vector<std::string>& wrong) {
    if (const std::string& file = config.http.token_file; !file.empty() && !config.prometheus.listen.empty())
        if (const auto read = service::http::read_token(file); !read)
            wrong.push_back(with_place(places, "http.token_file", read.error()));
    if (const auto read = service::read_clickhouse_password(config.clickhouse); !read)
        wrong.push_back(with_place(places, "clickhouse.password_file", read.error()));
    if (const std::string& file = config.clickhouse.ca_file; !file.empty() && !config.clickhouse.url.empty())
        if (const auto opened = base::open_regular_file(file); !opened)
            wrong.push_back(places.of("clickhouse.ca_file") + file + ": " + opened.error().reason);
    const analysis::Names names(true, config.engine.node_names);
    for (const base::Error& error : names.errors()) wrong.push_back(with_place(places, "engine.node_names", error));
}

}  // namespace

std::vector<std::string> judge(const DaemonOptions& options, const service::Config& config) {
    const Places places(options);
    std::vector<std::string> wrong;
    if (const auto filter = capture::PacketFilter::compile(config.capture.filter, {}); !filter)
        wrong.push_back(places.of("capture.filter") + filter.error().text());
    for (std::size_t i = 0; i < config.recorder.triggers.size(); ++i) {
        const service::TriggerConfig& trigger = config.recorder.triggers[i];
        const auto compiled = service::Triggers::compile({trigger});
        if (compiled) continue;
        const std::string key = fmt::format("recorder.trigger[{}]", i);
        for (const base::Error& error : compiled.error())
            wrong.push_back(places.of(key + (trigger.when.empty() ? ".verdict" : ".when")) + error.text());
    }
    if (const std::string& user = config.service.user; !user.empty() && ::getpwnam(user.c_str()) == nullptr)
        wrong.push_back(places.of("service.user") + fmt::format("there is no user '{0}'; create it (useradd --system "
                                                                "{0}), or name another",
                                                                user));
    if (const std::string& group = config.control.group; !group.empty() && ::getgrnam(group.c_str()) == nullptr)
        wrong.push_back(
            places.of("control.group") +
            fmt::format("there is no group '{0}'; create it (groupadd --system {0}), or name another", group));
    if (const auto memory = judge_memory(config, places)) wrong.push_back(*memory);
    // The rules of policy.file have places of their own.
    if (wrong.empty())
        if (const auto checked = service::Service::check(config); !checked)
            for (const base::Error& error : checked.error())
                wrong.push_back(error.path == config.policy.file ? with_place(places, "policy.file", error)
                                                                 : error.text());
    return wrong;
}

std::vector<std::string> judge_files(const DaemonOptions& options, const service::Config& config) {
    const Places places(options);
    const std::string& user = config.service.user;
    const auto account = ::geteuid() == 0 && !user.empty() ? account_of(user) : std::optional<Account>{};
    std::vector<std::string> wrong;
    const auto look = [&](const char* key, const std::string& directory) {
        if (directory.empty()) return;
        if (const int code = obstacle(directory, account); code != 0)
            wrong.push_back(fmt::format("{}{}: no file can be made there{}: {}", places.of(key), directory,
                                        account ? fmt::format(" by user '{}'", user) : "", std::strerror(code)));
    };
    look("history.directory", config.history.directory);
    look("recorder.directory", config.recorder.directory);
    if (config.clickhouse.makes_rows()) look("clickhouse.spool", config.clickhouse.spool);
    if (const auto reason = obstacle_of_lines(config.clickhouse.jsonl))
        wrong.push_back(places.of("clickhouse.jsonl") + *reason);
    judge_read_files(config, places, wrong);
    return wrong;
}

}  // namespace cli::daemon
