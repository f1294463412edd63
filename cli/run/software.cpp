#include "cli/run/software.h"

#include <cstdlib>

#include "cli/console.h"
#include "cli/run/library.h"

namespace cli::run {

bool put_software_first(const Options& options) {
    std::string library;
    if (const std::string reason = find_library("librdmascope-verbs.so", "of the software stack", library);
        !reason.empty()) {
        print_message("rdmascope run: {}", reason);
        return false;
    }
    preload(library);
    for (const auto& [name, value] : options.variables) setenv(name.c_str(), value.c_str(), 1);
    return true;
}

}  // namespace cli::run
