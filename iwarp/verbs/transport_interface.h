#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/stream.h"

/// The part that performs the requests of streams.
namespace iwarp::verbs {

struct Listening {
    std::uint64_t handle = 0;
    std::string address;
    std::uint16_t port = 0;
};

/// Gives incoming connections their stream.
class Acceptor {
public:
    virtual ~Acceptor() = default;
    /// Null: the connection is closed at once.
    virtual std::shared_ptr<verbs::Stream> accepted(const std::string& peer) = 0;
};

class Transport {
public:
    virtual ~Transport() = default;
    /// The time passed to streams; constant within one call of progress(), at least for each stream.
    virtual std::int64_t now_ns() const = 0;
    /// Begins a connection; progress() calls Stream::connected or connect_failed. Of `options` the time-out of TCP's
    /// connection, the patience with refusals, `align`, `congestion_control`, `traffic_class` and the source count. The
    /// transport holds the stream until it is closed.
    virtual void connect(std::shared_ptr<verbs::Stream> stream, const std::string& host, std::uint16_t port,
                         const ConnectionOptions& options) = 0;
    /// Throws Error with the address and the reason. `acceptor` must stay until stop_listening.
    virtual Listening listen(const std::string& host, std::uint16_t port, int backlog, const ConnectionOptions& options,
                             Acceptor& acceptor) = 0;
    virtual void stop_listening(std::uint64_t handle) = 0;
    /// A stream has something to send, or its closing() or deadline_ns() changed, by a call from above. Cheap, and
    /// harmless if repeated; handled in progress().
    virtual void attention(verbs::Stream& stream) = 0;
    /// This side's address of a connected stream: "192.0.2.1:4791". Empty if absent.
    virtual std::string local(const verbs::Stream& stream) const {
        static_cast<void>(stream);
        return {};
    }
    /// See Device::progress.
    virtual bool progress(std::int64_t wait_ns) = 0;
    virtual int descriptor() const = 0;
    /// See Device::work_waits.
    virtual bool work_waits() const { return false; }
};

}  // namespace iwarp::verbs
