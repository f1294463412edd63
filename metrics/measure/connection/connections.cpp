#include "metrics/measure/connection/connections.h"

#include <algorithm>
#include <fmt/format.h>
#include <list>
#include <unordered_map>

#include "base/clock.h"
#include "base/hash.h"
#include "metrics/measure/connection/cm_message.h"
#include "wire/mpa.h"

namespace metrics::inline measure::inline connection {

namespace {

using dissect::LayerId;
using wire::Transport;

constexpr std::int64_t attempt_patience_ns = 3'000'000'000;

struct Ends {
    Address client;
    Address server;
    std::uint32_t id = 0;  ///< communication id of the client, or of the server
    bool of_server = false;
    bool resolution = false;  ///< of a service identifier, not of a connection

    bool operator==(const Ends&) const = default;
};

struct Hash {
    std::size_t operator()(const Ends& ends) const {
        const std::uint64_t flags = (ends.of_server ? 2u : 0u) | (ends.resolution ? 1u : 0u);
        return base::mix(mix(mix(ends.id | flags << 32, ends.client), ends.server), 0);
    }
    std::size_t operator()(const FlowKey& key) const {
        const std::uint64_t kind = std::uint64_t{static_cast<std::uint8_t>(key.transport)} << 8 |
                                   static_cast<std::uint64_t>(static_cast<std::uint8_t>(key.service));
        return base::mix(mix(mix(key.selector | kind << 32, key.source), key.destination), 0);
    }
};

enum class AttemptProgress : std::uint8_t { requested, replied, ready, rejected, reset, abandoned, ended };

bool finished(AttemptProgress progress) { return progress >= AttemptProgress::rejected; }

/// One attempt at a connection, successful or not.
struct Connection {
    Connections::QueuePairs pairs;
    Ends by_client;
    Ends by_server;
    bool server_id_known = false;
    bool keys_known = false;  ///< `pairs` has both keys, and flows are found by them
    AttemptProgress progress = AttemptProgress::requested;
    cm::Request request;
    cm::Limits mpa_request;
    std::uint32_t mpa_sequence = 0;  ///< of the Request's first byte
    std::uint32_t mpa_revision = 0;  ///< of the Request
    bool mpa_by_convention = false;  ///< as cm::MpaFrame has it, of the Request; so is the next
    bool mpa_peer_to_peer = false;
    bool mpa_crc = false;
    bool reply_unseen = false;  ///< only FPDUs have shown that the Request was accepted
    ConnectionAttempt attempt;
    std::int64_t last_request_ns = 0;
    std::uint64_t reused_frame = 0;  ///< the first in which its ports are used for another one
    std::int64_t end_ns = 0;         ///< once it is finished
    std::uint64_t patience = 0;      ///< ns that the last request, or an MRA, gives the peer
};

std::int64_t later(std::int64_t time_ns, std::uint64_t by_ns) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(time_ns) + by_ns);
}
Endpoint tcp_end(const Address& address, std::uint32_t port) {
    Endpoint end;
    end.address = address;
    end.port = static_cast<std::uint16_t>(port);
    return end;
}

}  // namespace

struct Connections::State {
    using List = std::list<Connection>;
    using Place = List::iterator;

    explicit State(std::size_t max_connections) : limit(std::max<std::size_t>(max_connections, 1)) {}

    std::size_t limit;
    std::uint64_t serial = 0;
    List live;  ///< oldest first, as is the next
    List done;
    std::unordered_map<Ends, Place, Hash> by_ends;
    struct Side {
        Place place;
        bool client = false;  ///< the flow that the client sends on
    };
    std::unordered_map<FlowKey, Side, Hash> by_flow;  ///< the latest of each
    std::unordered_map<FlowKey, std::vector<Side>, Hash> earlier;

    Connection& begin(const wire::Frame& frame, Transport transport, const Endpoint& client, const Endpoint& server);
    void make_room();
    void remove(List& list, Place place);
    void finish(Place place, AttemptProgress progress, std::optional<EndKind> end, const wire::Frame& frame);
    static void set_end(Place place, EndKind kind, std::string words);
    void know(Place place, const FlowKey& to_server, const FlowKey& to_client);
    Place find(const Ends& ends);
    Place nobody() { return live.end(); }

    Place of_message(const cm::Message& message, bool& from_client);
    void request(const cm::Message& message, const wire::Frame& frame);
    Place reply(const cm::Message& message);
    Place reject(const cm::Message& message, const wire::Frame& frame);
    Place release(const cm::Message& message, const wire::Frame& frame);
    void ready(const cm::Message& message, const wire::Frame& frame);
    void wait(const cm::Message& message, const wire::Frame& frame);
    void resolve(const cm::Message& message, const wire::Frame& frame);
    void resolved(const cm::Message& message, const wire::Frame& frame);

    void mpa_request(const cm::MpaFrame& start, const dissect::Unit& unit, const FlowKey& key);
    void mpa_reply(const cm::MpaFrame& start, const wire::Frame& frame, const FlowKey& key);
    static std::string disagreement(const Connection& connection, const cm::MpaFrame& reply);
};

void Connections::State::remove(List& list, Place place) {
    const auto drop = [&](const Ends& ends) {
        const auto found = by_ends.find(ends);
        if (found != by_ends.end() && found->second == place) by_ends.erase(found);
    };
    drop(place->by_client);
    if (place->server_id_known) drop(place->by_server);
    if (place->keys_known)
        for (const FlowKey* key : {&place->pairs.to_server, &place->pairs.to_client}) {
            const auto found = by_flow.find(*key);
            if (found != by_flow.end() && found->second.place == place) by_flow.erase(found);
            const auto before = earlier.find(*key);
            if (before == earlier.end()) continue;
            std::erase_if(before->second, [&](const Side& side) { return side.place == place; });
            if (before->second.empty()) earlier.erase(before);
        }
    list.erase(place);
}

void Connections::State::make_room() {
    if (live.size() + done.size() < limit) return;
    List& list = done.empty() ? live : done;
    remove(list, list.begin());
}

Connection& Connections::State::begin(const wire::Frame& frame, Transport transport, const Endpoint& client,
                                      const Endpoint& server) {
    make_room();
    Connection& connection = live.emplace_back();
    connection.pairs.serial = ++serial;
    connection.attempt.transport = transport;
    connection.attempt.client = client;
    connection.attempt.server = server;
    connection.attempt.request_frame = frame.number;
    connection.attempt.request_ns = frame.time_ns;
    connection.last_request_ns = frame.time_ns;
    connection.pairs.client.setup_frame = connection.pairs.server.setup_frame = frame.number;
    return connection;
}

void Connections::State::set_end(Place place, EndKind kind, std::string words) {
    for (ConnectionFigures* figures : {&place->pairs.client, &place->pairs.server}) {
        figures->end_kind = kind;
        figures->end = words;
    }
}

/// Figures are still found by their flows, and messages by their ids, for they are repeated. Only queue pairs have an
/// `end`.
void Connections::State::finish(Place place, AttemptProgress progress, std::optional<EndKind> end,
                                const wire::Frame& frame) {
    if (finished(place->progress)) return;
    place->progress = progress;
    place->attempt.end_frame = frame.number;
    place->end_ns = frame.time_ns;
    for (ConnectionFigures* figures : {&place->pairs.client, &place->pairs.server}) {
        figures->end_frame = frame.number;
        figures->end_ns = frame.time_ns;
    }
    if (end) set_end(place, *end, std::string(name_of(*end)));
    done.splice(done.end(), live, place);
}

void Connections::State::know(Place place, const FlowKey& to_server, const FlowKey& to_client) {
    place->pairs.to_server = to_server;
    place->pairs.to_client = to_client;
    place->keys_known = true;
    for (const FlowKey* key : {&to_server, &to_client})
        if (const auto found = by_flow.find(*key); found != by_flow.end() && found->second.place != place)
            earlier[*key].push_back(found->second);
    by_flow.insert_or_assign(to_server, Side{place, true});
    by_flow.insert_or_assign(to_client, Side{place, false});
}

Connections::State::Place Connections::State::find(const Ends& ends) {
    const auto found = by_ends.find(ends);
    return found == by_ends.end() ? nobody() : found->second;
}

Connections::State::Place Connections::State::of_message(const cm::Message& message, bool& from_client) {
    // Sent by the server, it names the client's id as the remote one; a rejecting server may have no id of its own.
    auto place = find({message.destination, message.source, message.remote_id, false, false});
    if (place != nobody() &&
        (!place->server_id_known || message.local_id == 0 || place->by_server.id == message.local_id)) {
        from_client = false;
        return place;
    }
    place = find({message.source, message.destination, message.local_id, false, false});
    from_client = true;
    if (place != nobody() &&
        (!place->server_id_known || message.remote_id == 0 || place->by_server.id == message.remote_id))
        return place;
    return nobody();
}

void Connections::State::request(const cm::Message& message, const wire::Frame& frame) {
    const Ends ends{message.source, message.destination, message.local_id, false, false};
    const auto known = find(ends);
    if (known != nobody() && !finished(known->progress) && known->request.same_as(message.request)) {
        ++known->attempt.requests;
        known->last_request_ns = frame.time_ns;
        return;
    }
    Endpoint client;
    client.address = message.source;
    client.qpn = message.request.qpn;
    if (message.request.client_port != 0) client.port = message.request.client_port;
    Endpoint server;
    server.address = message.destination;
    if (message.request.server_port != 0) server.port = message.request.server_port;
    Connection& connection = begin(frame, message.transport, client, server);
    connection.by_client = ends;
    connection.request = message.request;
    connection.patience = message.request.response_timeout_ns;
    by_ends.insert_or_assign(ends, std::prev(live.end()));
}

/// What the two sides may have outstanding: IBTA vol. 1, 12.7.29 and 12.7.30. Each side says what it will take
/// (responder resources) and what it will have outstanding at most (initiator depth); the reply does not exceed what
/// the request offers. Each side names the number of RNR retries, and the PSN, that the other is to use (12.7.28,
/// 12.7.31).
Connections::State::Place Connections::State::reply(const cm::Message& message) {
    const auto place = find({message.destination, message.source, message.remote_id, false, false});
    if (place == nobody() || finished(place->progress)) return nobody();
    if (place->progress != AttemptProgress::requested) return nobody();  // repeated
    place->progress = AttemptProgress::replied;
    place->attempt.server.qpn = message.reply.qpn;
    place->by_server = {message.destination, message.source, message.local_id, true, false};
    place->server_id_known = true;
    by_ends.insert_or_assign(place->by_server, place);

    const cm::Request& asked = place->request;
    const cm::Reply& given = message.reply;
    ConnectionFigures& client = place->pairs.client;
    ConnectionFigures& server = place->pairs.server;
    client.service_id = server.service_id = asked.service_id;
    client.initiator_depth = std::min(asked.initiator_depth, given.responder_resources);
    client.responder_resources = given.responder_resources;
    server.initiator_depth = std::min(given.initiator_depth, asked.responder_resources);
    server.responder_resources = asked.responder_resources;
    client.rnr_retry_count = given.rnr_retry_count;
    server.rnr_retry_count = asked.rnr_retry_count;
    client.starting_psn = place->pairs.client_psn = given.starting_psn;
    server.starting_psn = place->pairs.server_psn = asked.starting_psn;
    for (ConnectionFigures* figures : {&client, &server}) {
        figures->path_mtu = asked.path_mtu;
        figures->ack_timeout_ns = asked.ack_timeout_ns;
        figures->retry_count = asked.retry_count;
    }
    FlowKey to_server;
    to_server.source = asked.local.value_or(message.destination);
    to_server.destination = asked.remote.value_or(message.source);
    to_server.selector = given.qpn;
    to_server.transport = message.transport;
    to_server.service = asked.service;
    know(place, to_server, to_server.reversed(asked.qpn));
    return place;
}

void Connections::State::ready(const cm::Message& message, const wire::Frame& frame) {
    const auto place = find({message.source, message.destination, message.local_id, false, false});
    if (place == nobody() || place->progress != AttemptProgress::replied) return;
    place->progress = AttemptProgress::ready;
    const std::uint64_t setup_ns = base::elapsed(place->attempt.request_ns, frame.time_ns);
    place->pairs.client.setup_ns = place->pairs.server.setup_ns = setup_ns;
}

/// An MRA names how long the answer may take.
void Connections::State::wait(const cm::Message& message, const wire::Frame& frame) {
    bool from_client = false;
    const auto place = of_message(message, from_client);
    if (place == nobody() || from_client) return;
    place->patience = message.timeout_ns;
    place->last_request_ns = frame.time_ns;
}

Connections::State::Place Connections::State::reject(const cm::Message& message, const wire::Frame& frame) {
    bool from_client = false;
    const auto place = of_message(message, from_client);
    if (place == nobody() || finished(place->progress)) return nobody();
    const bool stood = place->progress == AttemptProgress::ready;
    const std::string words = cm::reject_words(message.reason);
    place->attempt.by_client = from_client;
    place->attempt.reason = words;
    place->attempt.reject_reason = cm::reject_reason(message.reason);
    finish(place, stood ? AttemptProgress::ended : AttemptProgress::rejected, EndKind::rejected, frame);
    set_end(place, EndKind::rejected, fmt::format("{}: {}", name_of(EndKind::rejected), words));
    return place->keys_known ? place : nobody();
}

Connections::State::Place Connections::State::release(const cm::Message& message, const wire::Frame& frame) {
    bool from_client = false;
    const auto place = of_message(message, from_client);
    if (place == nobody() || finished(place->progress)) return nobody();
    const bool asks = message.layer == LayerId::cm_dreq;
    finish(place, AttemptProgress::ended, asks ? EndKind::disconnect_request : EndKind::disconnect_reply, frame);
    return place->keys_known ? place : nobody();
}

void Connections::State::resolve(const cm::Message& message, const wire::Frame& frame) {
    const Ends ends{message.source, message.destination, message.local_id, false, true};
    const auto known = find(ends);
    if (known != nobody() && !finished(known->progress)) {
        ++known->attempt.requests;
        known->last_request_ns = frame.time_ns;
        return;
    }
    Endpoint client;
    client.address = message.source;
    if (message.request.client_port != 0) client.port = message.request.client_port;
    Endpoint server;
    server.address = message.destination;
    if (message.request.server_port != 0) server.port = message.request.server_port;
    Connection& connection = begin(frame, message.transport, client, server);
    connection.by_client = ends;
    connection.patience = attempt_patience_ns;
    by_ends.insert_or_assign(ends, std::prev(live.end()));
}

void Connections::State::resolved(const cm::Message& message, const wire::Frame& frame) {
    const auto place = find({message.destination, message.source, message.local_id, false, true});
    if (place == nobody() || finished(place->progress)) return;
    if (message.reason == 0) {
        finish(place, AttemptProgress::ended, std::nullopt, frame);
        return;
    }
    place->attempt.reason = cm::resolution_words(message.reason);
    place->attempt.reject_reason = cm::resolution_reject_reason(message.reason);
    finish(place, AttemptProgress::rejected, std::nullopt, frame);
}

void Connections::State::mpa_request(const cm::MpaFrame& start, const dissect::Unit& unit, const FlowKey& key) {
    const wire::Frame& frame = unit.frame;
    const auto known = by_flow.find(key);
    if (known != by_flow.end()) {
        const Place old = known->second.place;
        if (!finished(old->progress) && known->second.client && old->progress == AttemptProgress::requested) {
            ++old->attempt.requests;
            old->last_request_ns = frame.time_ns;
            return;
        }
        if (!finished(old->progress)) finish(old, AttemptProgress::ended, EndKind::ports_reused, frame);
    }
    Connection& connection = begin(frame, Transport::iwarp, tcp_end(key.source, key.selector >> 16),
                                   tcp_end(key.destination, key.selector & 0xffff));
    connection.patience = attempt_patience_ns;
    connection.mpa_request = start.limits;
    connection.mpa_sequence = unit.sequence;
    connection.mpa_crc = start.crc;
    connection.mpa_revision = start.revision;
    connection.mpa_by_convention = start.by_convention;
    connection.mpa_peer_to_peer = start.peer_to_peer;
    for (ConnectionFigures* figures : {&connection.pairs.client, &connection.pairs.server})
        figures->mpa_revision = start.revision;
    connection.pairs.server.mpa_markers = start.markers;
    know(std::prev(live.end()), key, key.reversed());
}

/// What the Request asked for and the Reply refuses; empty if they agree, or if the Reply asks for more. RFC 5044, 7.1.
std::string Connections::State::disagreement(const Connection& connection, const cm::MpaFrame& reply) {
    std::string wanted;
    const auto add = [&wanted](bool refused, std::string_view what) {
        if (refused) wanted += (wanted.empty() ? "the request wants " : " and ") + std::string(what);
    };
    add(connection.mpa_crc && !reply.crc, "CRC");
    add(connection.pairs.server.mpa_markers.value_or(false) && !reply.markers, "markers");
    if (!wanted.empty()) wanted += ", the reply does not";
    const std::uint32_t revision = connection.mpa_revision;
    if (revision != reply.revision)
        wanted += fmt::format("{}the request speaks MPA revision {}, the reply {}", wanted.empty() ? "" : "; ",
                              revision, reply.revision);
    return wanted;
}

/// RFC 6581, 9.1: each side says how many READs it takes (IRD) and makes (ORD); a request's ORD is lowered to the
/// reply's IRD and the other way round. All ones: that is not negotiated.
void Connections::State::mpa_reply(const cm::MpaFrame& start, const wire::Frame& frame, const FlowKey& key) {
    const auto known = by_flow.find(key);
    if (known == by_flow.end() || known->second.client) return;
    const Place place = known->second.place;
    // The FIN may have come in the Reply's own frame, or by a shorter way into the capture.
    const bool closed = finished(place->progress);
    const bool awaited = place->progress == AttemptProgress::requested || place->progress == AttemptProgress::abandoned;
    if (!awaited && !place->reply_unseen) return;
    place->reply_unseen = false;
    ConnectionFigures& client = place->pairs.client;
    ConnectionFigures& server = place->pairs.server;
    client.setup_ns = server.setup_ns = base::elapsed(place->attempt.request_ns, frame.time_ns);
    client.mpa_revision = server.mpa_revision = start.revision;
    client.mpa_markers = start.markers;
    client.mpa_crc = server.mpa_crc = place->mpa_crc || start.crc;
    // A convention that one side alone seems to keep is chance.
    const bool agreed = start.by_convention == place->mpa_by_convention;
    const cm::Limits asked = agreed || !place->mpa_by_convention ? place->mpa_request : cm::Limits{};
    const cm::Limits given = agreed || !start.by_convention ? start.limits : cm::Limits{};
    client.initiator_depth = cm::lower_of(asked.ord, given.ird);
    client.responder_resources = given.ird;
    server.initiator_depth = cm::lower_of(given.ord, asked.ird);
    server.responder_resources = asked.ird;
    if (place->mpa_peer_to_peer && !start.peer_to_peer && !start.rejected)
        client.refused_peer_to_peer_frame = server.refused_peer_to_peer_frame = frame.number;
    if (!start.rejected) {
        place->progress = closed ? AttemptProgress::ended : AttemptProgress::ready;
        return;
    }
    if (closed) {
        place->progress = AttemptProgress::rejected;
        place->attempt.end_frame = frame.number;
        client.end_frame = server.end_frame = frame.number;
    } else {
        finish(place, AttemptProgress::rejected, EndKind::mpa_rejected, frame);
    }
    place->attempt.reason = disagreement(*place, start);
    set_end(place, EndKind::mpa_rejected, std::string(name_of(EndKind::mpa_rejected)));
}

Connections::Connections(std::size_t max_connections) : state_(std::make_unique<State>(max_connections)) {}
Connections::~Connections() = default;

const Connections::QueuePairs* Connections::on_management(const dissect::Unit& unit, bool& ended) {
    ended = false;
    cm::Message message;
    if (!cm::read(unit, message)) return nullptr;
    State& s = *state_;
    auto place = s.nobody();
    switch (message.layer) {
        case LayerId::cm_req: s.request(message, unit.frame); break;
        case LayerId::cm_mra: s.wait(message, unit.frame); break;
        case LayerId::cm_rtu: s.ready(message, unit.frame); break;
        case LayerId::cm_sidr_req: s.resolve(message, unit.frame); break;
        case LayerId::cm_sidr_rep: s.resolved(message, unit.frame); break;
        case LayerId::cm_rep: place = s.reply(message); break;
        case LayerId::cm_rej:
            ended = true;
            place = s.reject(message, unit.frame);
            break;
        default:
            ended = true;
            place = s.release(message, unit.frame);
            break;
    }
    ended = ended && place != s.nobody();
    return place == s.nobody() ? nullptr : &place->pairs;
}

void Connections::on_mpa(const dissect::Unit& unit, const FlowKey& key) {
    cm::MpaFrame start;
    if (!cm::read(unit, start)) return;
    if (start.request)
        state_->mpa_request(start, unit, key);
    else
        state_->mpa_reply(start, unit.frame, key);
    // If this frame has ended the connection, too, that was reported before there was a connection.
    if (start.request && concerns(unit.frame_dissection.tcp)) on_tcp(unit.frame, unit.frame_dissection, key);
}

void Connections::on_tcp(const wire::Frame& frame, const dissect::Dissection& dissection, const FlowKey& key) {
    using enum dissect::TcpFlag;
    State& s = *state_;
    const auto known = s.by_flow.find(key);
    if (known == s.by_flow.end()) return;
    const State::Place place = known->second.place;
    const dissect::TcpSummary& tcp = dissection.tcp;
    // Its own SYN, sent or captured once more, or the answer to it, begins nothing.
    const bool own = known->second.client && tcp.sequence + 1 == place->mpa_sequence;
    const bool opens = (tcp.flags & (tcp_syn | tcp_rst | tcp_ack)) == tcp_syn && !own;
    if (opens && place->reused_frame == 0) place->reused_frame = frame.number;
    if (finished(place->progress)) return;
    const bool waiting = place->progress == AttemptProgress::requested;
    if ((tcp.flags & tcp_rst) != 0) {
        if (tcp.stray_reset) return;
        s.finish(place, waiting ? AttemptProgress::reset : AttemptProgress::ended, EndKind::tcp_reset, frame);
    } else if (opens) {
        s.finish(place, waiting ? AttemptProgress::abandoned : AttemptProgress::ended, EndKind::ports_reused, frame);
    } else if ((tcp.flags & tcp_syn) != 0) {
        return;
    } else if ((tcp.flags & tcp_fin) != 0) {
        s.finish(place, waiting ? AttemptProgress::abandoned : AttemptProgress::ended, EndKind::tcp_fin, frame);
    }
}

void Connections::on_icmp_error(const Address& client, const Address& server,
                                const std::optional<std::uint32_t>& client_id, const dissect::IcmpError& error,
                                const Address& sender) {
    State& s = *state_;
    const auto add = [&](Connection& connection) {
        ConnectionAttempt& attempt = connection.attempt;
        if (!attempt.icmp) attempt.icmp.emplace();
        attempt.icmp->add(error.kind, sender, error.mtu);
    };
    if (client_id) {
        const auto place = s.find({client, server, *client_id, false, false});
        if (place != s.nobody()) add(*place);
        return;
    }
    // The error comes at once: the request is one of the last.
    constexpr unsigned latest = 64;
    unsigned seen = 0;
    for (auto place = s.live.rbegin(); place != s.live.rend() && seen < latest; ++place) {
        ++seen;
        if (place->progress != AttemptProgress::requested || place->attempt.transport == Transport::iwarp ||
            place->attempt.client.address != client || place->attempt.server.address != server)
            continue;
        return add(*place);
    }
}

void Connections::on_reuse(const FlowKey& key, std::uint64_t frame) {
    const auto known = state_->by_flow.find(key);
    if (known == state_->by_flow.end()) return;
    Connection& connection = *known->second.place;
    if (connection.reused_frame == 0) connection.reused_frame = frame;
}

/// The initiator sends none before it has the Reply, and the responder none before it has one of the initiator's. RFC
/// 5044, 7.1.2. FPDUs after a hole may be reported after the end.
void Connections::on_fpdus(const FlowKey& key) {
    const auto known = state_->by_flow.find(key);
    if (known == state_->by_flow.end()) return;
    Connection& connection = *known->second.place;
    if (connection.reused_frame != 0) return;
    AttemptProgress& progress = connection.progress;
    const bool gone = progress == AttemptProgress::abandoned || progress == AttemptProgress::reset;
    if (progress != AttemptProgress::requested && !gone) return;
    progress = gone ? AttemptProgress::ended : AttemptProgress::ready;
    connection.reply_unseen = true;
}

const ConnectionFigures* Connections::about(const FlowKey& key) const {
    const auto found = state_->by_flow.find(key);
    if (found == state_->by_flow.end()) return nullptr;
    const QueuePairs& pairs = found->second.place->pairs;
    return found->second.client ? &pairs.client : &pairs.server;
}

const ConnectionFigures* Connections::about(const FlowKey& key, std::uint64_t first_frame, bool finished) const {
    const auto begun = [&](const State::Side& side) { return side.place->pairs.client.setup_frame <= first_frame; };
    const State::Side* side = nullptr;
    if (const auto latest = state_->by_flow.find(key); latest != state_->by_flow.end()) side = &latest->second;
    if (finished && (side == nullptr || !begun(*side))) {
        side = nullptr;
        if (const auto before = state_->earlier.find(key); before != state_->earlier.end()) {
            const std::vector<State::Side>& sides = before->second;
            const auto later = std::partition_point(sides.begin(), sides.end(), begun);
            if (later != sides.begin()) side = &*std::prev(later);
        }
    }
    if (side == nullptr) return nullptr;
    const Connection& connection = *side->place;
    // A flow that began after that is another connection's, even if its set-up was not captured.
    if (connection.reused_frame != 0 && first_frame >= connection.reused_frame) return nullptr;
    return side->client ? &connection.pairs.client : &connection.pairs.server;
}

std::vector<ConnectionAttempt> Connections::attempts(std::int64_t now_ns) const {
    std::vector<ConnectionAttempt> out;
    const auto add = [&](const Connection& connection, AttemptOutcome outcome) {
        out.push_back(connection.attempt);
        out.back().outcome = outcome;
        if (outcome == AttemptOutcome::rejected) return;
        out.back().reason.clear();
        out.back().reject_reason.reset();
    };
    for (const Connection& connection : state_->done) {
        if (connection.progress == AttemptProgress::rejected) add(connection, AttemptOutcome::rejected);
        if (connection.progress == AttemptProgress::reset) add(connection, AttemptOutcome::reset);
        if (connection.progress == AttemptProgress::abandoned) add(connection, AttemptOutcome::unanswered);
    }
    for (const Connection& connection : state_->live) {
        if (connection.progress != AttemptProgress::requested) continue;
        const bool repeated = connection.attempt.requests > 1;
        const std::uint64_t patience = std::min<std::uint64_t>(connection.patience, attempt_patience_ns);
        const bool long_ago = now_ns >= later(connection.attempt.request_ns, attempt_patience_ns);
        if (long_ago || connection.attempt.icmp || (repeated && now_ns >= later(connection.last_request_ns, patience)))
            add(connection, AttemptOutcome::unanswered);
    }
    std::stable_sort(out.begin(), out.end(), [](const ConnectionAttempt& a, const ConnectionAttempt& b) {
        return a.request_frame < b.request_frame;
    });
    return out;
}

void Connections::forget(std::int64_t before_ns, const std::function<bool(const FlowKey&)>& in_use) {
    State& state = *state_;
    for (State::List* const list : {&state.done, &state.live}) {
        for (auto place = list->begin(); place != list->end();) {
            const auto here = place++;
            if (std::max(here->last_request_ns, here->end_ns) >= before_ns) continue;
            if (here->keys_known && (in_use(here->pairs.to_server) || in_use(here->pairs.to_client))) continue;
            state.remove(*list, here);
        }
    }
}

std::size_t Connections::octets() const {
    constexpr std::size_t node = 2 * sizeof(void*);
    const std::size_t count = state_->live.size() + state_->done.size();
    return sizeof(State) + count * (sizeof(Connection) + node) +
           state_->by_ends.size() * (sizeof(Ends) + sizeof(State::Place) + node) +
           state_->by_flow.size() * (sizeof(FlowKey) + sizeof(State::Side) + node) +
           state_->earlier.size() * (sizeof(FlowKey) + sizeof(std::vector<State::Side>) + node) +
           count * 2 * (state_->earlier.empty() ? 0 : sizeof(State::Side)) +
           (state_->by_ends.bucket_count() + state_->by_flow.bucket_count()) * sizeof(void*);
}

}  // namespace metrics::measure::connection
