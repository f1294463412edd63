#include "cli/run/run.h"

#include "cli/console.h"
#include "cli/run/options.h"
#include "cli/run/software.h"

namespace cli::launch {

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    Options options;
    const std::string reason = parse(arguments, options);
    if (!reason.empty()) {
        tell("rdmascope run: {}\nrdmascope run: `rdmascope help run` lists the options", reason);
        return exit_usage;
    }
    if (options.help) return print(help());
    if (options.version) return print(version_text(environment.version));
    if (options.software) return run_on_software(options);
    tell(
        "rdmascope run: to trace a program on the hardware that there is, is not in this version; --software runs it "
        "on the software iWARP stack");
    return exit_usage;
}

std::string help() { return help_text(); }

}  // namespace cli::launch
