#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "iwarp/verbs/transport_interface.h"

namespace iwarp::transport {

struct TcpOptions {
    /// If a stream's room (Stream::room) has at least this number of bytes, they are received straight into it;
    /// otherwise, and for bytes after them, through the transport's one buffer.
    std::size_t direct_octets = 16 * 1024;
    /// The part of that buffer that a connection gets at first: only this much is kept for a connection that is not
    /// read for a while.
    std::size_t staging_octets = 64 * 1024;
    /// The part that it gets after a read has filled the first part. It, the kernel's data and the target should stay
    /// in a second-level cache together.
    std::size_t bulk_octets = 256 * 1024;
    /// After this number of bytes in one direction it is the next connection's turn.
    std::size_t turn_octets = 512 * 1024;
    /// The longest that progress() spins before it sleeps, and only while answers keep coming sooner than that.
    std::int64_t max_spin_ns = 100'000;
    /// The process may open as many descriptors as its hard limit allows (RLIMIT_NOFILE).
    bool raise_descriptor_limit = true;
    /// See DeviceOptions.
    bool descriptor_tells_posts = true;
};

struct TcpCounters {
    std::uint64_t accepted = 0;
    std::uint64_t declined = 0;            ///< by the acceptor: reset at once
    std::uint64_t without_descriptor = 0;  ///< reset at once because the process had no descriptor left
    std::uint64_t sends = 0;               ///< system calls
    std::uint64_t receives = 0;
    std::uint64_t direct_octets = 0;  ///< received straight into their target
    std::uint64_t staged_octets = 0;
    std::uint64_t waits = 0;  ///< sleeps of progress()
};

/// Streams over the TCP of this machine: epoll, sockets that never block, a system call for a batch of FPDUs.
///
/// Names of hosts are looked up by the call of connect() or listen(), which waits for the answer; addresses need no
/// lookup. A connection that its acceptor declines is reset, and so is every open connection when the transport is
/// destroyed.
class TcpTransport final : public iwarp::verbs::Transport {
public:
    /// Throws Error if the system has no epoll instance left.
    explicit TcpTransport(const TcpOptions& options = {});
    TcpTransport(const TcpTransport&) = delete;
    TcpTransport& operator=(const TcpTransport&) = delete;
    ~TcpTransport() override;

    std::int64_t now_ns() const override;
    void connect(std::shared_ptr<verbs::Stream> stream, const std::string& host, std::uint16_t port,
                 const ConnectionOptions& options) override;
    iwarp::verbs::Listening listen(const std::string& host, std::uint16_t port, int backlog,
                                   const ConnectionOptions& options, iwarp::verbs::Acceptor& acceptor) override;
    void stop_listening(std::uint64_t handle) override;
    void attention(verbs::Stream& stream) override;
    std::string local(const verbs::Stream& stream) const override;
    bool progress(std::int64_t wait_ns) override;
    /// Also readable when a deadline has come or attention() was called; after the first call it costs a timer.
    int descriptor() const override;
    bool work_waits() const override;

    const TcpCounters& counters() const;
    std::size_t connections() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::transport
