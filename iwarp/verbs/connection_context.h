#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/device_impl.h"
#include "iwarp/verbs/stream.h"

namespace iwarp::verbs {

enum class ConnectionPhase : std::uint8_t {
    starting,     ///< TCP and the start frames: see Negotiation
    operating,    ///< FPDUs
    terminating,  ///< received data is dropped; a Terminate is under way, has come, or can no longer be sent
    over,
};

/// What the parts of a connection share.
struct ConnectionContext {
    ConnectionContext(Device::Impl& of, Stream& on, bool initiator, ConnectionOptions wanted)
        : device(of), stream(on), options(std::move(wanted)), now_ns(of.transport->now_ns()), initiates(initiator) {}
    ConnectionContext(const ConnectionContext&) = delete;
    ConnectionContext& operator=(const ConnectionContext&) = delete;

    bool is_operating() const { return phase == ConnectionPhase::operating; }
    /// "192.0.2.1:4791", or the target as the user wrote it.
    const std::string& name() const { return peer.empty() ? target : peer; }
    void set_deadline(std::chrono::milliseconds after) {
        deadline_ns = now_ns + std::chrono::nanoseconds(after).count();
    }
    /// Asks the transport to look at the stream again.
    void attention() { device.transport->attention(stream); }

    Device::Impl& device;
    Stream& stream;
    ConnectionOptions options;
    QueuePair::Impl* pair = nullptr;
    std::string target;  ///< the target as the user wrote it, for error messages
    std::string peer;
    std::int64_t now_ns;
    std::optional<std::int64_t> deadline_ns;  ///< of the present phase
    ConnectionPhase phase = ConnectionPhase::starting;
    bool initiates;
};

}  // namespace iwarp::verbs
