#include "cli/replay/replay.h"

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "cli/replay/modes.h"
#include "cli/replay/options.h"
#include "iwarp/iwarp.h"

namespace cli::replay {

int failed(const std::string& what) {
    print_message("rdmascope replay: {}", what);
    return exit_failed;
}

int failed(const ReplayOptions& options, const std::string& what) {
    if (options.json) {
        const char* const file = options.as || options.place == Place::inject ? "file" : "capture";
        const nlohmann::ordered_json failure{{file, options.path}, {"error", what}};
        print(failure.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    }
    return failed(what);
}

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    ReplayOptions options;
    const auto usage = parse(arguments, options);
    if (const auto status = answered(environment, "replay", usage, options, help)) return *status;
    try {
        if (options.place == Place::inject) return inject(options, environment);
        return options.as ? peer(options, environment) : workload(options, environment);
    } catch (const iwarp::Error& error) {
        return failed(options, error.what());
    }
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"replay", option_table().options()}}; }

}  // namespace cli::replay
