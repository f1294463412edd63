#include "upper/reader.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/hash.h"
#include "upper/message_flow.h"
#include "upper/message_writer.h"
#include "upper/set_up.h"
#include "wire/bth_opcode.h"
#include "wire/rdmap.h"

namespace upper {

using dissect::LayerId;

namespace {

/// One direction between two queue pairs: the sender's address and the receiving queue pair.
struct PacketKey {
    std::array<std::byte, 16> source = {};
    std::array<std::byte, 16> destination = {};
    std::uint32_t destination_qp = 0;
    wire::AddressFamily family = wire::AddressFamily::none;

    bool operator==(const PacketKey&) const = default;
};

std::uint64_t hash_addresses(const PacketKey& key) {
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

/// The key of both addresses without a queue pair: destination_qp is 0.
PacketKey hosts_of(PacketKey key) {
    key.destination_qp = 0;
    return key;
}

PacketKey reversed(PacketKey key, std::uint32_t destination_qp) {
    std::swap(key.source, key.destination);
    key.destination_qp = destination_qp;
    return key;
}

std::array<std::byte, 16> address_octets(const dissect::Network& network, std::uint32_t offset, base::Bytes bytes) {
    std::array<std::byte, 16> address{};
    const std::uint32_t length = network.address_length();
    if (offset + std::size_t{length} <= bytes.size()) std::copy_n(bytes.data() + offset, length, address.begin());
    return address;
}

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

constexpr std::size_t remembered_times = 4096;
constexpr std::size_t max_candidates = 64;   ///< flows between two hosts that are not paired yet
constexpr std::uint64_t most_behind = 4096;  ///< positions by which an acknowledgement may lag
constexpr unsigned votes_for_pair = 2;
/// An acknowledgement that is this near to the latest packet of a flow belongs to this flow, because PSNs begin
/// anywhere in 2^24.
constexpr std::uint64_t positions_of_sure_pair = 64;

}  // namespace

struct Reader::State final : Listener {
    State(const ReaderOptions& settings, dissect::Sink* next_sink, Listener* next_listener)
        : options(settings), next(next_sink), listener(next_listener) {
        budget.slots_left = settings.max_commands;
        if (next != nullptr) writer.emplace(*next);
    }

    // The functions of Listener.
    void recognized(const Connection& connection) override {
        if (listener != nullptr) listener->recognized(connection);
    }
    void message(const MessageNote& note) override {
        if (writer && frame != nullptr) writer->write(*frame, note);
        if (listener != nullptr) listener->message(note);
    }
    void command(const Connection& connection, const FinishedCommand& finished) override {
        if (listener != nullptr) listener->command(connection, finished);
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
    ConnectionManager manager = {};
    std::unordered_map<PacketKey, std::unique_ptr<PacketTrack>, HashPacketKey> tracks = {};
    PacketKey last_key = {};
    PacketTrack* last_track = nullptr;  ///< the flow of the last key; nullptr: unknown
    /// Flows without a peer, by their two hosts.
    std::unordered_map<PacketKey, std::vector<PacketTrack*>, HashPacketKey> unpaired = {};
    std::unordered_map<std::uint32_t, StreamTrack> streams = {};
    std::array<std::pair<std::uint64_t, std::int64_t>, remembered_times> times = {};
};

// ---- connections ----

Connection& Reader::State::add_connection() {
    make_room();
    return *connections.emplace_back(std::make_unique<Connection>(++connection_count, *this, budget));
}

const Protocol* Reader::State::assigned_port(std::uint32_t port) const {
    for (const Assignment& assignment : options.assignments)
        if (!assignment.is_queue_pair && assignment.number == port && port != 0) return assignment.protocol;
    return nullptr;
}

const Protocol* Reader::State::assigned_queue_pair(std::uint32_t qpn) const {
    for (const Assignment& assignment : options.assignments)
        if (assignment.is_queue_pair && assignment.number == qpn) return assignment.protocol;
    return nullptr;
}

void Reader::State::set_up_connection(Connection& connection, const SetUp& set_up, const Protocol* assigned,
                                      std::optional<unsigned> initiator) {
    if (assigned != nullptr) return connection.recognize(*assigned, Evidence::user, initiator, set_up.facts);
    if (set_up.by_private_data != nullptr)
        return connection.recognize(*set_up.by_private_data, Evidence::private_data, initiator, set_up.facts);
    if (set_up.by_service != nullptr) connection.suppose(*set_up.by_service, initiator);
}

/// Forgets connections that no flow belongs to any more, the idlest first.
void Reader::State::make_room() {
    if (connections.size() < options.max_connections) return;
    const std::size_t kept = options.max_connections - options.max_connections / 8 - 1;
    std::nth_element(connections.begin(), connections.begin() + static_cast<std::ptrdiff_t>(kept), connections.end(),
                     [](const auto& one, const auto& two) { return one->last_seen_ns() > two->last_seen_ns(); });
    for (std::size_t i = kept; i < connections.size(); ++i) connections[i]->retire();
    forget_retired();
}

void Reader::State::forget_retired() {
    last_track = nullptr;
    std::erase_if(streams, [](const auto& entry) {
        return entry.second.connection != nullptr && entry.second.connection->is_retired();
    });
    const auto is_retired = [](const PacketTrack* track) { return track->flow.connection()->is_retired(); };
    for (auto& entry : unpaired) std::erase_if(entry.second, is_retired);
    std::erase_if(unpaired, [](const auto& entry) { return entry.second.empty(); });
    for (auto& entry : tracks) {
        PacketTrack*& peer = entry.second->likely_peer;
        if (peer != nullptr && is_retired(peer)) peer = nullptr;
    }
    std::erase_if(tracks, [&](const auto& entry) { return is_retired(entry.second.get()); });
    std::erase_if(connections, [](const auto& connection) { return connection->is_retired(); });
}

// ---- packets ----

PacketTrack& Reader::State::track_of(const PacketKey& key, wire::Transport transport) {
    // Packets of the same flow often follow each other.
    if (last_track != nullptr && last_key == key) return *last_track;
    last_key = key;
    const auto found = tracks.find(key);
    last_track = found == tracks.end() ? nullptr : found->second.get();
    if (last_track != nullptr) return *last_track;
    Connection& connection = add_connection();
    constexpr unsigned psn_bits = 24;
    const Endpoint source{key.source, key.family, 0};
    const Endpoint destination{key.destination, key.family, key.destination_qp};
    PacketTrack& track = *(tracks[key] = std::make_unique<PacketTrack>(Flow(transport, source, destination, psn_bits)));
    connection.set_flow(0, track.flow);
    std::vector<PacketTrack*>& candidates = unpaired[hosts_of(key)];
    if (candidates.size() == max_candidates) candidates.erase(candidates.begin());
    candidates.push_back(&track);
    return track;
}

void Reader::State::pair(PacketTrack& track, PacketTrack& peer) {
    Connection& connection = *track.flow.connection();
    Connection& joined = *peer.flow.connection();
    connection.join(joined);
    std::erase_if(connections, [&](const auto& one) { return one.get() == &joined; });
    const auto remove = [this](PacketTrack& one) {
        const PacketKey hosts{one.flow.source().address, one.flow.destination().address, 0, one.flow.source().family};
        const auto found = unpaired.find(hosts);
        if (found == unpaired.end()) return;
        std::erase(found->second, &one);
        if (found->second.empty()) unpaired.erase(found);
    };
    remove(track);
    remove(peer);
    track.flow.set_source_number(peer.flow.destination().number);
    peer.flow.set_source_number(track.flow.destination().number);
    const Protocol* assigned = assigned_queue_pair(track.flow.destination().number);
    if (assigned == nullptr) assigned = assigned_queue_pair(peer.flow.destination().number);
    if (assigned != nullptr && connection.protocol() == nullptr)
        connection.recognize(*assigned, Evidence::user, std::nullopt, {});
}

/// Without a set-up, a flow is paired with the only flow whose PSNs it acknowledges.
void Reader::State::find_peer(PacketTrack& track, const PacketKey& key, std::uint32_t psn) {
    const auto candidates = unpaired.find(hosts_of(reversed(key, 0)));
    if (candidates == unpaired.end()) return;
    PacketTrack* found = nullptr;
    for (PacketTrack* one : candidates->second) {
        if (one == &track || !one->flow.has_started()) continue;
        const std::uint64_t position = one->flow.position_of(psn);
        if (position >= one->flow.next() || one->flow.next() - position > most_behind) continue;
        if (found != nullptr) return;
        found = one;
    }
    if (found == nullptr) return;
    const bool is_near = found->flow.next() - found->flow.position_of(psn) <= positions_of_sure_pair;
    if (is_near) return pair(track, *found);
    track.votes = track.likely_peer == found ? track.votes + 1 : 1;
    track.likely_peer = found;
    if (track.votes >= votes_for_pair) pair(track, *found);
}

void Reader::State::adopt(const ManagedConnection& made, wire::Transport transport) {
    const PacketKey there{made.requester.address, made.acceptor.address, made.acceptor.number, made.requester.family};
    const PacketKey back = reversed(there, made.requester.number);
    if (there == back) return;  // a queue pair is not connected to itself
    // The queue pairs may have been used by an earlier connection.
    bool retires = false;
    for (const PacketKey& key : {there, back}) {
        const auto old = tracks.find(key);
        if (old == tracks.end()) continue;
        old->second->flow.connection()->retire();
        retires = true;
    }
    if (retires) forget_retired();
    const Protocol* assigned = assigned_port(made.set_up.port);
    if (assigned == nullptr) assigned = assigned_queue_pair(made.acceptor.number);
    if (assigned == nullptr) assigned = assigned_queue_pair(made.requester.number);
    const bool named =
        assigned != nullptr || made.set_up.by_private_data != nullptr || made.set_up.by_service != nullptr;
    if (!named && options.only_named) return;
    Connection& connection = add_connection();
    constexpr unsigned psn_bits = 24;
    const auto make = [&](const PacketKey& key, const Endpoint& source, const Endpoint& destination, unsigned side) {
        PacketTrack& track =
            *(tracks[key] = std::make_unique<PacketTrack>(Flow(transport, source, destination, psn_bits)));
        connection.set_flow(side, track.flow);
    };
    make(there, made.requester, made.acceptor, 0);
    make(back, made.acceptor, made.requester, 1);
    set_up_connection(connection, made.set_up, assigned, 0);
}

void Reader::State::management(const dissect::Unit& unit, const PacketKey& key) {
    const Endpoint source{key.source, key.family, 0};
    const Endpoint destination{key.destination, key.family, 0};
    const ManagementFinding finding = manager.read(unit, source, destination);
    if (finding.made) adopt(*finding.made, unit.transport);
    if (finding.protocol != nullptr && writer)
        writer->write_private_data(unit.frame, *finding.protocol, finding.message, finding.private_data);
}

namespace {

Operation operation_of(wire::BthOperation operation) {
    switch (operation) {
        case wire::BthOperation::send: return Operation::send;
        case wire::BthOperation::write: return Operation::write;
        case wire::BthOperation::read_request: return Operation::read;
        default: return Operation::other;
    }
}

/// The captured part of the payload, and the length of the payload on the wire.
void fill_payload(const dissect::Unit& unit, Passing& passing) {
    const dissect::LayerRef* payload = unit.dissection.find(LayerId::payload);
    if (payload == nullptr) payload = unit.dissection.find(LayerId::ulp_payload);
    if (payload == nullptr || payload->offset + std::size_t{payload->length} > unit.bytes.size()) return;
    passing.length = payload->wire_length;
    passing.payload = unit.bytes.subspan(payload->offset, std::min(payload->length, payload->wire_length));
}

}  // namespace

/// Unreliable datagrams have no connection, so each is examined separately.
void Reader::State::datagram(const dissect::Unit& unit, const PacketKey& key) {
    if (!writer) return;
    Passing passing;
    fill_payload(unit, passing);
    constexpr std::size_t of_ipv4 = 4;
    const base::Bytes address{key.source};
    const base::Bytes source = key.family == wire::AddressFamily::ipv4 ? address.first(of_ipv4) : address;
    for (const Protocol* protocol : all_protocols()) {
        if (protocol->is_datagram == nullptr || !protocol->is_datagram(passing.payload, passing.length, source))
            continue;
        return writer->write_datagram(unit.frame, *protocol, passing.payload, passing.length);
    }
}

void Reader::State::request_packet(const dissect::Unit& unit, const wire::BthOpcode& opcode, Flow& flow) {
    const dissect::BthSummary& bth = unit.dissection.bth;
    Passing passing;
    passing.begin = flow.position_of(bth.psn);
    passing.end = passing.begin + 1;
    passing.begin_ns = unit.frame.time_ns;
    passing.end_ns = unit.frame.time_ns;
    passing.first_frame = unit.frame.number;
    passing.frame = unit.frame.number;
    passing.operation = operation_of(opcode.operation);
    passing.starts = opcode.starts_message();
    passing.ends = opcode.ends_message();
    fill_payload(unit, passing);
    if (unit.dissection.has(LayerId::reth)) {
        passing.has_target = true;
        passing.key = bth.remote_key;
        passing.address = bth.virtual_address;
        passing.asked = bth.dma_length;
    }
    if (unit.dissection.has(LayerId::ieth)) passing.invalidated = bth.invalidated_key;
    if (unit.dissection.has(LayerId::immdt)) passing.immediate = bth.immediate;
    flow.pass(passing);
}

void Reader::State::response_packet(const dissect::Unit& unit, const wire::BthOpcode& opcode, Flow& peer) {
    if (!peer.has_started()) return;
    Passing passing;
    passing.end_ns = unit.frame.time_ns;
    passing.frame = unit.frame.number;
    passing.operation = Operation::read;
    passing.starts = opcode.starts_message();
    passing.ends = opcode.ends_message();
    fill_payload(unit, passing);
    peer.read_response(peer.position_of(unit.dissection.bth.psn), passing);
}

void Reader::State::acknowledgement(const dissect::Unit& unit, Flow& peer) {
    if (!peer.has_started()) return;
    const dissect::BthSummary& bth = unit.dissection.bth;
    constexpr unsigned positive = 0;
    const unsigned type = bth.syndrome >> 5 & 3;
    const std::uint64_t position = peer.position_of(bth.psn);
    // A NAK names the first missing packet. IBTA vol. 1, 9.7.5.2.8.
    if (type == positive) return peer.acknowledge(position + 1, unit.frame.time_ns);
    peer.acknowledge(position, unit.frame.time_ns);
    peer.refused();
}

void Reader::State::packet(const dissect::Unit& unit) {
    const dissect::Dissection& d = unit.dissection;
    if (!d.has(LayerId::bth) || d.bth.icrc == dissect::CrcStatus::bad) return;
    const bool own = d.network.family != dissect::Network::Family::none;
    const dissect::Dissection& addressed = own ? d : unit.frame_dissection;
    const base::Bytes bytes = own ? unit.bytes : unit.frame.bytes;
    if (addressed.network.family == dissect::Network::Family::none) return;
    const PacketKey key{address_octets(addressed.network, addressed.network.source_offset, bytes),
                        address_octets(addressed.network, addressed.network.destination_offset, bytes),
                        d.bth.destination_qp, addressed.network.family};
    if (d.has(LayerId::mad)) return management(unit, key);
    const wire::BthOpcode& opcode = wire::bth_opcode(d.bth.opcode);
    if (opcode.service == wire::BthService::ud) return datagram(unit, key);
    if (opcode.service != wire::BthService::rc) return;
    PacketTrack& track = track_of(key, unit.transport);
    Connection& connection = *track.flow.connection();
    place = {&connection, track.flow.side()};
    if (connection.is_ignored()) return track.flow.release();
    if (opcode.role == wire::BthRole::request) return request_packet(unit, opcode, track.flow);
    Flow* peer = connection.flow(1 - track.flow.side());
    if (peer == nullptr) {
        find_peer(track, key, d.bth.psn);
        place = {track.flow.connection(), track.flow.side()};
        peer = track.flow.connection()->flow(1 - track.flow.side());
        if (peer == nullptr) return;
    }
    if (opcode.operation == wire::BthOperation::read_response) return response_packet(unit, opcode, *peer);
    if (opcode.operation == wire::BthOperation::acknowledge && d.has(LayerId::aeth)) acknowledgement(unit, *peer);
}

// ---- segments ----

void Reader::State::begin_stream(StreamTrack& stream, const dissect::Unit& unit) {
    const dissect::Network& network = unit.frame_dissection.network;
    Endpoint source{address_octets(network, network.source_offset, unit.frame.bytes), network.family,
                    unit.frame_dissection.source_port};
    Endpoint destination{address_octets(network, network.destination_offset, unit.frame.bytes), network.family,
                         unit.frame_dissection.destination_port};
    if (!unit.from_client) std::swap(source, destination);
    constexpr unsigned sequence_bits = 32;
    Connection& connection = add_connection();
    stream.connection = &connection;
    stream.flows[0] = std::make_unique<Flow>(wire::Transport::iwarp, source, destination, sequence_bits);
    stream.flows[1] = std::make_unique<Flow>(wire::Transport::iwarp, destination, source, sequence_bits);
    connection.set_flow(0, *stream.flows[0]);
    connection.set_flow(1, *stream.flows[1]);
    const bool is_request = unit.dissection.has(LayerId::mpa_request);
    SetUp set_up;
    if (is_request) {
        set_up = read_mpa_request(unit, static_cast<std::uint16_t>(destination.number));
    } else {
        // The side that opened the connection is unknown here: either port may be the port of the service.
        set_up.by_service = protocol_of_port(static_cast<std::uint16_t>(destination.number));
        if (set_up.by_service == nullptr)
            set_up.by_service = protocol_of_port(static_cast<std::uint16_t>(source.number));
    }
    const Protocol* assigned = assigned_port(destination.number);
    if (assigned == nullptr) assigned = assigned_port(source.number);
    set_up_connection(connection, set_up, assigned, is_request ? std::optional<unsigned>(0) : std::nullopt);
    if (is_request && set_up.by_private_data != nullptr && writer)
        writer->write_private_data(unit.frame, *set_up.by_private_data, 0, set_up.private_data);
}

StreamTrack& Reader::State::stream_of(const dissect::Unit& unit) {
    StreamTrack& stream = streams[unit.stream];
    if (stream.connection == nullptr) begin_stream(stream, unit);
    return stream;
}

bool Reader::State::waited(const dissect::Unit& unit, StreamTrack::Side& side) const {
    if (!side.gap_open) return false;
    const bool first = side.gap_frame == 0;
    if (first || side.gap_frame == unit.frame.number || unit.passed_ns < unit.frame.time_ns) {
        side.gap_frame = unit.frame.number;
        return true;
    }
    side.gap_open = false;
    return false;
}

void Reader::State::fill_untagged(const dissect::Unit& unit, Passing& passing) const {
    const dissect::DdpSummary& ddp = unit.dissection.ddp;
    switch (static_cast<wire::RdmapOpcode>(ddp.opcode)) {
        case wire::RdmapOpcode::send_invalidate:
        case wire::RdmapOpcode::send_solicited_invalidate: passing.invalidated = ddp.invalidate_stag; [[fallthrough]];
        case wire::RdmapOpcode::send:
        case wire::RdmapOpcode::send_solicited:
            passing.operation = Operation::send;
            passing.starts = ddp.message_offset == 0;
            passing.ends = ddp.last;
            passing.offset = ddp.message_offset;
            break;
        case wire::RdmapOpcode::read_request:
            if (!unit.dissection.has(LayerId::rdmap_read_request)) break;
            passing.operation = Operation::read;
            passing.starts = true;
            passing.ends = true;
            passing.has_target = true;
            passing.key = ddp.source_stag;
            passing.address = ddp.source_offset;
            passing.asked = ddp.read_size;
            passing.sink_key = ddp.sink_stag;
            passing.sink_address = ddp.sink_offset;
            break;
        default: break;
    }
}

void Reader::State::tagged(const dissect::Unit& unit, StreamTrack& stream, unsigned side, Passing& passing) {
    const dissect::DdpSummary& ddp = unit.dissection.ddp;
    Flow& flow = *stream.flows[side];
    if (static_cast<wire::RdmapOpcode>(ddp.opcode) == wire::RdmapOpcode::read_response) {
        Passing advance = passing;
        advance.operation = Operation::other;
        flow.pass(advance);
        passing.operation = Operation::read;
        passing.ends = ddp.last;
        return stream.flows[1 - side]->read_response_to(ddp.stag, ddp.tagged_offset, passing);
    }
    StreamTrack::Side& state = stream.sides[side];
    passing.operation = Operation::write;
    passing.starts = !state.writing || state.write_key != ddp.stag || state.write_next != ddp.tagged_offset;
    passing.ends = ddp.last;
    passing.has_target = passing.starts;
    passing.key = ddp.stag;
    passing.address = ddp.tagged_offset;
    passing.asked = passing.length;
    if (passing.starts) state.write_first = ddp.tagged_offset;
    passing.offset = ddp.tagged_offset - state.write_first;
    state.writing = !ddp.last;
    state.write_key = ddp.stag;
    state.write_next = ddp.tagged_offset + passing.length;
    flow.pass(passing);
}

void Reader::State::fpdu(const dissect::Unit& unit, StreamTrack& stream, unsigned side) {
    Flow& flow = *stream.flows[side];
    Passing passing;
    passing.begin = flow.position_of(unit.sequence);
    passing.end = passing.begin + unit.stream_length;
    passing.waited = waited(unit, stream.sides[side]);
    passing.begin_ns = time_of(unit.first_frame, unit.passed_ns);
    passing.end_ns = passing.waited ? unit.frame.time_ns : unit.passed_ns;
    passing.first_frame = unit.first_frame;
    passing.frame = unit.frame.number;
    passing.operation = Operation::other;
    fill_payload(unit, passing);
    if (unit.dissection.ddp.tagged) return tagged(unit, stream, side, passing);
    stream.sides[side].writing = false;
    fill_untagged(unit, passing);
    flow.pass(passing);
}

void Reader::State::segment(const dissect::Unit& unit) {
    StreamTrack& stream = stream_of(unit);
    const unsigned side = unit.from_client ? 0 : 1;
    place = {stream.connection, side};
    if (stream.connection->is_ignored()) return stream.flows[side]->release();
    const dissect::Dissection& d = unit.dissection;
    const Protocol* protocol = stream.connection->protocol();
    if (d.has(LayerId::mpa_reply) && protocol != nullptr && protocol->parse_write != nullptr) {
        const base::Bytes data = read_mpa_reply(unit);
        stream.connection->take_reply(data);
        if (stream.connection->evidence() == Evidence::private_data && writer && !data.empty())
            writer->write_private_data(unit.frame, *protocol, 1, data);
    }
    if (!d.has(LayerId::rdmap) || d.ddp.crc == dissect::CrcStatus::bad) return;
    const dissect::TcpSummary& tcp = unit.frame_dissection.tcp;
    constexpr unsigned ack_flag = 0x10;
    Flow& peer = *stream.flows[1 - side];
    if (unit.frame_dissection.has(LayerId::tcp) && (tcp.flags & ack_flag) != 0 && peer.has_started())
        peer.acknowledge(peer.position_of(tcp.acknowledgment), unit.frame.time_ns);
    fpdu(unit, stream, side);
}

// ---- the sink ----

void Reader::State::remember_time(const wire::Frame& now) {
    times[now.number % remembered_times] = {now.number, now.time_ns};
}

std::int64_t Reader::State::time_of(std::uint64_t number, std::int64_t otherwise) const {
    const auto& kept = times[number % remembered_times];
    return kept.first == number && number != 0 ? kept.second : otherwise;
}

Reader::Reader(const ReaderOptions& options, dissect::Sink* next, Listener* listener)
    : state_(std::make_unique<State>(options, next, listener)) {}
Reader::~Reader() = default;

void Reader::on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) {
    state_->remember_time(frame);
    if (state_->next != nullptr) state_->next->on_frame(frame, dissection);
}

void Reader::note_time(const wire::Frame& frame) { state_->remember_time(frame); }

void Reader::on_unit(const dissect::Unit& unit) {
    if (state_->next != nullptr) state_->next->on_unit(unit);
    state_->frame = &unit.frame;
    state_->place = {};
    if (unit.transport == wire::Transport::iwarp)
        state_->segment(unit);
    else
        state_->packet(unit);
    state_->frame = nullptr;
}

void Reader::on_notice(const dissect::Notice& notice) {
    if (state_->next != nullptr) state_->next->on_notice(notice);
    const auto found = state_->streams.find(notice.stream);
    if (found == state_->streams.end() || found->second.connection->is_ignored()) return;
    StreamTrack& stream = found->second;
    const dissect::Dissection& d = notice.frame_dissection;
    const unsigned side = d.source_port == stream.flows[0]->source().number ? 0 : 1;
    Flow& flow = *stream.flows[side];
    switch (notice.kind) {
        case dissect::Notice::Kind::tcp_out_of_order:
            if (!stream.sides[side].gap_open) stream.sides[side].gap_frame = 0;
            stream.sides[side].gap_open = true;
            break;
        case dissect::Notice::Kind::tcp_retransmission: {
            if (!flow.has_started()) break;
            Passing again;
            again.begin = flow.position_of(d.tcp.sequence);
            again.end = again.begin + d.tcp.payload_length;
            again.end_ns = notice.frame.time_ns;
            again.frame = notice.frame.number;
            flow.pass_again(again);
            break;
        }
        case dissect::Notice::Kind::stream_gap:
        case dissect::Notice::Kind::stream_skipped:
            flow.lose_place();
            stream.sides[side].writing = false;
            break;
        default: break;
    }
}

void Reader::finish() {
    state_->frame = nullptr;
    for (const auto& connection : state_->connections) connection->end();
}

Reader::Place Reader::last_place() const { return state_->place; }

bool Reader::knows(const Endpoint& source, const Endpoint& destination) const {
    return state_->tracks.contains({source.address, destination.address, destination.number, source.family});
}

void Reader::visit_connections(const std::function<void(Connection&)>& visit) {
    for (const auto& connection : state_->connections)
        if (connection->protocol() != nullptr) visit(*connection);
}

}  // namespace upper
