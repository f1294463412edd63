#pragma once
#include <chrono>
#include <cstdint>
#include <list>
#include <optional>

#include "iwarp/iwarp.h"

namespace iwarp::verbs {

class Connection;

/// The wait of a message for a receive: its deadline, and its place among those that wait for a receive of a shared
/// queue.
class ReceiveWait {
public:
    explicit ReceiveWait(Connection& connection) : connection_(connection) {}
    ReceiveWait(const ReceiveWait&) = delete;
    ReceiveWait& operator=(const ReceiveWait&) = delete;
    ~ReceiveWait() { leave_queue(); }

    /// Begins or continues to wait. `queue`: nullptr if the receives are the queue pair's own.
    void begin(SharedReceiveQueue::Impl* queue, std::int64_t now_ns, std::chrono::milliseconds patience);
    void end();
    /// Another message gets its own time.
    void forget_deadline() { until_ns_.reset(); }
    void leave_queue();
    std::optional<std::int64_t> deadline_ns() const { return until_ns_; }

private:
    Connection& connection_;
    std::optional<std::int64_t> until_ns_;
    SharedReceiveQueue::Impl* queue_ = nullptr;
    std::list<Connection*> entry_;  ///< in the queue's list while it waits there, so that waiting allocates once
    std::list<Connection*>::iterator place_;
};

}  // namespace iwarp::verbs
