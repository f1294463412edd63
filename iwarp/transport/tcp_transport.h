#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "iwarp/verbs/transport_interface.h"

namespace iwarp::transport {

struct TcpOptions {
    /// Bytes of a stream's room (Stream::room) from which on they are received where they belong; below it, and what
    /// comes after them, through the transport's one buffer.
    std::size_t direct_octets = 16 * 1024;
    /// This part of that buffer is offered to a connection at first: no more need be kept of one that is not looked at
    /// for a while.
    std::size_t staging_octets = 64 * 1024;
    /// And this part once a read has taken as many. It, what the kernel copies from and what is copied to should stay
    /// in a second-level cache together.
    std::size_t bulk_octets = 256 * 1024;
    /// After this number of bytes in one direction the next connection has its turn.
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
    std::uint64_t direct_octets = 0;  ///< received where they belong
    std::uint64_t staged_octets = 0;
    std::uint64_t waits = 0;  ///< sleeps of progress()
};

/// Streams over the TCP of this machine: epoll, sockets that never block, a system call for a batch of FPDUs.
///
/// Names of hosts are looked up by the call of connect() or listen(), which waits for the answer; addresses do not
/// wait. A connection that its acceptor declines, and every connection that is open when the transport goes, is reset.
class TcpTransport final : public iwarp::verbs::Transport {
public:
    /// Throws Error where the system has no epoll instance left.
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
    /// Readable also when a deadline has come or attention() was called; asking for it costs a timer from then on.
    int descriptor() const override;
    bool work_waits() const override;

    const TcpCounters& counters() const;
    std::size_t connections() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::transport
