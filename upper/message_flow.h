#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "upper/connection_end.h"
#include "upper/growing_ring.h"
#include "upper/rdma_message.h"
#include "wire/transport.h"

namespace upper {

class Connection;

/// A packet or a segment of a message that goes to the peer; answers to the peer's requests are not among them.
struct Passing {
    std::uint64_t begin = 0;  ///< position of the first byte or packet
    std::uint64_t end = 0;    ///< one past the last position
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t first_frame = 0;
    std::uint64_t frame = 0;
    Operation operation = Operation::send;
    bool starts = false;
    bool ends = false;
    bool waited = false;  ///< the segment waited for earlier bytes of the TCP stream, which passed later
    std::optional<std::uint64_t> offset = {};  ///< place in the message, if the packet shows it
    std::uint32_t length = 0;                  ///< bytes of payload
    base::Bytes payload = {};                  ///< the captured part
    bool has_target = false;
    std::uint32_t key = 0;
    std::uint64_t address = 0;
    std::uint64_t asked = 0;  ///< READ, and first packet of a WRITE: bytes of the message
    std::optional<std::uint32_t> invalidated = {};
    std::optional<std::uint32_t> immediate = {};
    std::uint32_t sink_key = 0;
    std::uint64_t sink_address = 0;
};

/// One direction of a connection: joins packets into messages, and notices packets that are sent again. Memory is
/// bounded.
class Flow {
public:
    /// `bits`: the size of a position in packets, 24 or 32.
    Flow(wire::Transport transport, const Endpoint& source, const Endpoint& destination, unsigned bits)
        : transport_(transport), source_(source), destination_(destination), bits_(bits) {}

    wire::Transport transport() const { return transport_; }
    const Endpoint& source() const { return source_; }
    const Endpoint& destination() const { return destination_; }
    /// Sets the source's queue pair, which packets do not show.
    void set_source_number(std::uint32_t number) { source_.number = number; }
    Connection* connection() const { return connection_; }
    unsigned side() const { return side_; }
    void attach(Connection& connection, unsigned side) {
        connection_ = &connection;
        side_ = side;
    }

    bool has_started() const { return started_; }
    /// The position of a PSN or TCP sequence number. In a flow without packets so far, this number is the beginning.
    std::uint64_t position_of(std::uint32_t number);
    std::uint64_t next() const { return next_; }
    std::uint64_t acked() const { return acked_; }

    void pass(const Passing& packet);
    /// Positions that have passed before: TCP sent them again.
    void pass_again(const Passing& packet);
    /// The peer has everything before this position.
    void acknowledge(std::uint64_t position, std::int64_t time_ns);
    void refused() { nak_since_ = true; }
    /// A response to a READ of this flow. RoCE and InfiniBand: the position shows which READ.
    void read_response(std::uint64_t position, const Passing& packet);
    /// A response to a READ of this flow. iWARP: the destination shows which READ.
    void read_response_to(std::uint32_t sink_key, std::uint64_t sink_address, const Passing& packet);
    /// The message that begins at this position; nullptr if it is forgotten.
    Message* find_begin(std::uint64_t begin);
    /// Frees the memory of a flow that is no longer examined. Must not be called during pass().
    void release();
    /// The capture lacks bytes of the stream: the next packet begins a new message.
    void lose_place() { current_ = no_message; }

private:
    static constexpr std::size_t max_messages = 512;
    static constexpr std::size_t max_heads = 4;
    static constexpr std::size_t head_bytes = 1152;  ///< NVMe: an entry of 64 bytes, and Connect's data of 1024
    static constexpr std::uint64_t no_message = ~std::uint64_t{0};

    struct Head {
        std::array<std::byte, head_bytes> octets;
        std::uint32_t size = 0;  ///< bytes from the first one on, without a gap
        bool taken = false;
    };
    struct Hole {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };

    void begin_data(Message& message, const Passing& packet);
    void forward(const Passing& packet);
    void late(const Passing& packet);
    std::size_t place_late(const Passing& packet);
    void repair(const Passing& packet, bool is_sure);
    void touch_pending(const Passing& packet, std::int64_t end_ns);
    std::size_t find(std::uint64_t position) const;
    Message& add(const Passing& packet);
    Message fresh(const Passing& packet);
    void extend(Message& message, const Passing& packet, bool is_new);
    void complete(Message& message);
    bool complete_whole(Message& message, const Passing& packet);
    void finish_read(Message& message, const Passing& packet);
    std::uint64_t read_packets(std::uint64_t bytes) const;
    bool fill_hole(std::uint64_t position);
    void put_head(Message& message, const Passing& packet);
    base::Bytes head_of(const Message& message) const;
    void release_head(Message& message);
    void drop_front();

    wire::Transport transport_;
    Endpoint source_;
    Endpoint destination_;
    unsigned bits_;
    Connection* connection_ = nullptr;
    unsigned side_ = 0;

    bool started_ = false;
    bool nak_since_ = false;  ///< a NAK came after the last new packet
    std::uint64_t next_ = 0;  ///< position of the next new packet
    std::uint64_t acked_ = 0;
    std::int64_t last_new_ns_ = 0;
    std::uint32_t packet_bytes_ = 0;  ///< payload of a full packet, the largest so far
    Ring<Message> messages_ = {};
    std::uint64_t dropped_ = 0;           ///< messages that were removed from the front of the ring
    std::uint64_t current_ = no_message;  ///< the unfinished message, counted from the flow's first
    std::uint32_t repair_ = 0;            ///< serial number of the present repair; 0: there is no repair
    std::uint64_t first_late_ = 0;        ///< first position of the present repair
    /// The latest gaps, the newest first; absent before the first one.
    std::unique_ptr<std::array<Hole, 8>> holes_ = {};
    std::vector<Head> heads_ = {};
};

}  // namespace upper
