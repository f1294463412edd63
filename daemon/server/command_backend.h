#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/frames_of.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"
#include "metrics/figures/snapshot.h"

/// The requests of a client to the daemon. The server (server.h) turns lines into calls of this interface, the service
/// implements it, and tests replace it. Called from the thread that runs the server, which in the daemon is not the
/// main thread.
namespace service::inline server {

/// Figures with what is needed to show them.
struct Published {
    std::shared_ptr<const metrics::Snapshot> snapshot;  ///< since the daemon began; never null
    std::int64_t taken_ns = 0;                          ///< wall clock
};

/// The daemon's own state. Each member is a key of `status`, and a series of Prometheus (exporters/prometheus).
struct Status {
    std::string version;
    std::int64_t started_ns = 0;
    std::int64_t now_ns = 0;
    struct Interface {
        std::string name;
        bool open = false;
        std::uint64_t received = 0;
        std::optional<std::uint64_t> kernel_dropped;
        std::optional<std::uint64_t> interface_dropped;
        std::string filter;
        bool hardware_timestamps = false;
    };
    std::vector<Interface> interfaces;
    /// How iWARP connections are found: by the kernel from the first byte on, or by the daemon, which misses the
    /// beginning.
    struct Learning {
        bool narrowed = true;  ///< false: the user's filter expression decides what is captured
        bool in_kernel = false;
        std::string reason;  ///< why the kernel does not find them, and what to do
        std::uint64_t learnt = 0;
        std::uint64_t open = 0;
        std::uint64_t evicted = 0;
        std::uint64_t withdrawn = 0;
        std::uint64_t capacity = 0;
    };
    Learning learning;
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t flows = 0;
    std::uint64_t flows_evicted = 0;
    std::uint64_t flows_forgotten = 0;  ///< for idleness
    std::uint64_t memory_octets = 0;    ///< that the engines hold
    double busy_share = 0;              ///< of the capture thread, over the last interval
    std::uint64_t history_intervals = 0;
    std::uint64_t history_octets = 0;
    std::uint64_t history_lost_intervals = 0;
    std::uint64_t trace_records = 0;  ///< of programs and the kernel's events, that were read
    std::uint64_t trace_records_lost = 0;
    std::uint64_t recorder_frames = 0;  ///< held in memory
    std::uint64_t recordings = 0;       ///< written
    std::uint64_t recordings_failed = 0;
    std::string last_recording;  ///< path
    /// Rows for ClickHouse, or for a file of JSON lines.
    struct Rows {
        std::uint64_t intervals = 0;  ///< put into the spool
        std::uint64_t sent_intervals = 0;
        std::uint64_t sent_rows = 0;
        std::uint64_t dropped_intervals = 0;  ///< removed from the spool unsent
        std::uint64_t spool_failures = 0;     ///< intervals that could not be put there
        std::uint64_t failures = 0;           ///< requests
        std::uint64_t spool_octets = 0;       ///< that wait
    };
    std::optional<Rows> clickhouse;  ///< no value if none are made
    std::uint64_t clients = 0;
    std::uint64_t reloads = 0;
    std::vector<std::string> needs_restart;  ///< keys that were changed but need a restart
};

/// Frames for one client: the bytes of one pcapng file, a piece at a time.
class FrameStream {
public:
    virtual ~FrameStream() = default;
    enum class Step : std::uint8_t {
        soon,   ///< more will be there in a moment
        later,  ///< everything that there was has been read
        ended,
    };
    /// Appends what was made ready since the last call, about a megabyte, and asks for more. Does not wait.
    virtual Step read(std::string& out) = 0;
};

class Commands {
public:
    virtual ~Commands() = default;
    /// At most `age_ns` old; if it is older, waits for the capture thread, at most a second.
    virtual Published snapshot(std::uint64_t age_ns) = 0;
    /// What this machine's RDMA devices counted since the daemon began; empty where it has none.
    virtual metrics::DeviceFigures devices() { return {}; }
    /// Adds what the policy's rules say, if there are any, to the answers of `why`; of one flow, where it is named.
    virtual void add_policy(const metrics::Snapshot& /*snapshot*/, const std::uint64_t* /*flow*/,
                            std::vector<metrics::Answer>& /*answers*/) const {}
    /// The file of these rules; empty: none.
    virtual std::string policy_file() const { return {}; }
    virtual Status status() = 0;
    virtual const metrics::HostNames& names() const = 0;
    virtual bool crc_verified() const = 0;
    /// Triggers the flight recorder. Fails with the reason if it cannot record.
    virtual base::Result<void> trigger(const std::string& reason) = 0;
    /// Whether the daemon ends: long work is not worth beginning any more.
    virtual bool ends() const { return false; }
    /// Reads the configuration again. Fails with one error for each mistake.
    virtual base::Result<void, base::Errors> reload() = 0;
    /// The history's directory, for clients that read it themselves; empty if absent.
    virtual std::string history_directory() const = 0;
    virtual base::Result<std::unique_ptr<FrameStream>> frames(control::FramesOf which) = 0;
};

}  // namespace service::server
