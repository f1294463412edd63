#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "upper/message_flow.h"
#include "upper/message_writer.h"
#include "upper/reader.h"
#include "upper/set_up.h"
#include "wire/bth_opcode.h"

/// What a Reader remembers, for the files that read packets and segments.
namespace upper {

/// One direction between two queue pairs: the sender's address and the receiving queue pair.
struct PacketKey {
    std::array<std::byte, 16> source = {};
    std::array<std::byte, 16> destination = {};
    std::uint32_t destination_qp = 0;
    wire::AddressFamily family = wire::AddressFamily::none;

    bool operator==(const PacketKey&) const = default;
};

inline std::uint64_t hash_addresses(const PacketKey& key) {
    auto hash = static_cast<std::uint64_t>(key.family);
    for (const auto* address : {&key.source, &key.destination}) {
        hash = base::mix(hash, base::load_be64(address->data()));
        hash = base::mix(hash, base::load_be64(address->data() + 8));
    }
    return hash;
}

struct HashPacketKey {
    std::size_t operator()(const PacketKey& key) const { return base::mix(hash_addresses(key), key.destination_qp); }
};

/// A flow of RoCE or InfiniBand.
struct PacketTrack {
    explicit PacketTrack(Flow made) : flow(std::move(made)) {}
    Flow flow;
    PacketTrack* likely_peer = nullptr;  ///< the flow whose PSNs this flow acknowledged last
    unsigned votes = 0;
};

/// A TCP connection with iWARP.
struct StreamTrack {
    std::array<std::unique_ptr<Flow>, 2> flows = {};  ///< flow of the client, flow of the server
    struct Side {
        bool gap_open = false;        ///< a segment is missing
        std::uint64_t gap_frame = 0;  ///< frame of the late segment; 0: it has not come yet
        bool writing = false;
        std::uint32_t write_key = 0;
        std::uint64_t write_first = 0;
        std::uint64_t write_next = 0;
    };
    std::array<Side, 2> sides = {};
    Connection* connection = nullptr;
};

/// The bytes of an address in a frame.
std::array<std::byte, 16> address_octets(const dissect::Network& network, std::uint32_t offset, base::Bytes bytes);
/// The captured part of the payload, and the length of the payload on the wire.
void fill_payload(const dissect::Unit& unit, Passing& passing);

struct Reader::State final : Listener {
    State(const ReaderOptions& settings, dissect::Sink* next_sink, Listener* next_listener)
        : options(settings), next(next_sink), listener(next_listener) {
        budget.slots_left = settings.max_commands;
        if (next != nullptr) writer.emplace(*next);
    }

    // The functions of Listener.
    void recognized(const Connection& connection) override {
        find_former(connection);
        if (listener != nullptr) listener->recognized(connection);
    }
    void message(const MessageNote& note) override {
        if (writer && frame != nullptr) writer->write(*frame, note);
        if (listener != nullptr) listener->message(note);
    }
    void command(const Connection& connection, const FinishedCommand& finished) override {
        if (listener != nullptr) listener->command(connection, finished);
    }
    void asked_next(const Connection& connection, std::uint64_t host_ns) override {
        if (listener != nullptr) listener->asked_next(connection, host_ns);
    }
    void ended(const Connection& connection) override {
        if (listener != nullptr) listener->ended(connection);
    }

    void remember_time(const wire::Frame& now);
    std::int64_t time_of(std::uint64_t number, std::int64_t otherwise) const;

    // RoCE and InfiniBand
    void packet(const dissect::Unit& unit);
    void management(const dissect::Unit& unit, const PacketKey& key);
    void adopt(const ManagedConnection& made, wire::Transport transport);
    void datagram(const dissect::Unit& unit, const PacketKey& key);
    PacketTrack& track_of(const PacketKey& key, wire::Transport transport);
    void request_packet(const dissect::Unit& unit, const wire::BthOpcode& opcode, Flow& flow);
    void response_packet(const dissect::Unit& unit, const wire::BthOpcode& opcode, Flow& peer);
    void acknowledgement(const dissect::Unit& unit, Flow& peer);
    void find_peer(PacketTrack& track, const PacketKey& key, std::uint32_t psn);
    void pair(PacketTrack& track, PacketTrack& peer);

    // iWARP
    void segment(const dissect::Unit& unit);
    StreamTrack& stream_of(const dissect::Unit& unit);
    void begin_stream(StreamTrack& stream, const dissect::Unit& unit);
    void fpdu(const dissect::Unit& unit, StreamTrack& stream, unsigned side);
    void fill_untagged(const dissect::Unit& unit, Passing& passing) const;
    void tagged(const dissect::Unit& unit, StreamTrack& stream, unsigned side, Passing& passing);
    bool waited(const dissect::Unit& unit, StreamTrack::Side& side) const;

    Connection& add_connection();
    void find_former(const Connection& connection);
    /// No connection continues one for which `is_gone` holds.
    template <class IsGone>
    void release(const IsGone& is_gone) {
        for (const auto& connection : connections) connection->release_former(is_gone);
        for (auto& entry : of_hosts) std::erase_if(entry.second, is_gone);
        std::erase_if(of_hosts, [](const auto& entry) { return entry.second.empty(); });
    }
    const Protocol* assigned_port(std::uint32_t port) const;
    const Protocol* assigned_queue_pair(std::uint32_t qpn) const;
    void set_up_connection(Connection& connection, const SetUp& set_up, const Protocol* assigned,
                           std::optional<unsigned> initiator);
    void make_room();
    void forget_retired();

    ReaderOptions options;
    dissect::Sink* next;
    Listener* listener;
    std::optional<MessageWriter> writer = {};
    const wire::Frame* frame = nullptr;  ///< the frame that is being read
    Place place = {};                    ///< place of the last unit

    CommandBudget budget = {};
    std::vector<std::unique_ptr<Connection>> connections = {};
    std::uint64_t connection_count = 0;
    /// The latest connections whose identifiers outlive them, by their two hosts.
    std::map<Connection::Hosts, std::vector<Connection*>> of_hosts = {};
    ConnectionManager manager = {};
    std::unordered_map<PacketKey, std::unique_ptr<PacketTrack>, HashPacketKey> tracks = {};
    PacketKey last_key = {};
    PacketTrack* last_track = nullptr;  ///< the flow of the last key; nullptr: unknown
    /// Flows without a peer, by their two hosts.
    std::unordered_map<PacketKey, std::vector<PacketTrack*>, HashPacketKey> unpaired = {};
    std::unordered_map<std::uint32_t, StreamTrack> streams = {};
    static constexpr std::size_t remembered_times = 4096;
    std::array<std::pair<std::uint64_t, std::int64_t>, remembered_times> times = {};
};

}  // namespace upper
