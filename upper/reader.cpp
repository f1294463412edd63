#include "upper/reader.h"

#include <algorithm>
#include <iterator>

#include "upper/reader_state.h"

namespace upper {

using dissect::LayerId;

std::array<std::byte, 16> address_octets(const dissect::Network& network, std::uint32_t offset, base::Bytes bytes) {
    std::array<std::byte, 16> address{};
    const std::uint32_t length = network.address_length();
    if (offset + std::size_t{length} <= bytes.size()) std::copy_n(bytes.data() + offset, length, address.begin());
    return address;
}

void fill_payload(const dissect::Unit& unit, Passing& passing) {
    const dissect::LayerRef* payload = unit.dissection.find(LayerId::payload);
    if (payload == nullptr) payload = unit.dissection.find(LayerId::ulp_payload);
    if (payload == nullptr || payload->offset + std::size_t{payload->length} > unit.bytes.size()) return;
    passing.length = payload->wire_length;
    passing.payload = unit.bytes.subspan(payload->offset, std::min(payload->length, payload->wire_length));
}

// ---- connections ----

Connection& Reader::State::add_connection() {
    make_room();
    return *connections.emplace_back(std::make_unique<Connection>(++connection_count, *this, budget));
}

/// Finds the connections that a new one may continue after a reconnect: a client may have several at the same time.
void Reader::State::find_former(const Connection& connection) {
    constexpr std::size_t most_of_hosts = 16;
    const auto hosts = connection.hosts();
    if (!hosts || !connection.protocol()->ids_outlive_connection) return;
    std::vector<Connection*>& known = of_hosts[*hosts];
    const Flow* const flow = connection.flow(0) != nullptr ? connection.flow(0) : connection.flow(1);
    Connection* const own = flow->connection();
    if (std::ranges::find(known, own) != known.end()) return;
    std::vector<Connection*> former;
    std::ranges::copy_if(known, std::back_inserter(former), [own](const Connection* one) {
        return one->protocol() == own->protocol() && one->counts().open_now != 0;
    });
    own->set_former(std::move(former));
    if (known.size() == most_of_hosts) known.erase(known.begin());
    known.push_back(own);
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
    release([](const Connection* connection) { return connection->is_retired(); });
    std::erase_if(connections, [](const auto& connection) { return connection->is_retired(); });
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
