#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "metrics/flow/flow_key.h"
#include "metrics/stream/segment.h"

namespace metrics::stream {

/// What the two SYNs of a connection said, and when.
struct Handshake {
    struct Side {
        std::optional<std::uint16_t> mss;
        std::optional<std::uint8_t> window_scale;
        std::uint32_t initial_sequence = 0;
        bool sack_permitted = false;
        bool seen = false;
        bool again = false;  ///< the SYN was sent more than once: its answer's time means nothing (Karn)
    };
    Side client;
    Side server;
    std::int64_t syn_ns = 0;      ///< the first
    std::int64_t syn_ack_ns = 0;  ///< the first
    std::int64_t ack_ns = 0;
    bool acknowledged = false;

    /// Octets of the window are worth 2^scale only where both asked for it. RFC 7323, 2.2.
    std::optional<std::uint8_t> scale_of(bool windows_of_client) const {
        if (!client.seen || !server.seen) return std::nullopt;
        if (!client.window_scale || !server.window_scale) return std::uint8_t{0};
        return windows_of_client ? client.window_scale : server.window_scale;
    }
};

/// The TCP connections set up of late, RDMA or not: whether they carry RDMA shows later. Of fixed size; the oldest of
/// the few that share a place gives way.
class HandshakeTable {
public:
    HandshakeTable();
    ~HandshakeTable();
    HandshakeTable(const HandshakeTable&) = delete;
    HandshakeTable& operator=(const HandshakeTable&) = delete;

    /// A segment of a connection that is not known to carry RDMA. `key` is its own direction.
    void segment(const FlowKey& key, const Segment& segment);
    /// `by_client` tells whether the key's source opened the connection. nullptr where the table does not know it.
    const Handshake* find(const FlowKey& key, bool& by_client) const;
    std::size_t octets() const;

private:
    struct Entry;
    static std::uint32_t place_of(const FlowKey& key);
    Entry* entry_of(const FlowKey& key, bool& forward) const;
    void open(const FlowKey& key, const Segment& segment);

    std::unique_ptr<Entry[]> entries_;
};

}  // namespace metrics::stream
