#include "cli/dump/change_user.h"

#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

namespace cli::dump {

std::string become(const std::string& user) {
    errno = 0;
    const passwd* entry = ::getpwnam(user.c_str());
    if (entry == nullptr) return fmt::format("-Z {}: there is no such user", user);
    if (::geteuid() != 0) return {};
    if (::initgroups(entry->pw_name, entry->pw_gid) != 0 || ::setgid(entry->pw_gid) != 0 ||
        ::setuid(entry->pw_uid) != 0)
        return fmt::format("-Z {}: the privileges could not be given up: {}", user, std::strerror(errno));
    if (entry->pw_uid != 0 && ::setuid(0) == 0) return fmt::format("-Z {}: the privileges came back", user);
    return {};
}

}  // namespace cli::dump
