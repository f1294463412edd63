#include "metrics/measure/iwarp/handshake_table.h"

#include <algorithm>
#include <utility>

#include "metrics/measure/flow/flow_table.h"

namespace metrics::inline measure::iwarp {

namespace {

constexpr std::size_t fewest = 2048;
constexpr std::size_t bound = std::size_t{1} << 16;
/// MPA's start frames follow the handshake: a connection without them for this time will hardly have any.
constexpr std::uint64_t handshake_patience_ns = 60'000'000'000;

}  // namespace

struct HandshakeTable::Entry {
    FlowKey client_key;  ///< of the direction from the client
    Handshake handshake;
    std::uint32_t next = none;  ///< in its bucket
    std::uint32_t older = none;
    std::uint32_t newer = none;
    bool taken_by_client = false;  ///< the client's flow knows it; so for the server's
    bool taken_by_server = false;
    bool spent = false;
};

HandshakeTable::HandshakeTable(std::size_t max_flows)
    : most_(std::clamp(max_flows, fewest, bound)), entries_(fewest), buckets_(fewest, none) {}
HandshakeTable::~HandshakeTable() = default;
std::size_t HandshakeTable::octets() const {
    return entries_.capacity() * sizeof(Entry) + buckets_.capacity() * sizeof(std::uint32_t);
}

/// The same for both directions.
std::uint32_t& HandshakeTable::bucket_of(const FlowKey& key) {
    return buckets_[(hash_of(key) ^ hash_of(key.reversed())) % buckets_.size()];
}

HandshakeTable::Entry* HandshakeTable::entry_of(const FlowKey& key, bool& forward) {
    const FlowKey backward = key.reversed();
    for (std::uint32_t place = bucket_of(key); place != none; place = entries_[place].next) {
        Entry& entry = entries_[place];
        forward = entry.client_key == key;
        if (forward || entry.client_key == backward) return &entry;
    }
    return nullptr;
}

const Handshake* HandshakeTable::take(const FlowKey& key, bool& by_client) {
    Entry* const entry = entry_of(key, by_client);
    if (entry == nullptr) return nullptr;
    (by_client ? entry->taken_by_client : entry->taken_by_server) = true;
    if (entry->taken_by_client && entry->taken_by_server) spend(*entry);
    return &entry->handshake;
}

void HandshakeTable::forget(const FlowKey& key) {
    bool forward = false;
    Entry* const entry = entry_of(key, forward);
    if (entry == nullptr) return;
    entry->handshake = {};
    spend(*entry);
}

void HandshakeTable::append(Entry& entry, bool spent) {
    const auto place = static_cast<std::uint32_t>(&entry - entries_.data());
    Order& order = spent ? spent_ : waiting_;
    entry.spent = spent;
    entry.older = order.newest;
    entry.newer = none;
    (order.newest == none ? order.oldest : entries_[order.newest].newer) = place;
    order.newest = place;
}

void HandshakeTable::take_out(Entry& entry) {
    Order& order = entry.spent ? spent_ : waiting_;
    (entry.older == none ? order.oldest : entries_[entry.older].newer) = entry.newer;
    (entry.newer == none ? order.newest : entries_[entry.newer].older) = entry.older;
}

void HandshakeTable::spend(Entry& entry) {
    if (entry.spent) return;
    take_out(entry);
    append(entry, true);
}

void HandshakeTable::enter(Entry& entry, const FlowKey& client_key) {
    entry = {};
    entry.client_key = client_key;
    std::uint32_t& bucket = bucket_of(client_key);
    entry.next = bucket;
    bucket = static_cast<std::uint32_t>(&entry - entries_.data());
    append(entry, false);
}

void HandshakeTable::leave(Entry& entry) {
    const auto place = static_cast<std::uint32_t>(&entry - entries_.data());
    std::uint32_t* link = &bucket_of(entry.client_key);
    while (*link != place) link = &entries_[*link].next;
    *link = entry.next;
    take_out(entry);
}

void HandshakeTable::grow() {
    entries_.resize(std::min(entries_.size() * 2, most_));
    buckets_.assign(entries_.size(), none);
    for (std::uint32_t place = 0; place < used_; ++place) {
        std::uint32_t& bucket = bucket_of(entries_[place].client_key);
        entries_[place].next = std::exchange(bucket, place);
    }
}

/// A place for another connection; nullptr where that is worth less than any that is known: of an answer to a SYN that
/// was not captured, little can be learnt.
HandshakeTable::Entry* HandshakeTable::make_room(bool answer, std::int64_t now_ns) {
    if (used_ == entries_.size()) {
        std::uint32_t gives_way = spent_.oldest;
        if (gives_way == none && elapsed(entries_[waiting_.oldest].handshake.syn_ns, now_ns) > handshake_patience_ns)
            gives_way = waiting_.oldest;
        if (gives_way == none && entries_.size() >= most_) {
            if (answer) return nullptr;
            gives_way = waiting_.oldest;
        }
        if (gives_way != none) {
            leave(entries_[gives_way]);
            return &entries_[gives_way];
        }
        grow();
    }
    return &entries_[used_++];
}

void HandshakeTable::open(const FlowKey& key, const Segment& segment) {
    const bool answer = segment.has(tcp_ack);
    bool forward = false;
    Entry* entry = entry_of(key, forward);
    const std::uint32_t sequence = segment.tcp().sequence;
    const auto begin = [&](Entry& fresh) {
        enter(fresh, answer ? key.reversed() : key);
        fresh.handshake.syn_ns = fresh.handshake.syn_ack_ns = segment.now_ns();
    };
    if (entry != nullptr) {
        // A SYN seen before, or the answer to the one seen; anything else is another connection.
        const Handshake::Side& side = forward ? entry->handshake.client : entry->handshake.server;
        const bool complete = !answer && entry->handshake.acknowledged;
        const bool repeated = !complete && forward != answer && side.seen && side.initial_sequence == sequence;
        const bool answers = answer && !forward && !side.seen &&
                             segment.tcp().acknowledgment == entry->handshake.client.initial_sequence + 1;
        if (!repeated && !answers) {
            leave(*entry);
            begin(*entry);
        }
    } else {
        entry = make_room(answer, segment.now_ns());
        if (entry == nullptr) return;
        begin(*entry);
    }
    Handshake& handshake = entry->handshake;
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
    bool forward = false;
    Entry* entry = entry_of(key, forward);
    if (entry == nullptr) return;
    if (segment.has(tcp_fin) || segment.has(tcp_rst)) spend(*entry);
    if (!segment.has(tcp_ack) || segment.has(tcp_rst) || !forward) return;
    Handshake& handshake = entry->handshake;
    if (handshake.acknowledged || !handshake.server.seen ||
        segment.tcp().acknowledgment != handshake.server.initial_sequence + 1)
        return;
    handshake.acknowledged = true;
    handshake.ack_ns = segment.now_ns();
}

}  // namespace metrics::measure::iwarp
