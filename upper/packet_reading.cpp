// Packets of RoCE and InfiniBand: flows, their peers, and management.
#include <algorithm>
#include <iterator>

#include "upper/reader_state.h"

namespace upper {

using dissect::LayerId;

namespace {

constexpr std::size_t max_candidates = 64;   ///< flows between two hosts that are not paired yet
constexpr std::uint64_t most_behind = 4096;  ///< positions by which an acknowledgement may lag
constexpr unsigned votes_for_pair = 2;
/// An acknowledgement that is this near to the latest packet of a flow belongs to this flow, because PSNs begin
/// anywhere in 2^24.
constexpr std::uint64_t positions_of_sure_pair = 64;

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

Operation operation_of(wire::BthOperation operation) {
    switch (operation) {
        case wire::BthOperation::send: return Operation::send;
        case wire::BthOperation::write: return Operation::write;
        case wire::BthOperation::read_request: return Operation::read;
        default: return Operation::other;
    }
}

}  // namespace

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
    if (joined.protocol() != nullptr) release([&](const Connection* one) { return one == &joined; });
    // Flows are paired soon after their connections were made, so the search begins at the latest one.
    const auto last =
        std::find_if(connections.rbegin(), connections.rend(), [&](const auto& one) { return one.get() == &joined; });
    if (last != connections.rend()) connections.erase(std::next(last).base());
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

}  // namespace upper
