// The one place where everything is put together.
#include <csignal>
#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/quantities.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/standard_streams.h"
#include "dissect/registry.h"

namespace {

/// Built by the first call: most commands know their fields, and need none by its name.
const dissect::FieldRegistry& frame_fields() {
    static const dissect::FieldRegistry fields;
    return fields;
}

}  // namespace

int main(int argc, char** argv) {
    cli::hold_standard_streams();
    if (cli::is_terminal(STDOUT_FILENO) && cli::writes_utf8()) base::set_charset(base::Charset::utf8);
    try {
        return cli::run_command({argv + (argc > 0 ? 1 : 0), argv + argc},
                                {&frame_fields, RDMASCOPE_VERSION, cli::commands()});
    } catch (const std::exception& failure) {
        cli::print_message("rdmascope: {}", failure.what());
        return cli::exit_failed;
    }
}
