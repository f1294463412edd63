#include "cli/run/run.h"

#include "cli/console.h"
#include "cli/overwriting.h"
#include "cli/run/attached.h"
#include "cli/run/executable.h"
#include "cli/run/options.h"
#include "cli/run/run_traced.h"
#include "cli/run/software.h"

namespace cli::run {

namespace {

int run_program(const Options& options) {
    const Program program = find_program(options.command.front());
    if (program.found != Program::Found::yes) {
        print_message("rdmascope run: {}", program.reason);
        return program.found == Program::Found::missing ? exit_missing : exit_unusable;
    }
    for (const std::string& file : {options.tracing.file, options.tracing.mads}) {
        const std::string refusal = refuse_overwriting(file, {program.path});
        if (refusal.empty()) continue;
        print_message("rdmascope run: {}: {}", file, refusal);
        return exit_failed;
    }
    if (!program.note.empty()) print_message("rdmascope run: {}", program.note);
    const auto start = [&] {
        return options.software && !put_software_first(options) ? exit_failed : become(program, options.command);
    };
    // Without records to read, this process becomes the program.
    return options.software && !options.traced ? start() : run_traced(options.tracing, start);
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    Options options;
    const auto error = parse(arguments, options);
    if (const auto status = answered(environment, "run", error, options, help)) return *status;
    if (options.process) return run_attached(*options.process, options.tracing);
    return run_program(options);
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"run", option_table().options()}}; }

}  // namespace cli::run
