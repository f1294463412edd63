#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "fleet/client/http_client.h"
#include "fleet/sink/interval_rows.h"
#include "fleet/sink/json_lines.h"
#include "fleet/sink/spool.h"
#include "metrics/answers/answer.h"

namespace fleet::sink {

struct SinkOptions {
    client::Access access = {};
    std::string jsonl = {};  ///< a file or a named pipe, instead of a server
    std::string spool = {};  ///< a folder
    std::uint64_t max_spool_octets = 0;
    std::string host = {};  ///< how the engine's tables call this machine
    std::uint64_t boot = 0;
    std::int64_t start_ns = 0;
    std::uint64_t interval_ns = 0;
    std::uint64_t send_interval_ns = 0;  ///< how long rows wait in the spool to be sent together; 0: not at all
};

struct SinkCounters {
    SpoolCounters spool = {};
    std::uint64_t intervals_spooled = 0;
    std::uint64_t intervals_sent = 0;  ///< those of former runs among them
    std::uint64_t rows_sent = 0;
    std::uint64_t failures = 0;  ///< requests
};

/// Sends a daemon's rows to ClickHouse, or writes them to a file or a pipe. Rows of an interval are first kept in the
/// spool; a thread of its own sends them, oldest first, until the engine has them. Rows that arrive twice change
/// nothing (fleet/rows/row_table.h): after a request without an answer, the sink sends again.
///
/// The caller is never held up: if the thread that makes rows is late, intervals become longer.
class Sink {
public:
    /// Called by the sink's threads, at most once for each state: `warning` begins a trouble, else it has ended.
    using Log = std::function<void(bool warning, const std::string& line)>;

    static base::Result<std::unique_ptr<Sink>> open(SinkOptions options, const metrics::HostNames& names, Log log);
    /// Keeps the last interval that was offered, and tries for a moment to send what waits.
    ~Sink();
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;

    /// Starts the threads.
    void start();
    /// Whether an interval has ended at `end_ns`: only then offer() does anything.
    bool is_due(std::int64_t now_steady_ns) const;
    /// The state at the end of an interval. Cheap: the rows are made by the sink's thread.
    void offer(Interval interval, std::int64_t now_steady_ns);
    /// Makes the last interval end, and waits until its rows are in the spool.
    base::Result<void> end(std::optional<Interval> last);
    SinkCounters counters() const;

private:
    Sink(SinkOptions options, const metrics::HostNames& names, Log log, std::unique_ptr<Spool> spool);
    void make_rows();
    void keep(const Interval& interval);
    void send_files();
    void wait_until(std::int64_t due_ns);
    bool send(const std::vector<std::string>& names);
    bool insert(const Batch& batch);
    bool write_lines(const Batch& batch);
    void report(bool& failing, const base::Result<void>& outcome, const std::string& again);
    bool ends() const;

    SinkOptions options_;
    const metrics::HostNames& names_;
    Log log_;
    std::unique_ptr<Spool> spool_;
    IntervalRows rows_;  ///< of the thread that makes rows
    bool spool_failing_ = false;
    std::string spool_error_ = {};
    client::HttpClient client_;  ///< of the thread that sends
    JsonLines lines_;            ///< of the same thread
    bool sending_fails_ = false;
    bool reading_fails_ = false;
    std::int64_t due_ns_ = 0;  ///< of the caller's thread

    mutable std::mutex mutex_ = {};  ///< of what follows
    std::condition_variable changed_ = {};
    std::optional<Interval> waiting_ = {};
    bool last_was_offered_ = false;
    bool rows_ended_ = false;
    std::optional<std::int64_t> give_up_ns_ = {};  ///< steady clock: when sending ends
    SinkCounters counters_ = {};
    std::thread maker_ = {};
    std::thread sender_ = {};
};

}  // namespace fleet::sink
