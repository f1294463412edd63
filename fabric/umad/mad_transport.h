#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/result.h"

namespace fabric::umad {

inline constexpr std::size_t mad_bytes = 256;
using MadBytes = std::array<std::byte, mad_bytes>;

/// Which of the port's registrations sends a datagram.
enum class Agent : std::uint8_t { directed_route, performance };

/// Where a datagram goes. A datagram on a directed route carries its way in itself.
struct Destination {
    Agent agent = Agent::directed_route;
    std::uint16_t lid = 0;  ///< of the performance manager's agent
};

/// How long to wait for an answer, and how often to ask again.
struct Patience {
    std::chrono::milliseconds timeout = std::chrono::milliseconds(500);
    unsigned retries = 3;
};

/// What came back: an answer, or the question itself if there was no answer.
struct Received {
    MadBytes mad = {};
    std::size_t length = 0;
    bool timed_out = false;
};

/// The port that this program asks.
struct LocalPort {
    std::string adapter = {};  ///< mlx5_0
    unsigned number = 0;
};

/// Sends and receives management datagrams.
class MadTransport {
public:
    virtual ~MadTransport() = default;
    virtual base::Result<void> send(const Destination& to, const MadBytes& mad) = 0;
    /// The next datagram; no value if there was none within `wait`.
    virtual base::Result<std::optional<Received>> receive(std::chrono::milliseconds wait) = 0;
    virtual const Patience& patience() const = 0;
};

}  // namespace fabric::umad
