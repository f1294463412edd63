#include "cli/dump/dump.h"

#include "cli/console.h"
#include "cli/dump/job.h"
#include "cli/dump/listings.h"
#include "cli/dump/options.h"
#include "cli/live.h"

namespace cli::dump {

namespace {

int usage(const Environment& environment, options::UsageError error) {
    return usage_error(environment, "dump", std::move(error));
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto parsed = parse_options(arguments);
    if (!parsed) return usage(environment, parsed.error());
    const DumpOptions& options = *parsed;

    const bool of_interface = options.listing == Listing::link_types || options.listing == Listing::time_stamp_types;
    if (of_interface && options.interfaces.empty())
        return usage(environment, {"-L and -J list what an interface offers: add -i IFACE"});
    if (options.listing != Listing::none) {
        const auto text = listing(options, environment);
        if (text) return print(*text);
        print_message("rdmascope dump: {}", text.error().text());
        return exit_failed;
    }
    if (!options.read_path && options.interfaces.empty()) return usage(environment, {source_choices()});
    return Job(options, environment).run();
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"dump", listed_options()}}; }

}  // namespace cli::dump
