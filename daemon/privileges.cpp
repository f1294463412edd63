#include "daemon/privileges.h"

#include <cap-ng.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define RDMASCOPE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RDMASCOPE_TSAN 1
#endif
#endif

namespace service {

namespace {

#ifdef RDMASCOPE_TSAN
constexpr std::size_t most_threads = 2;  // one is ThreadSanitizer's
#else
constexpr std::size_t most_threads = 1;
#endif

bool has(capng_type_t set, unsigned capability) { return capng_have_capability(set, capability) == 1; }

/// Threads that were started before would keep what this one gives up.
bool is_only_thread() {
    std::error_code code;
    std::size_t threads = 0;
    for (auto at = std::filesystem::directory_iterator("/proc/self/task", code);
         !code && at != std::filesystem::directory_iterator(); at.increment(code))
        ++threads;
    return threads <= most_threads;  // 0: no /proc, nothing to be known
}

/// Of what is there, what the rights need.
std::vector<unsigned> kept(const Rights& rights) {
    std::vector<unsigned> out;
    const auto keep = [&out](unsigned capability) {
        if (has(CAPNG_PERMITTED, capability)) out.push_back(capability);
    };
    keep(CAP_NET_RAW);
    if (rights.trace_points) keep(CAP_BPF);
    if (rights.trace_points) keep(CAP_PERFMON);
    if (rights.everybodys_files) keep(CAP_DAC_READ_SEARCH);
    return out;
}

void select(const std::vector<unsigned>& capabilities) {
    capng_clear(CAPNG_SELECT_CAPS);
    for (const unsigned capability : capabilities)
        capng_update(CAPNG_ADD, static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED), capability);
}

base::Result<void> become(const std::string& user, const Account& account, bool clear_bounding) {
    const int flags = CAPNG_INIT_SUPP_GRP | (clear_bounding ? CAPNG_CLEAR_BOUNDING : 0);
    const int code = capng_change_id(static_cast<int>(account.user), static_cast<int>(account.group),
                                     static_cast<capng_flags_t>(flags));
    if (code == 0) return {};
    return base::failure(
        fmt::format("cannot become user '{}' ({}, libcap-ng {}); start the daemon as root, or leave service.user empty",
                    user, std::strerror(errno), code));
}

base::Result<void> reduce(bool clear_bounding) {
    if (clear_bounding) {
        capng_clear(CAPNG_SELECT_BOUNDS);
        if (capng_apply(CAPNG_SELECT_BOUNDS) != 0)
            return base::failure("cannot empty the bounding set of capabilities");
    }
    if (capng_apply(CAPNG_SELECT_CAPS) != 0)
        return base::failure(fmt::format("cannot give up capabilities ({})", std::strerror(errno)));
    return {};
}

/// Reads back what the kernel has: nothing but what was selected may be left.
base::Result<void> verify(const std::vector<unsigned>& capabilities) {
    if (capng_get_caps_process() != 0) return base::failure("cannot read back the capabilities");
    const std::vector<std::string> left = effective_capabilities();
    if (left.size() != capabilities.size())
        return base::failure(
            fmt::format("{} capabilities are left, {} are required", left.size(), capabilities.size()));
    for (const unsigned capability : capabilities)
        if (!has(CAPNG_EFFECTIVE, capability) || !has(CAPNG_PERMITTED, capability))
            return base::failure(fmt::format("cap_{} was lost", capng_capability_to_name(capability)));
    return {};
}

}  // namespace

base::Result<Account> find_account(const std::string& user) {
    errno = 0;
    const passwd* entry = ::getpwnam(user.c_str());
    if (entry == nullptr)
        return base::failure(
            fmt::format("there is no user '{0}'{1}; create it (useradd --system {0}), or change service.user", user,
                        errno != 0 ? fmt::format(" ({})", std::strerror(errno)) : ""));
    return Account{entry->pw_uid, entry->pw_gid};
}

base::Result<void> drop_privileges(const std::string& user, const Rights& rights) {
    if (!is_only_thread()) return base::failure("capabilities have to be given up before the first thread is started");
    if (capng_get_caps_process() != 0) return base::failure("cannot read this process's capabilities");
    Account account{::getuid(), ::getgid()};
    if (!user.empty()) {
        const auto found = find_account(user);
        if (!found) return base::Failure{found.error()};
        account = *found;
    }
    const bool clear_bounding = has(CAPNG_EFFECTIVE, CAP_SETPCAP);
    const std::vector<unsigned> wanted = kept(rights);
    select(wanted);
    const bool switches = account.user != ::geteuid() || account.user != ::getuid();
    auto dropped = switches ? become(user, account, clear_bounding) : reduce(clear_bounding);
    if (!dropped) return dropped;
    // Not of kernels before 4.3, which have no such set.
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return base::failure(fmt::format("cannot set no_new_privs ({})", std::strerror(errno)));
    return verify(wanted);
}

std::vector<std::string> effective_capabilities() {
    std::vector<std::string> names;
    if (capng_get_caps_process() != 0) return names;
    for (unsigned capability = 0; capability <= CAP_LAST_CAP; ++capability)
        if (has(CAPNG_EFFECTIVE, capability))
            if (const char* name = capng_capability_to_name(capability)) names.push_back(fmt::format("cap_{}", name));
    return names;
}

}  // namespace service
