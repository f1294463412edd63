#pragma once
#include <string>
#include <vector>

namespace cli::run {

/// A program as it was found, and whether a library can be loaded into it.
struct Program {
    enum class Found : unsigned char {
        yes,
        missing,   ///< no such file
        unusable,  ///< it exists, but cannot be used: see `reason`
    };
    Found found = Found::missing;
    std::string path = {};
    std::string reason = {};  ///< what is wrong and what to do
    std::string note = {};    ///< a remark for the user; the program can be run
};

/// Finds `name` as execvp(3) does, and checks the file: LD_PRELOAD has no effect, silently, on programs that are
/// set-user-ID, linked statically, or of another architecture or C library.
Program find_program(const std::string& name);

/// As env(1), nohup(1) and the shells have them.
constexpr int exit_unusable = 126;
constexpr int exit_missing = 127;

/// This process becomes the program, with these arguments; the first one is its name. On failure, reports the reason
/// and returns the exit status.
int become(const Program& program, const std::vector<std::string>& command);

}  // namespace cli::run
