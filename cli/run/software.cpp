#include "cli/run/software.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/run/program.h"

namespace cli::launch {

namespace {

constexpr const char* library_name = "librdmascope-verbs.so";
/// As env(1), nohup(1) and the shells have them.
constexpr int exit_unusable = 126;
constexpr int exit_missing = 127;

int fails(int status, const std::string& why) {
    tell("rdmascope run: {}", why);
    return status;
}

std::string folder_of_this_program() {
    std::array<char, 4096> path{};
    const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
    const std::string whole(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return whole.substr(0, whole.rfind('/'));
}

/// Beside the program, as in a build folder, or where it was installed. Empty: nowhere; `looked` says where.
std::string find_library(std::string& looked) {
    const std::string folder = folder_of_this_program();
    for (const char* const place : {"/", "/../lib/rdmascope/"}) {
        const std::string path = folder + place + library_name;
        char* const real = realpath(path.c_str(), nullptr);
        if (real != nullptr) {
            std::string found(real);
            std::free(real);
            return found;
        }
        looked += (looked.empty() ? "neither " : " nor ") + path;
    }
    return {};
}

}  // namespace

int run_on_software(const Options& options) {
    std::string looked;
    const std::string library = find_library(looked);
    if (library.empty())
        return fails(exit_failed,
                     fmt::format("the library of the software stack is not installed: there is {}. rdmascope builds it "
                                 "where libibverbs-dev and librdmacm-dev are",
                                 looked));
    // Both separate names in LD_PRELOAD, and nothing quotes them.
    if (library.find_first_of(" :") != std::string::npos)
        return fails(exit_failed, fmt::format("{} cannot be preloaded: its path has a space or a colon", library));
    const Program program = find_program(options.command.front());
    if (program.found == Program::Found::missing) return fails(exit_missing, program.reason);
    if (program.found == Program::Found::unusable) return fails(exit_unusable, program.reason);
    if (!program.note.empty()) tell("rdmascope run: {}", program.note);

    const char* const earlier = std::getenv("LD_PRELOAD");
    // Behind what was there: a sanitizer must be the first, and whoever wraps these functions stands above them.
    const std::string all = earlier != nullptr && *earlier != '\0' ? std::string(earlier) + ":" + library : library;
    setenv("LD_PRELOAD", all.c_str(), 1);
    for (const auto& [name, value] : options.variables) setenv(name.c_str(), value.c_str(), 1);

    std::vector<char*> arguments;
    for (const std::string& argument : options.command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execv(program.path.c_str(), arguments.data());
    return fails(exit_unusable, fmt::format("{} cannot be run: {}", program.path, std::strerror(errno)));
}

}  // namespace cli::launch
