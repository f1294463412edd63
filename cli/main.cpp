// The one place where everything is put together.
#include <array>
#include <csignal>
#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/daemon/daemon.h"
#include "cli/demo/demo.h"
#include "cli/doctor/doctor.h"
#include "cli/dump/dump.h"
#include "cli/endpoint/endpoint.h"
#include "cli/flows/flows.h"
#include "cli/replay/replay.h"
#include "cli/run/run.h"
#include "cli/standard_streams.h"
#include "cli/top/top.h"
#include "cli/why/why.h"
#include "dissect/registry.h"
#include "text/quantities.h"

int main(int argc, char** argv) {
    cli::hold_standard_streams();
    constexpr std::array commands{
        cli::Command{"dump", "print, filter, save and convert packets, with tcpdump's letters", cli::dump::run,
                     cli::dump::help},
        cli::Command{"flows", "one row a flow: operations, latency, queue depth, what went wrong, where time went",
                     cli::flows::run, cli::flows::help},
        cli::Command{"why", "why it is slow: bandwidth, latency, QP cache, congestion, queue depth, and what to do",
                     cli::why::run, cli::why::help},
        cli::Command{"top", "the live screen: every flow as it goes, what is wrong with it, and why", cli::top::run,
                     cli::top::help},
        cli::Command{"daemon", "capture for ever: Prometheus, history, flight recorder, control socket",
                     cli::daemon::run, cli::daemon::help},
        cli::Command{"endpoint", "an iWARP endpoint in software: serve, ping, bench, listen", cli::endpoint::run,
                     cli::endpoint::help},
        cli::Command{"replay", "re-enact a capture: its operations between endpoints, one of its sides, or its frames",
                     cli::replay::run, cli::replay::help},
        cli::Command{"run", "an unmodified verbs program, traced or over the software iWARP stack", cli::launch::run,
                     cli::launch::help},
        cli::Command{"doctor", "what is wrong with this machine's RDMA stack, and the command that mends it",
                     cli::doctor::run, cli::doctor::help},
        cli::Command{"demo", "real iWARP traffic on the loopback interface, captured, measured and explained",
                     cli::demo::run, cli::demo::help},
    };
    if (cli::is_terminal(STDOUT_FILENO) && cli::writes_utf8()) text::set_charset(text::Charset::utf8);
    try {
        const dissect::FieldRegistry fields;
        return cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, commands, {fields, RDMASCOPE_VERSION});
    } catch (const std::exception& failure) {
        cli::tell("rdmascope: {}", failure.what());
        return cli::exit_failed;
    }
}
