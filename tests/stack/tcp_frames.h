#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capture/files/writer.h"
#include "iwarp/transport/memory_network.h"

namespace stack {

/// What passes on networks in memory, as a host's capture of it would look: Ethernet, IPv4 and TCP with handshakes,
/// sequence numbers, acknowledgements and checksums. The tap is at the client.
class TcpFrames {
public:
    explicit TcpFrames(const std::string& path);

    /// Of one connection, which begins with what its client sends first; octets longer than `segment` are cut.
    /// `delay_ns` is the network's.
    struct Path {
        std::uint32_t segment = 1448;
        std::int64_t delay_ns = 10'000;
    };
    void begin(const Path& path);
    void passed(const iwarp::transport::MemoryNetwork::Passed& passed);
    /// Writes the connection's frames; returns the port of the client by which the file knows it.
    std::uint16_t end();
    void close();

    static constexpr std::uint16_t server_port = 7174;

private:
    /// Something of the connection at the tap. `side` 0 is the client.
    struct Event {
        std::int64_t time_ns = 0;
        unsigned side = 0;
        std::vector<std::byte> octets;
        bool push = false;
        bool fin = false;
        bool reset = false;
        bool acknowledges = false;  ///< nothing but that, where there is something to acknowledge
    };
    struct Side {
        std::uint32_t next = 0;          ///< sequence number of the octet that it sends next
        std::uint32_t acknowledged = 0;  ///< what it has told last
        /// What it has heard of the other side: when, at the tap, it can tell, and up to which sequence number.
        std::vector<std::pair<std::int64_t, std::uint32_t>> heard;
    };
    void write(const Event& event, bool syn = false);
    std::uint32_t acknowledgement(unsigned side, std::int64_t time_ns) const;

    std::unique_ptr<capture::Writer> writer_;
    Path path_;
    std::string client_;
    std::vector<Event> events_;
    Side sides_[2];
    std::uint16_t client_port_ = 49999;
    std::int64_t start_ns_ = 1'700'000'000'000'000'000;
    std::int64_t last_ns_ = 0;
    std::uint16_t identification_ = 0;
};

}  // namespace stack
