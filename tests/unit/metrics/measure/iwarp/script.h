#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dissect/dissector.h"
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/iwarp/stream_tracker.h"

/// A TCP connection with MPA on it, described segment by segment, and what the tracker makes of it.
namespace stream_test {

using Octets = std::vector<std::byte>;

Octets mpa_start(bool request, std::optional<std::uint16_t> ird = {}, std::optional<std::uint16_t> ord = {});
Octets fpdu(std::uint8_t opcode, const Octets& body, bool last, std::uint32_t queue, std::uint32_t msn,
            std::uint32_t offset);
Octets send_of(std::uint32_t msn, std::size_t length, bool last = true, std::uint32_t offset = 0,
               std::uint8_t opcode = 3);
Octets write_of(std::uint32_t stag, std::uint64_t offset, std::size_t length, bool last = true);
Octets read_request(std::uint32_t msn, std::uint32_t size, std::uint64_t sink_offset = 0);
Octets read_response(std::uint32_t stag, std::uint64_t offset, std::size_t length, bool last = true);
Octets atomic_request(std::uint32_t msn, bool swap, std::uint32_t id);
Octets atomic_response(std::uint32_t msn, std::uint32_t id);
Octets immediate(std::uint32_t msn);
Octets terminate(std::uint8_t layer, std::uint8_t type, std::uint8_t code);
Octets operator+(Octets one, const Octets& other);

/// What a segment has besides its octets.
struct Extras {
    std::uint8_t flags = 0;  ///< besides ACK
    bool no_ack = false;
    std::uint16_t window = 1000;
    std::optional<std::uint32_t> timestamp;
    std::optional<std::uint16_t> identification;                ///< absent: one more than the side's last
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sack;  ///< relative to the other side's first octet
    std::optional<std::uint8_t> window_scale;
    std::optional<std::uint16_t> mss;
    std::uint8_t ecn = 0;
    bool wrong_checksum = false;
    std::size_t snap_length = 262'144;  ///< octets of the frame that the capture holds
};
/// Acknowledgements that name what came after the hole. RFC 2018.
inline Extras sacked(std::int64_t left, std::int64_t right) {
    Extras extras;
    extras.sack = {{static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right)}};
    return extras;
}

class Script {
public:
    explicit Script(std::uint32_t client_isn = 1000, std::uint32_t server_isn = 5000, std::size_t max_flows = 16);

    std::int64_t now_ns = 1'000'000'000;
    std::uint16_t client_port = 40000;
    std::uint64_t frames = 0;
    std::uint64_t allocations = 0;  ///< while the tracker was at work
    metrics::FlowStore store;
    metrics::iwarp::StreamTracker tracker;
    dissect::Sink* also = nullptr;  ///< is told all that the tracker is

    /// Three segments, 100 µs apart.
    void handshake(std::uint8_t scale = 7);
    /// `offset`: of the first octet, from 0 for the first after the SYN; `ack`: how many octets of the other side.
    void segment(bool client, std::int64_t offset, const Octets& payload, std::int64_t ack, const Extras& extras = {});
    /// In order, after what that side sent last, acknowledging all that the other sent.
    void data(bool client, const Octets& payload, const Extras& extras = {});
    void ack(bool client, std::int64_t ack, const Extras& extras = {}) {
        segment(client, sent_[client ? 0 : 1], {}, ack, extras);
    }
    /// Handshake, MPA request and reply: 20 octets each way.
    void establish(std::uint8_t scale = 7);
    /// The side has sent this number of octets more, which were not captured.
    void skip(bool client, std::size_t octets) { sent_[client ? 0 : 1] += static_cast<std::int64_t>(octets); }
    void after_us(std::int64_t us) { now_ns += us * 1000; }
    void finish();

    std::int64_t sent(bool client) const { return sent_[client ? 0 : 1]; }
    void restart(std::uint32_t client_isn, std::uint32_t server_isn);

    metrics::Flow* flow(bool client);  ///< that the client, or the server, sends on; nullptr if absent
    metrics::FlowSnapshot shown(bool client);
    unsigned flows() const;  ///< live ones, finished or not
    std::uint64_t messages(bool client, metrics::Operation operation);
    std::uint64_t bytes(bool client, metrics::Operation operation);
    metrics::Histogram latency(bool client, metrics::Operation operation);
    metrics::Histogram histogram(bool client, metrics::FlowHistogram which);
    /// How often, and the first frame; 0 where it did not happen.
    std::uint64_t count(bool client, metrics::EventKind kind);
    std::uint64_t first_frame(bool client, metrics::EventKind kind);
    std::uint64_t value_max(bool client, metrics::EventKind kind);
    metrics::FlowKey key(bool client) const;

private:
    struct Feed;
    const metrics::EventSummaryRow* find_event_summary(bool client, metrics::EventKind kind);

    dissect::Dissector dissector_;
    std::uint32_t isn_[2];
    std::int64_t sent_[2] = {0, 0};
    std::uint16_t identification_[2] = {100, 40000};
};

}  // namespace stream_test
