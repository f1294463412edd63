#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/figures/flow_key.h"
#include "metrics/measure/iwarp/tcp_segment.h"

namespace metrics::inline measure::iwarp {

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

    /// Bytes of the window are worth 2^scale only where both asked for it. RFC 7323, 2.2.
    std::optional<std::uint8_t> scale_of(bool windows_of_client) const {
        if (!client.seen || !server.seen) return std::nullopt;
        if (!client.window_scale || !server.window_scale) return std::uint8_t{0};
        return windows_of_client ? client.window_scale : server.window_scale;
    }
};

/// The TCP connections that were set up recently, RDMA or not: whether they carry RDMA shows later. The table grows
/// while all of its entries may still be requested, up to a bound; then the oldest entry is replaced, preferably one
/// that will not be requested.
class HandshakeTable {
public:
    explicit HandshakeTable(std::size_t max_flows);
    ~HandshakeTable();
    HandshakeTable(const HandshakeTable&) = delete;
    HandshakeTable& operator=(const HandshakeTable&) = delete;

    /// A segment of a connection that is not known to carry RDMA. `key` is its own direction.
    void segment(const FlowKey& key, const Segment& segment);
    /// The entry for the present flow of this direction. `by_client` says whether the key's source opened the
    /// connection. nullptr if the table does not have it. Valid until the next call.
    const Handshake* take(const FlowKey& key, bool& by_client);
    /// Forgets what is known of these ports: that connection is over, and another one uses them.
    void forget(const FlowKey& key);
    std::size_t octets() const;

private:
    struct Entry;
    static constexpr std::uint32_t none = 0xffffffff;
    /// Entries in the order in which they came in.
    struct Order {
        std::uint32_t oldest = none;
        std::uint32_t newest = none;
    };

    std::uint32_t& bucket_of(const FlowKey& client_key);
    Entry* entry_of(const FlowKey& key, bool& forward);
    void open(const FlowKey& key, const Segment& segment);
    Entry* make_room(bool answer, std::int64_t now_ns);
    void grow();
    void enter(Entry& entry, const FlowKey& client_key);
    void leave(Entry& entry);
    void append(Entry& entry, bool spent);
    void take_out(Entry& entry);
    void spend(Entry& entry);

    std::size_t most_;
    std::size_t used_ = 0;  ///< entries, from the first on
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> buckets_;
    Order waiting_;
    Order spent_;  ///< whose flows have taken what they say, or which came to their end
};

}  // namespace metrics::measure::iwarp
