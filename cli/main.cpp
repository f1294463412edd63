// The one place where everything is put together.
#include <csignal>
#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/standard_streams.h"
#include "dissect/registry.h"
#include "text/quantities.h"

int main(int argc, char** argv) {
    cli::hold_standard_streams();
    if (cli::is_terminal(STDOUT_FILENO) && cli::writes_utf8()) text::set_charset(text::Charset::utf8);
    try {
        const dissect::FieldRegistry fields;
        return cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, {fields, RDMASCOPE_VERSION, cli::commands()});
    } catch (const std::exception& failure) {
        cli::tell("rdmascope: {}", failure.what());
        return cli::exit_failed;
    }
}
