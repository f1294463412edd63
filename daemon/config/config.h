#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The daemon's configuration: one struct for each section of its TOML file. Each member is a key of the same name. Its
/// default, unit, range and explanation are in the table of `config_table.cpp`; reading, checking and the manual use
/// that table. A key with a duration takes "10s", one with a size "64MiB", one with a rate "100G".
namespace service::inline config {

struct CaptureConfig {
    /// Names, or patterns of them (`eth*`, `en?s0`); `any` is every interface except loopback. Interfaces may come and
    /// go.
    std::vector<std::string> interfaces = {"any"};
    std::vector<std::string> verbs_devices = {};  ///< RDMA devices whose offloaded traffic is captured, too: `mlx5_0`
    std::uint64_t snaplen = 192;                  ///< bytes kept of a frame; 0 keeps all
    std::uint64_t iwarp_snaplen = 0;              ///< bytes read of an iWARP segment; 0: all of it
    bool rdma_only = true;                        ///< the kernel passes nothing else
    std::string filter = {};                      ///< pcap-filter(7), instead of the built-in filter for RDMA
    std::vector<std::uint64_t> iwarp_ports = {};  ///< TCP ports that speak MPA, in addition to those that are found
    bool iwarp_discovery = true;                  ///< find them
    std::uint64_t iwarp_connections = 65536;      ///< the number of connections that the kernel remembers
    std::uint64_t buffer_octets = std::uint64_t{64} << 20;  ///< of the kernel's ring, each interface and thread
    std::optional<std::uint64_t> threads = 1;  ///< rings of an interface, with a thread each; no value: by load
    bool promiscuous = true;
    std::string timestamps = "auto";  ///< `auto`, `hardware`, `software`

    bool operator==(const CaptureConfig&) const = default;
};

struct EngineConfig {
    std::uint64_t threads = 1;
    std::uint64_t max_flows = 16384;
    std::uint64_t idle_ns = std::uint64_t{600} * 1'000'000'000;  ///< a flow is forgotten after this time without
                                                                 ///< traffic
    std::uint64_t interval_ns = 1'000'000'000;                   ///< how often figures are taken
    bool verify_crc = true;                                      ///< for frames that were captured whole
    std::optional<std::uint64_t> link_bits_per_sec = {};
    std::string node_names = {};  ///< a file of names for nodes of an InfiniBand subnet; empty: no names

    bool operator==(const EngineConfig&) const = default;
};

/// Commands of upper layers.
struct CommandsConfig {
    std::vector<std::string> as = {};  ///< "4420=nvme": connections whose upper layer the user names

    bool operator==(const CommandsConfig&) const = default;
};

/// What programs and the kernel did, in addition to the packets. With a trace, one thread handles packets one by one.
struct TracesConfig {
    bool programs = false;                        ///< programs that are traced: `rdmascope run -- PROGRAM`
    std::vector<std::string> kernel_events = {};  ///< groups, or GROUP:EVENT

    bool wanted() const { return programs || !kernel_events.empty(); }
    bool operator==(const TracesConfig&) const = default;
};

struct PrometheusConfig {
    std::string listen = "127.0.0.1:14791";  ///< empty: no listener
    std::uint64_t max_peers = 20;            ///< peers that have series of their own; the others are counted as `other`

    bool operator==(const PrometheusConfig&) const = default;
};

/// The page for a browser and its API, at the address of prometheus.listen.
struct HttpConfig {
    bool page = true;
    std::string token_file = {};  ///< empty: this machine alone sees the page
    bool writes = false;          ///< the page may trigger the flight recorder

    bool operator==(const HttpConfig&) const = default;
};

struct HistoryConfig {
    std::string directory = {};                                     ///< empty: no history is kept
    std::uint64_t interval_ns = std::uint64_t{10} * 1'000'000'000;  ///< a multiple of engine.interval
    std::uint64_t max_octets = std::uint64_t{1} << 30;              ///< the oldest interval is removed first
    std::uint64_t max_age_ns = std::uint64_t{30} * 86400 * 1'000'000'000;

    bool operator==(const HistoryConfig&) const = default;
};

/// What triggers the flight recorder: exactly one of `when` and `verdict`.
struct TriggerConfig {
    std::string name = {};     ///< in the file's name and in logs
    std::string when = {};     ///< "retransmitted_packets > 100": a flow's figure within one engine.interval
    std::string verdict = {};  ///< a verdict of `why`: "rnr"

    bool operator==(const TriggerConfig&) const = default;
};

struct RecorderConfig {
    std::string directory = {};                                   ///< empty: nothing is recorded
    std::uint64_t before_ns = std::uint64_t{10} * 1'000'000'000;  ///< how much of the past is kept
    std::uint64_t after_ns = std::uint64_t{5} * 1'000'000'000;    ///< how much is added after the trigger
    std::uint64_t memory_octets = std::uint64_t{64} << 20;
    std::uint64_t max_files = 16;  ///< the oldest file is removed first
    std::uint64_t max_file_octets = std::uint64_t{256} << 20;
    std::uint64_t pause_ns = std::uint64_t{60} * 1'000'000'000;  ///< the least time between two recordings of a trigger
    std::vector<TriggerConfig> triggers = {};

    bool operator==(const RecorderConfig&) const = default;
};

struct ControlConfig {
    std::string socket = "/run/rdmascope/rdmascope.sock";  ///< empty: none
    std::string group = {};                                ///< whose members may connect, in addition to root and the
                                                           ///< daemon's user
    std::uint64_t max_clients = 64;

    bool operator==(const ControlConfig&) const = default;
};

struct LogConfig {
    std::string level = "info";            ///< `error`, `warning`, `info`, `debug`
    std::uint64_t max_lines_per_sec = 10;  ///< of one kind; the number of suppressed lines is logged

    bool operator==(const LogConfig&) const = default;
};

struct ServiceConfig {
    std::string user = {};  ///< to become once all is open; empty: the user who started the daemon, without the
                            ///< capabilities
    bool restrict_system_calls = true;  ///< to those that the daemon needs

    bool operator==(const ServiceConfig&) const = default;
};

/// The rules that traffic must keep to: see policy/rules.h.
struct PolicyConfig {
    std::string file = {};  ///< empty: none

    bool operator==(const PolicyConfig&) const = default;
};

/// Rows for ClickHouse: see fleet/sink/sink.h.
struct ClickHouseConfig {
    std::string url = {};    ///< empty: none are sent
    std::string jsonl = {};  ///< a file or a pipe that gets them instead; empty: none
    std::string database = "rdmascope";
    std::string user = {};
    std::string password_file = {};
    std::string ca_file = {};
    bool verify_tls = true;
    std::string host = {};                                          ///< empty: the machine's name
    std::uint64_t interval_ns = std::uint64_t{10} * 1'000'000'000;  ///< a multiple of engine.interval
    std::uint64_t send_interval_ns = 0;                             ///< 0: rows are sent when an interval ends
    std::string spool = {};                                         ///< a folder; required
    std::uint64_t max_spool_octets = std::uint64_t{1} << 30;        ///< the oldest interval is dropped first

    bool makes_rows() const { return !url.empty() || !jsonl.empty(); }
    bool operator==(const ClickHouseConfig&) const = default;
};

/// Readings of the InfiniBand subnet: see daemon/fabric_poll.h.
struct FabricConfig {
    std::uint64_t interval_ns = 0;  ///< 0: the subnet is not read
    std::string device = {};        ///< empty: the first one with an active InfiniBand port
    std::uint64_t port = 0;         ///< of the device; 0: its first active one
    std::uint64_t max_ports = 128;  ///< with series of their own

    bool operator==(const FabricConfig&) const = default;
};

struct Config {
    CaptureConfig capture = {};
    EngineConfig engine = {};
    CommandsConfig commands = {};
    TracesConfig traces = {};
    PrometheusConfig prometheus = {};
    HttpConfig http = {};
    HistoryConfig history = {};
    RecorderConfig recorder = {};
    ControlConfig control = {};
    LogConfig log = {};
    ServiceConfig service = {};
    PolicyConfig policy = {};
    ClickHouseConfig clickhouse = {};
    FabricConfig fabric = {};

    bool operator==(const Config&) const = default;
};

}  // namespace service::config
