#include "cli/commands.h"

#include <array>

#include "cli/completion/print_completion.h"
#include "cli/daemon/daemon.h"
#include "cli/demo/demo.h"
#include "cli/doctor/doctor.h"
#include "cli/dump/dump.h"
#include "cli/endpoint/endpoint.h"
#include "cli/flows/flows.h"
#include "cli/io/io.h"
#include "cli/replay/replay.h"
#include "cli/run/run.h"
#include "cli/top/top.h"
#include "cli/why/why.h"

namespace cli {

namespace {

constexpr std::array all{
    Command{"dump", "print, filter, save and convert packets, with tcpdump's letters", dump::run, dump::help,
            dump::option_lists},
    Command{"flows", "one row a flow: operations, latency, queue depth, what went wrong, where time went", flows::run,
            flows::help, flows::option_lists},
    Command{"io", "commands of upper layers (NVMe): how many, how long, where their time went", io::run, io::help,
            io::option_lists},
    Command{"why", "why it is slow: bandwidth, latency, QP cache, congestion, queue depth, and what to do", why::run,
            why::help, why::option_lists},
    Command{"top", "the live screen: every flow as it goes, what is wrong with it, and why", top::run, top::help,
            top::option_lists},
    Command{"daemon", "capture for ever: Prometheus, history, flight recorder, control socket", daemon::run,
            daemon::help, daemon::option_lists},
    Command{"endpoint", "an iWARP endpoint in software: serve, ping, bench, listen", endpoint::run, endpoint::help,
            endpoint::option_lists},
    Command{"replay", "re-enact a capture: its operations between endpoints, one of its sides, or its frames",
            replay::run, replay::help, replay::option_lists},
    Command{"run", "an unmodified verbs program, traced or over the software iWARP stack", run::run, run::help,
            run::option_lists},
    Command{"doctor", "what is wrong with this machine's RDMA stack, and the command that mends it", doctor::run,
            doctor::help, doctor::option_lists},
    Command{"demo", "real iWARP traffic on the loopback interface, captured, measured and explained", demo::run,
            demo::help, demo::option_lists},
    Command{"completion", "the script by which bash, zsh or fish completes command lines", completion::run,
            completion::help, completion::option_lists},
};

}  // namespace

std::span<const Command> commands() { return all; }

}  // namespace cli
