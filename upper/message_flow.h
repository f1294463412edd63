#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "upper/connection_end.h"
#include "upper/growing_ring.h"
#include "upper/rdma_message.h"
#include "wire/transport.h"

namespace upper {

class Connection;

/// A packet or a segment of a message: of what is asked of the peer, not of its answers.
struct Passing {
    std::uint64_t begin = 0;  ///< position
    std::uint64_t end = 0;    ///< after it
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t first_frame = 0;
    std::uint64_t frame = 0;
    Operation operation = Operation::send;
    bool starts = false;
    bool ends = false;
    bool waited = false;                       ///< for bytes of the TCP stream that passed later
    std::optional<std::uint64_t> offset = {};  ///< within the message, where the packet says so
    std::uint32_t length = 0;                  ///< of the payload
    base::Bytes payload = {};                  ///< as far as it was captured
    bool has_target = false;
    std::uint32_t key = 0;
    std::uint64_t address = 0;
    std::uint64_t asked = 0;  ///< of a READ, and of a WRITE's first packet: bytes of the message
    std::optional<std::uint32_t> invalidated = {};
    std::optional<std::uint32_t> immediate = {};
    std::uint32_t sink_key = 0;
    std::uint64_t sink_address = 0;
};

/// One direction of a connection: puts packets together to messages, and sees what passes again. Its memory is bounded.
class Flow {
public:
    /// `bits`: of a position on the wire, 24 or 32.
    Flow(wire::Transport transport, const Endpoint& source, const Endpoint& destination, unsigned bits)
        : transport_(transport), source_(source), destination_(destination), bits_(bits) {}

    wire::Transport transport() const { return transport_; }
    const Endpoint& source() const { return source_; }
    const Endpoint& destination() const { return destination_; }
    /// Completes what the packets do not say: the source's queue pair.
    void set_source_number(std::uint32_t number) { source_.number = number; }
    Connection* connection() const { return connection_; }
    unsigned side() const { return side_; }
    void attach(Connection& connection, unsigned side) {
        connection_ = &connection;
        side_ = side;
    }

    bool has_started() const { return started_; }
    /// The number of the wire as a position; of a flow that has not begun, its beginning.
    std::uint64_t position_of(std::uint32_t number);
    std::uint64_t next() const { return next_; }
    std::uint64_t acked() const { return acked_; }

    void pass(const Passing& packet);
    /// Positions that passed before, without anything new: TCP sent them again.
    void pass_again(const Passing& packet);
    /// All before the position has arrived.
    void acknowledge(std::uint64_t position, std::int64_t time_ns);
    void refused() { nak_since_ = true; }
    /// A response to this flow's READs. RoCE, InfiniBand: which one, by its position.
    void read_response(std::uint64_t position, const Passing& packet);
    /// iWARP: by the place that it goes to.
    void read_response_to(std::uint32_t sink_key, std::uint64_t sink_address, const Passing& packet);
    /// The message that begins there; nullptr where it is forgotten.
    Message* find_begin(std::uint64_t begin);
    /// Nothing of it is of interest any more: gives its memory back. Not to be called while a packet is passed.
    void release();
    /// Bytes of the stream were lost: what follows begins again.
    void lose_place() { current_ = no_message; }

private:
    static constexpr std::size_t max_messages = 512;
    static constexpr std::size_t max_heads = 4;
    static constexpr std::size_t head_bytes = 1152;  ///< an entry of 64, Connect's data of 1024
    static constexpr std::uint64_t no_message = ~std::uint64_t{0};

    struct Head {
        std::array<std::byte, head_bytes> octets;
        std::uint32_t size = 0;  ///< from the first byte on, without a gap
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
    bool nak_since_ = false;  ///< since the last new packet
    std::uint64_t next_ = 0;  ///< position of the next new packet
    std::uint64_t acked_ = 0;
    std::int64_t last_new_ns_ = 0;
    std::uint32_t packet_bytes_ = 0;  ///< of a full packet, as far as was seen
    Ring<Message> messages_ = {};
    std::uint64_t dropped_ = 0;           ///< messages that have left the ring's front
    std::uint64_t current_ = no_message;  ///< the message under way, counted from the flow's first
    std::uint32_t repair_ = 0;            ///< serial of the one under way; 0: none
    std::uint64_t first_late_ = 0;        ///< its first position
    std::array<Hole, 8> holes_ = {};
    std::vector<Head> heads_ = {};
};

}  // namespace upper
