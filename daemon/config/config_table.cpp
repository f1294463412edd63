#include "daemon/config/config_table.h"

#include <algorithm>
#include <array>

#include "daemon/config/forms.h"

namespace service::inline config {

namespace {

template <auto Part, auto Value>
constexpr auto in = [](Config& config) -> auto& {
    return config.*Part.*Value;
};
template <auto Value>
constexpr auto of_trigger = [](TriggerConfig& trigger) -> auto& {
    return trigger.*Value;
};

template <auto Value>
constexpr Member capture{+in<&Config::capture, Value>};
template <auto Value>
constexpr Member engine{+in<&Config::engine, Value>};
template <auto Value>
constexpr Member commands{+in<&Config::commands, Value>};
template <auto Value>
constexpr Member traces{+in<&Config::traces, Value>};
template <auto Value>
constexpr Member prometheus{+in<&Config::prometheus, Value>};
template <auto Value>
constexpr Member http{+in<&Config::http, Value>};
template <auto Value>
constexpr Member history{+in<&Config::history, Value>};
template <auto Value>
constexpr Member recorder{+in<&Config::recorder, Value>};
template <auto Value>
constexpr Member control{+in<&Config::control, Value>};
template <auto Value>
constexpr Member log{+in<&Config::log, Value>};
template <auto Value>
constexpr Member service_of{+in<&Config::service, Value>};
template <auto Value>
constexpr Member policy_of{+in<&Config::policy, Value>};
template <auto Value>
constexpr Member clickhouse{+in<&Config::clickhouse, Value>};
template <auto Value>
constexpr Member fabric_of{+in<&Config::fabric, Value>};
template <auto Value>
constexpr Member trigger{+of_trigger<Value>};

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t gib = 1024 * mib;
constexpr std::uint64_t tib = 1024 * gib;
constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t second = 1000 * ms;
constexpr std::uint64_t hour = 3600 * second;
constexpr std::uint64_t day = 24 * hour;

constexpr std::string_view directory_form = "an absolute path such as \"/var/lib/rdmascope\", or \"\" for none,";

constexpr std::array section_table{
    Section{"capture", "Where frames come from, and which."},
    Section{"engine", "How they are measured."},
    Section{"commands", "Commands of upper layers: NVMe, NFS, SCSI, SMB and RDS."},
    Section{"traces",
            "What programs and the kernel did, in addition to the packets: whose a flow is, how deep its queues are, "
            "and where "
            "its work requests waited. Packets are then looked at one by one, which takes several times as long."},
    Section{"prometheus", "The figures for Prometheus: /metrics and /healthz over HTTP."},
    Section{"http", "The live page for a browser and its API, / and /api/v1, at the address of prometheus.listen."},
    Section{"history", "What happened in the past, interval by interval, for --from and --to."},
    Section{"recorder",
            "The flight recorder: the last frames are kept in memory, and saved as pcapng with those that follow when "
            "a trigger, the signal SIGUSR1 or a client says so."},
    Section{trigger_section,
            "What sets the flight recorder off, as [[recorder.trigger]]; up to 64 of them, each with a name and "
            "exactly one of when and verdict."},
    Section{"control", "The socket of local clients: --connect."},
    Section{"log", "Lines for the journal, or for standard error."},
    Section{"service", "The process itself."},
    Section{"policy", "The rules that traffic must keep to: see rdmascope-policy(1)."},
    Section{"clickhouse",
            "Rows for ClickHouse, of every interval, for the questions of rdmascope-fleet(1) about all hosts."},
    Section{"fabric",
            "Readings of the InfiniBand subnet, as rdmascope-fabric(1) makes them, for Prometheus. One host of a "
            "subnet is enough."},
};

using K = Kind;
using E = Effect;

constexpr std::array key_table{
    Key{.section = "capture",
        .name = "interfaces",
        .kind = K::list,
        .member = capture<&CaptureConfig::interfaces>,
        .effect = E::at_once,
        .help = "Names of interfaces, or patterns of them (*, ? and [...]). \"any\" is every interface but loopback. "
                "They may come and go.",
        .wanted = "a list of names such as [\"eth0\", \"en*\"]",
        .fits = forms::is_interface_pattern},
    Key{.section = "capture",
        .name = "verbs_devices",
        .kind = K::list,
        .member = capture<&CaptureConfig::verbs_devices>,
        .effect = E::on_restart,
        .help = "RDMA devices whose offloaded traffic is tapped, too.",
        .wanted = "a list of names such as [\"mlx5_0\"]",
        .fits = forms::is_device_name},
    Key{.section = "capture",
        .name = "snaplen",
        .kind = K::size,
        .member = capture<&CaptureConfig::snaplen>,
        .effect = E::on_restart,
        .help = "What is kept of a frame, in bytes: 192 hold every header of a packet and no more; 0 keeps all. Of "
                "RoCE's connection management, which is longer, 512 are kept in any case, but within tunnels. Of a "
                "segment of iWARP this much is stored in recordings; capture.iwarp_snaplen says how much is read. "
                "Checksums can be verified only where a frame was kept whole.",
        .least = 96,
        .most = 256 * kib,
        .or_zero = true},
    Key{.section = "capture",
        .name = "iwarp_snaplen",
        .kind = K::size,
        .member = capture<&CaptureConfig::iwarp_snaplen>,
        .effect = E::on_restart,
        .help = "How much of a segment of iWARP is read, in bytes; 0 reads all of it. Segments hold several FPDUs, and "
                "reach this machine joined (GRO, LRO): what is not read of them is not measured. Payload is read, not "
                "stored: recordings have capture.snaplen bytes of a segment.",
        .least = 96,
        .most = 256 * kib,
        .or_zero = true},
    Key{.section = "capture",
        .name = "rdma_only",
        .kind = K::toggle,
        .member = capture<&CaptureConfig::rdma_only>,
        .effect = E::at_once,
        .help = "The kernel passes RDMA and pause frames alone."},
    Key{.section = "capture",
        .name = "filter",
        .kind = K::text,
        .member = capture<&CaptureConfig::filter>,
        .effect = E::at_once,
        .help = "An expression of pcap-filter(7) in place of what rdma_only narrows to.",
        .wanted = "an expression of pcap-filter(7) such as \"udp port 4791\", or \"\" for none,"},
    Key{.section = "capture",
        .name = "iwarp_ports",
        .kind = K::numbers,
        .member = capture<&CaptureConfig::iwarp_ports>,
        .effect = E::at_once,
        .help = "TCP ports that speak iWARP, besides those that are found.",
        .least = 1,
        .most = 65535},
    Key{.section = "capture",
        .name = "iwarp_discovery",
        .kind = K::toggle,
        .member = capture<&CaptureConfig::iwarp_discovery>,
        .effect = E::at_once,
        .help = "Find iWARP connections that began before the capture, by their FPDUs. New ones are found by their "
                "MPA start frames in any case."},
    Key{.section = "capture",
        .name = "iwarp_connections",
        .kind = K::number,
        .member = capture<&CaptureConfig::iwarp_connections>,
        .effect = E::on_restart,
        .help = "How many iWARP connections the kernel knows at once; of more, those that were idle for longest are "
                "found again by their next FPDUs. Each takes about 300 bytes of the kernel's memory.",
        .least = 1024,
        .most = 4194304},
    Key{.section = "capture",
        .name = "buffer",
        .kind = K::size,
        .member = capture<&CaptureConfig::buffer_octets>,
        .effect = E::on_restart,
        .help = "The kernel's ring of captured frames, for each interface and each of capture.threads.",
        .least = mib,
        .most = gib},
    Key{.section = "capture",
        .name = "threads",
        .kind = K::number,
        .member = capture<&CaptureConfig::threads>,
        .effect = E::on_restart,
        .help = "The number of rings of an interface, each with a thread that empties it. The kernel deals frames to "
                "the rings by the pair of hosts; the figures are the same for any number. auto begins with one, and "
                "doubles the number while a ring is half full or frames are lost, up to 8 and to the number of "
                "processors. engine.threads measure what these threads read.",
        .least = 1,
        .most = 64,
        .or_auto = true},
    Key{.section = "capture",
        .name = "promiscuous",
        .kind = K::toggle,
        .member = capture<&CaptureConfig::promiscuous>,
        .effect = E::on_restart,
        .help = "Also frames that are not for this machine, where the network delivers them."},
    Key{.section = "capture",
        .name = "timestamps",
        .kind = K::choice,
        .member = capture<&CaptureConfig::timestamps>,
        .effect = E::on_restart,
        .help = "Whose clock stamps frames; auto takes the adapter's where it has one.",
        .wanted = "auto hardware software"},

    Key{.section = "engine",
        .name = "threads",
        .kind = K::number,
        .member = engine<&EngineConfig::threads>,
        .effect = E::on_restart,
        .help = "The number of workers; the figures are the same for any number. Traces need 1.",
        .least = 1,
        .most = 256},
    Key{.section = "engine",
        .name = "max_flows",
        .kind = K::number,
        .member = engine<&EngineConfig::max_flows>,
        .effect = E::on_restart,
        .help = "Flows that are remembered, of up to 24 KiB each with their figures; the idlest goes first, and is "
                "counted.",
        .least = 1,
        .most = 10'000'000},
    Key{.section = "engine",
        .name = "idle",
        .kind = K::duration,
        .member = engine<&EngineConfig::idle_ns>,
        .effect = E::on_restart,
        .help = "A flow without traffic for so long is forgotten.",
        .least = second,
        .most = 365 * day},
    Key{.section = "engine",
        .name = "interval",
        .kind = K::duration,
        .member = engine<&EngineConfig::interval_ns>,
        .effect = E::on_restart,
        .help = "How often figures are taken and triggers judged.",
        .least = 100 * ms,
        .most = hour},
    Key{.section = "engine",
        .name = "verify_crc",
        .kind = K::toggle,
        .member = engine<&EngineConfig::verify_crc>,
        .effect = E::on_restart,
        .help = "Verify ICRC and the CRC of MPA where a frame was kept whole."},
    Key{.section = "engine",
        .name = "link_rate",
        .kind = K::rate,
        .member = engine<&EngineConfig::link_bits_per_sec>,
        .effect = E::on_restart,
        .help = "What the hosts' links carry; auto learns it from what they send."},
    Key{.section = "engine",
        .name = "node_names",
        .kind = K::text,
        .member = engine<&EngineConfig::node_names>,
        .effect = E::on_restart,
        .help =
            "A file with names for nodes of an InfiniBand subnet: lines of GUIDs and LIDs, or what rdmascope fabric "
            "--json printed. Other nodes have the description that management datagrams show.",
        .wanted = "an absolute path such as \"/etc/rdmascope/node-names\", or \"\" for none,",
        .fits = forms::is_empty_or_absolute},

    Key{.section = "commands",
        .name = "as",
        .kind = K::list,
        .member = commands<&CommandsConfig::as>,
        .effect = E::on_restart,
        .help = "The upper layer of connections to a port, or with qp:NUMBER of a queue pair, as --as of "
                "rdmascope-flows(1). Other connections are recognized by their set-up and their messages.",
        .wanted = "a list of PORT=PROTOCOL or qp:NUMBER=PROTOCOL such as [\"5000=nvme\", \"qp:0x11=rpc\"]",
        .fits = forms::is_assignment},

    Key{.section = "traces",
        .name = "programs",
        .kind = K::toggle,
        .member = traces<&TracesConfig::programs>,
        .effect = E::on_restart,
        .help = "Programs that are traced (rdmascope run -- PROGRAM) and whose rings this daemon may read: all of them "
                "where it has CAP_DAC_READ_SEARCH, else those of its own user."},
    Key{.section = "traces",
        .name = "kernel_events",
        .kind = K::list,
        .member = traces<&TracesConfig::kernel_events>,
        .effect = E::on_restart,
        .help = "The kernel's trace events of RDMA; rdma_cma tells who makes connections and queue pairs. They want "
                "tracefs, and root or CAP_PERFMON.",
        .wanted = "a list of groups or GROUP:EVENT such as [\"rdma_cma\", \"rdma_core:cq_poll\"]",
        .fits = forms::is_event_pattern},

    Key{.section = "prometheus",
        .name = "listen",
        .kind = K::text,
        .member = prometheus<&PrometheusConfig::listen>,
        .effect = E::on_restart,
        .help = "Where to listen; \":14791\" is every address of this machine; every host that reaches it can read "
                "/metrics.",
        .wanted = "an address and a port such as \"127.0.0.1:14791\", \"[::1]:14791\" or \":14791\", or \"\" for none,",
        .fits = forms::is_empty_or_listen_address},
    Key{.section = "prometheus",
        .name = "max_peers",
        .kind = K::number,
        .member = prometheus<&PrometheusConfig::max_peers>,
        .effect = E::at_once,
        .help = "The number of peers, the busiest ones, that have series of their own; the others are counted together "
                "as \"other\".",
        .least = 0,
        .most = 1000},

    Key{.section = "http",
        .name = "page",
        .kind = K::toggle,
        .member = http<&HttpConfig::page>,
        .effect = E::on_restart,
        .help = "Serve the live page and its API. Otherwise / is a short page without figures of traffic."},
    Key{.section = "http",
        .name = "token_file",
        .kind = K::text,
        .member = http<&HttpConfig::token_file>,
        .effect = E::on_restart,
        .help = "A file whose first line is the token that the page and its API need: as password of any user in a "
                "browser, or as a bearer token. Without it, only this machine sees them. /metrics and /healthz need no "
                "token. The file must not be readable for every user.",
        .wanted = "an absolute path such as \"/etc/rdmascope/token\", or \"\" for none,",
        .fits = forms::is_empty_or_absolute},
    Key{.section = "http",
        .name = "writes",
        .kind = K::toggle,
        .member = http<&HttpConfig::writes>,
        .effect = E::on_restart,
        .help = "The page may trigger the flight recorder. Otherwise page and API only read."},

    Key{.section = "history",
        .name = "directory",
        .kind = K::text,
        .member = history<&HistoryConfig::directory>,
        .effect = E::on_restart,
        .help = "Where history is kept.",
        .wanted = directory_form,
        .fits = forms::is_empty_or_absolute},
    Key{.section = "history",
        .name = "interval",
        .kind = K::duration,
        .member = history<&HistoryConfig::interval_ns>,
        .effect = E::on_restart,
        .help = "How long a stretch of time is that one record holds; a multiple of engine.interval.",
        .least = 100 * ms,
        .most = day},
    Key{.section = "history",
        .name = "max_size",
        .kind = K::size,
        .member = history<&HistoryConfig::max_octets>,
        .effect = E::at_once,
        .help = "Of all its files; the oldest goes first.",
        .least = mib,
        .most = 1024 * tib},
    Key{.section = "history",
        .name = "max_age",
        .kind = K::duration,
        .member = history<&HistoryConfig::max_age_ns>,
        .effect = E::at_once,
        .help = "What is older is removed.",
        .least = 60 * second,
        .most = 3650 * day},

    Key{.section = "recorder",
        .name = "directory",
        .kind = K::text,
        .member = recorder<&RecorderConfig::directory>,
        .effect = E::on_restart,
        .help = "Where recordings are kept. Without it nothing is recorded, and no frame is kept in memory.",
        .wanted = directory_form,
        .fits = forms::is_empty_or_absolute},
    Key{.section = "recorder",
        .name = "before",
        .kind = K::duration,
        .member = recorder<&RecorderConfig::before_ns>,
        .effect = E::on_restart,
        .help = "What is kept of the past, as far as memory holds it.",
        .least = 100 * ms,
        .most = hour},
    Key{.section = "recorder",
        .name = "after",
        .kind = K::duration,
        .member = recorder<&RecorderConfig::after_ns>,
        .effect = E::at_once,
        .help = "What is added to a recording once it was set off.",
        .least = ms,
        .most = hour,
        .or_zero = true},
    Key{.section = "recorder",
        .name = "memory",
        .kind = K::size,
        .member = recorder<&RecorderConfig::memory_octets>,
        .effect = E::on_restart,
        .help = "For frames of the past, the whole of it, taken when the daemon starts.",
        .least = mib,
        .most = tib},
    Key{.section = "recorder",
        .name = "max_files",
        .kind = K::number,
        .member = recorder<&RecorderConfig::max_files>,
        .effect = E::at_once,
        .help = "Recordings that are kept; the oldest goes first.",
        .least = 1,
        .most = 100'000},
    Key{.section = "recorder",
        .name = "max_file_size",
        .kind = K::size,
        .member = recorder<&RecorderConfig::max_file_octets>,
        .effect = E::at_once,
        .help = "A recording ends at this size, which is at least recorder.memory.",
        .least = 64 * kib,
        .most = tib},
    Key{.section = "recorder",
        .name = "pause",
        .kind = K::duration,
        .member = recorder<&RecorderConfig::pause_ns>,
        .effect = E::at_once,
        .help = "The least time between two recordings of one trigger.",
        .least = ms,
        .most = 30 * day,
        .or_zero = true},

    Key{.section = trigger_section,
        .name = "name",
        .kind = K::text,
        .member = trigger<&TriggerConfig::name>,
        .effect = E::at_once,
        .help = "Stands in the file's name and in the log; each trigger has its own.",
        .wanted = "a name of up to 32 letters, digits, '-' and '_'",
        .fits = forms::is_trigger_name},
    Key{.section = trigger_section,
        .name = "when",
        .kind = K::text,
        .member = trigger<&TriggerConfig::when>,
        .effect = E::at_once,
        .help = "A condition on a flow's figures within one engine.interval, by the names of rdmascope-flows(1); "
                "several are joined by \"and\".",
        .wanted = "a condition such as \"retransmitted_packets > 100\""},
    Key{.section = trigger_section,
        .name = "verdict",
        .kind = K::text,
        .member = trigger<&TriggerConfig::verdict>,
        .effect = E::at_once,
        .help = "What rdmascope-why(1) finds within one engine.interval.",
        .wanted = "a verdict of rdmascope-why(1) such as \"rnr\""},

    Key{.section = "control",
        .name = "socket",
        .kind = K::text,
        .member = control<&ControlConfig::socket>,
        .effect = E::on_restart,
        .help = "The socket's file.",
        .wanted = "an absolute path of at most 107 bytes, or \"\" for none,",
        .fits = forms::is_empty_or_socket},
    Key{.section = "control",
        .name = "group",
        .kind = K::text,
        .member = control<&ControlConfig::group>,
        .effect = E::on_restart,
        .help = "Whose members may connect, besides root and the daemon's user; without it, the process's group.",
        .wanted = "the name of a group, or \"\"",
        .fits = forms::is_empty_or_account},
    Key{.section = "control",
        .name = "max_clients",
        .kind = K::number,
        .member = control<&ControlConfig::max_clients>,
        .effect = E::on_restart,
        .help = "The most clients at once; one more gets a refusal and is closed.",
        .least = 1,
        .most = 1024},

    Key{.section = "log",
        .name = "level",
        .kind = K::choice,
        .member = log<&LogConfig::level>,
        .effect = E::at_once,
        .help = "The least severe messages that are logged.",
        .wanted = "error warning info debug"},
    Key{.section = "log",
        .name = "max_lines_per_sec",
        .kind = K::number,
        .member = log<&LogConfig::max_lines_per_sec>,
        .effect = E::at_once,
        .help = "Of one kind; how many were left out is said with the next one.",
        .least = 1,
        .most = 1'000'000},

    Key{.section = "service",
        .name = "user",
        .kind = K::text,
        .member = service_of<&ServiceConfig::user>,
        .effect = E::on_restart,
        .help = "Whom to become once all is open, where root started the daemon. Without it the user stays; what "
                "capturing does not need of root's power is given up in either case.",
        .wanted = "the name of a user, or \"\"",
        .fits = forms::is_empty_or_account},
    Key{.section = "service",
        .name = "restrict_system_calls",
        .kind = K::toggle,
        .member = service_of<&ServiceConfig::restrict_system_calls>,
        .effect = E::on_restart,
        .help = "Allow the daemon only the system calls that it needs (seccomp): it can start no program then."},

    Key{.section = "policy",
        .name = "file",
        .kind = K::text,
        .member = policy_of<&PolicyConfig::file>,
        .effect = E::at_once,
        .help = "A file of rules, which the daemon's user can read. Each engine.interval is compared with the rules: "
                "the question policy of why, series of Prometheus and triggers with the verdict policy_broken report "
                "what differs. A reload reads the file again.",
        .wanted = "an absolute path such as \"/etc/rdmascope/policy.toml\", or \"\" for none,",
        .fits = forms::is_empty_or_absolute},

    Key{.section = "clickhouse",
        .name = "url",
        .kind = K::text,
        .member = clickhouse<&ClickHouseConfig::url>,
        .effect = E::on_restart,
        .help = "The HTTP interface of a server. Its tables are those of `rdmascope fleet schema`.",
        .wanted = "a URL such as \"https://clickhouse-1:8443\", or \"\" for none,",
        .fits = forms::is_empty_or_url},
    Key{.section = "clickhouse",
        .name = "jsonl",
        .kind = K::text,
        .member = clickhouse<&ClickHouseConfig::jsonl>,
        .effect = E::on_restart,
        .help = "A file, or a named pipe that another program reads, which gets the rows as JSON lines instead of a "
                "server. Vector, Kafka's tools and other engines read them.",
        .wanted = "an absolute path such as \"/run/rdmascope/rows.jsonl\", or \"\" for none,",
        .fits = forms::is_empty_or_absolute},
    Key{.section = "clickhouse",
        .name = "database",
        .kind = K::text,
        .member = clickhouse<&ClickHouseConfig::database>,
        .effect = E::on_restart,
        .help = "The database of these tables.",
        .wanted = "a name of letters, digits and '_'",
        .fits = forms::is_database_name},
    Key{.section = "clickhouse",
        .name = "user",
        .kind = K::text,
        .member = clickhouse<&ClickHouseConfig::user>,
        .effect = E::on_restart,
        .help = "The account, which only needs the right to INSERT. Without it, the server's default account.",
        .wanted = "the name of a user, or \"\"",
        .fits = forms::is_empty_or_account},
    Key{.section = "clickhouse",
        .name = "password_file",
        .kind = K::text,
        .member = clickhouse<&ClickHouseConfig::password_file>,
        .effect = E::on_restart,
        .help = "A file whose first line is the account's password. It must not be readable for every user.",
        .wanted = "an absolute path such as \"/etc/rdmascope/clickhouse\", or \"\" for none,",
        .fits = forms::is_empty_or_absolute},
    Key{.section = "clickhouse",
        .name = "ca_file",
        .kind = K::text,
        .member = clickhouse<&ClickHouseConfig::ca_file>,
        .effect = E::on_restart,
        .help = "Certificates (PEM) that are trusted for https instead of the system's.",
        .wanted = "an absolute path such as \"/etc/rdmascope/ca.pem\", or \"\" for none,",
        .fits = forms::is_empty_or_absolute},
    Key{.section = "clickhouse",
        .name = "verify_tls",
        .kind = K::toggle,
        .member = clickhouse<&ClickHouseConfig::verify_tls>,
        .effect = E::on_restart,
        .help = "Verify the server's certificate and its name."},
    Key{.section = "clickhouse",
        .name = "host",
        .kind = K::text,
        .member = clickhouse<&ClickHouseConfig::host>,
        .effect = E::on_restart,
        .help = "What the rows call this machine; each daemon needs a name of its own. Without it, the machine's name.",
        .wanted = "a name of at most 255 bytes, or \"\"",
        .fits = forms::is_short_text},
    Key{.section = "clickhouse",
        .name = "interval",
        .kind = K::duration,
        .member = clickhouse<&ClickHouseConfig::interval_ns>,
        .effect = E::on_restart,
        .help = "How often rows are made; a multiple of engine.interval.",
        .least = 100 * ms,
        .most = 600 * second},
    Key{.section = "clickhouse",
        .name = "spool",
        .kind = K::text,
        .member = clickhouse<&ClickHouseConfig::spool>,
        .effect = E::on_restart,
        .help = "A folder where rows wait until the server has them. It is required with clickhouse.url and "
                "clickhouse.jsonl.",
        .wanted = "an absolute path such as \"/var/lib/rdmascope/spool\", or \"\" for none,",
        .fits = forms::is_empty_or_absolute},
    Key{.section = "clickhouse",
        .name = "max_spool_size",
        .kind = K::size,
        .member = clickhouse<&ClickHouseConfig::max_spool_octets>,
        .effect = E::on_restart,
        .help = "Of the folder; the oldest interval is dropped first, and counted.",
        .least = mib,
        .most = 1024 * tib},

    Key{.section = "fabric",
        .name = "interval",
        .kind = K::duration,
        .member = fabric_of<&FabricConfig::interval_ns>,
        .effect = E::on_restart,
        .help = "How often the subnet is read; 0 reads it never. A reading asks each node and each port with a link.",
        .least = second,
        .most = 86400 * second,
        .or_zero = true},
    Key{.section = "fabric",
        .name = "device",
        .kind = K::text,
        .member = fabric_of<&FabricConfig::device>,
        .effect = E::on_restart,
        .help = "The device whose port asks. Without it, the first one with an active InfiniBand port.",
        .wanted = "a name such as \"mlx5_0\", or \"\"",
        .fits = forms::is_empty_or_device_name},
    Key{.section = "fabric",
        .name = "port",
        .kind = K::number,
        .member = fabric_of<&FabricConfig::port>,
        .effect = E::on_restart,
        .help = "The port of the device; 0 is its first active one.",
        .least = 0,
        .most = 254},
    Key{.section = "fabric",
        .name = "max_ports",
        .kind = K::number,
        .member = fabric_of<&FabricConfig::max_ports>,
        .effect = E::on_restart,
        .help = "How many ports have series of their own, each about 17: those with findings first, then those that "
                "have sent the most.",
        .least = 0,
        .most = 4096},
};

}  // namespace

std::span<const Section> sections() { return section_table; }
std::span<const Key> keys() { return key_table; }

const Key* find_key(std::string_view path) {
    const auto at =
        std::find_if(key_table.begin(), key_table.end(), [&](const Key& key) { return key.path() == path; });
    return at == key_table.end() ? nullptr : &*at;
}

}  // namespace service::config
