// Segments of iWARP.
#include "upper/reader_state.h"
#include "wire/rdmap.h"

namespace upper {

using dissect::LayerId;

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

}  // namespace upper
