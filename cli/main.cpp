// The one place where everything is put together.
#include <array>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/dump/dump.h"
#include "dissect/registry.h"

int main(int argc, char** argv) {
    constexpr std::array commands{
        cli::Command{"dump", "print, filter, save and convert packets, with tcpdump's letters", cli::dump::run,
                     cli::dump::help},
    };
    try {
        const dissect::FieldRegistry fields;
        return cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, commands, {fields, RDMASCOPE_VERSION});
    } catch (const std::exception& failure) {
        cli::tell("rdmascope: {}", failure.what());
        return cli::exit_failed;
    }
}
