#include "cli/dump/rotate_command.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace cli::dump {

namespace {

/// 0 if the file can be executed; otherwise an errno.
int refusal(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return errno;
    if (!S_ISREG(found.st_mode)) return EACCES;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

std::string missing_command(const std::string& name) {
    if (name.empty()) return {};
    if (name.find('/') != std::string::npos) {
        const int code = refusal(name);
        return code == 0 ? std::string{} : std::string("it cannot be run: ") + std::strerror(code);
    }
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (refusal((folder.empty() ? "." : folder) + "/" + name) == 0) return {};
    return "there is no such program in the folders of PATH; put its arguments, if it needs any, in a wrapper script";
}

}  // namespace cli::dump
