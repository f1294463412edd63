#include "metrics/stream/handshake_table.h"

#include "metrics/flow/flow_table.h"

namespace metrics::stream {

namespace {
constexpr std::uint32_t ways = 4;
constexpr std::uint32_t places = 512;

FlowKey turned(const FlowKey& key) {
    FlowKey out = key;
    out.source = key.destination;
    out.destination = key.source;
    out.selector = key.selector << 16 | key.selector >> 16;
    return out;
}
}  // namespace

struct HandshakeTable::Entry {
    FlowKey client_key;  ///< of the direction from the client
    Handshake handshake;
    bool used = false;
};

HandshakeTable::HandshakeTable() : entries_(std::make_unique<Entry[]>(std::size_t{ways} * places)) {}
HandshakeTable::~HandshakeTable() = default;
std::size_t HandshakeTable::octets() const { return std::size_t{ways} * places * sizeof(Entry); }

/// The same for both directions.
std::uint32_t HandshakeTable::place_of(const FlowKey& key) {
    return (hash_of(key) ^ hash_of(turned(key))) % places * ways;
}

HandshakeTable::Entry* HandshakeTable::entry_of(const FlowKey& key, bool& forward) const {
    const std::uint32_t place = place_of(key);
    const FlowKey backward = turned(key);
    for (std::uint32_t way = 0; way < ways; ++way) {
        Entry& entry = entries_[place + way];
        if (!entry.used) continue;
        forward = entry.client_key == key;
        if (forward || entry.client_key == backward) return &entry;
    }
    return nullptr;
}

const Handshake* HandshakeTable::find(const FlowKey& key, bool& by_client) const {
    const Entry* entry = entry_of(key, by_client);
    return entry == nullptr ? nullptr : &entry->handshake;
}

void HandshakeTable::open(const FlowKey& key, const Segment& segment) {
    const bool answer = segment.has(tcp_ack);
    bool forward = false;
    Entry* entry = entry_of(key, forward);
    const std::uint32_t sequence = segment.tcp().sequence;
    if (entry != nullptr) {
        // A SYN seen before, or the answer to the one seen; anything else is another connection.
        const Handshake::Side& side = forward ? entry->handshake.client : entry->handshake.server;
        const bool complete = !answer && entry->handshake.acknowledged;
        const bool repeated = !complete && forward != answer && side.seen && side.initial_sequence == sequence;
        const bool answers = answer && !forward && !side.seen &&
                             segment.tcp().acknowledgment == entry->handshake.client.initial_sequence + 1;
        if (!repeated && !answers) *entry = {};
    } else {
        const std::uint32_t place = place_of(key);
        entry = &entries_[place];
        for (std::uint32_t way = 0; way < ways; ++way) {
            Entry& candidate = entries_[place + way];
            if (!candidate.used) {
                entry = &candidate;
                break;
            }
            if (candidate.handshake.syn_ns < entry->handshake.syn_ns) entry = &candidate;
        }
        *entry = {};
    }
    Handshake& handshake = entry->handshake;
    if (!entry->used) {
        entry->used = true;
        entry->client_key = answer ? turned(key) : key;
        handshake.syn_ns = handshake.syn_ack_ns = segment.now_ns();
    }
    Handshake::Side& side = answer ? handshake.server : handshake.client;
    if (side.seen) {
        side.again = true;
        return;
    }
    const TcpOptions options = segment.options();
    side = {options.mss, options.window_scale, sequence, options.sack_permitted, true, false};
    (answer ? handshake.syn_ack_ns : handshake.syn_ns) = segment.now_ns();
}

void HandshakeTable::segment(const FlowKey& key, const Segment& segment) {
    if (segment.has(tcp_syn)) return open(key, segment);
    if (!segment.has(tcp_ack) || segment.has(tcp_rst)) return;
    bool forward = false;
    Entry* entry = entry_of(key, forward);
    if (entry == nullptr || !forward) return;
    Handshake& handshake = entry->handshake;
    if (handshake.acknowledged || !handshake.server.seen ||
        segment.tcp().acknowledgment != handshake.server.initial_sequence + 1)
        return;
    handshake.acknowledged = true;
    handshake.ack_ns = segment.now_ns();
}

}  // namespace metrics::stream
