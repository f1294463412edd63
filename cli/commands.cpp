#include "cli/commands.h"

#include <array>

#include "cli/completion/print_completion.h"
#include "cli/daemon/daemon.h"
#include "cli/demo/demo.h"
#include "cli/doctor/doctor.h"
#include "cli/dump/dump.h"
#include "cli/endpoint/endpoint.h"
#include "cli/explain/explain.h"
#include "cli/fabric/show_fabric.h"
#include "cli/fleet/fleet.h"
#include "cli/flows/flows.h"
#include "cli/io/io.h"
#include "cli/paths/paths.h"
#include "cli/policy/policy.h"
#include "cli/replay/replay.h"
#include "cli/report/make_report.h"
#include "cli/run/run.h"
#include "cli/top/top.h"
#include "cli/why/why.h"

namespace cli {

namespace {

constexpr std::array all{
    Command{"dump", "print, filter and save packets, with tcpdump's options", dump::run, dump::help,
            dump::option_lists},
    Command{"flows", "measure every flow: latency, queue depth, losses, states of time", flows::run, flows::help,
            flows::option_lists},
    Command{"io", "show commands of NVMe, NFS, SCSI, SMB, RDS: number, latency, parts", io::run, io::help,
            io::option_lists},
    Command{"paths", "show which ports carry what between hosts, and which path loses", paths::run, paths::help,
            paths::option_lists},
    Command{"why", "explain why RDMA is slow, with evidence and advice", why::run, why::help, why::option_lists},
    Command{"explain", "explain log lines and error codes, and find their packets", explain::run, explain::help,
            explain::option_lists},
    Command{"report", "write one HTML page with answers, flows and plots", report::run, report::help,
            report::option_lists},
    Command{"policy", "check that each flow has the class that rules expect", policy::run, policy::help,
            policy::option_lists},
    Command{"fabric", "show the InfiniBand subnet: nodes, links, counters, what is wrong", fabric::run, fabric::help,
            fabric::option_lists},
    Command{"top", "show all flows live, or play back a capture", top::run, top::help, top::option_lists},
    Command{"daemon", "capture for months: Prometheus, history, flight recorder", daemon::run, daemon::help,
            daemon::option_lists},
    Command{"fleet", "ask ClickHouse about all hosts: top, flows, io, paths, pairs, why", fleet::run, fleet::help,
            fleet::option_lists},
    Command{"endpoint", "run an iWARP endpoint in software: serve, ping, bench, listen", endpoint::run, endpoint::help,
            endpoint::option_lists},
    Command{"replay", "repeat a capture: its operations, one of its sides, its frames", replay::run, replay::help,
            replay::option_lists},
    Command{"run", "run a verbs program, traced or over iWARP in software", run::run, run::help, run::option_lists},
    Command{"doctor", "check this machine's RDMA stack, and name the repairs", doctor::run, doctor::help,
            doctor::option_lists},
    Command{"demo", "make RDMA traffic on loopback, capture it and explain it", demo::run, demo::help,
            demo::option_lists},
    Command{"completion", "print the completion script for bash, zsh or fish", completion::run, completion::help,
            completion::option_lists},
};

}  // namespace

std::span<const Command> commands() { return all; }

}  // namespace cli
