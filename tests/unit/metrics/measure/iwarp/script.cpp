#include "script.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "wire/crc32c.h"
#include "wire/mpa.h"

namespace {
std::uint64_t made = 0;  ///< allocations of this program
}

void* operator new(std::size_t size) {
    ++made;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
// Inlined into a caller, GCC 12 takes free() for a mismatch.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace stream_test {

using namespace metrics;

namespace {

void put8(Octets& to, unsigned value) { to.push_back(static_cast<std::byte>(value & 0xff)); }
void put16(Octets& to, std::uint32_t value) {
    put8(to, value >> 8);
    put8(to, value);
}
void put32(Octets& to, std::uint32_t value) {
    put16(to, value >> 16);
    put16(to, value & 0xffff);
}
void put64(Octets& to, std::uint64_t value) {
    put32(to, static_cast<std::uint32_t>(value >> 32));
    put32(to, static_cast<std::uint32_t>(value));
}
Octets zeros(std::size_t count) { return Octets(count, std::byte{0}); }

std::uint32_t sum16(base::Bytes bytes, std::uint32_t sum) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/// Length, pad and CRC around a ULPDU. RFC 5044, 4.1.
Octets framed(const Octets& ulpdu) {
    Octets out;
    put16(out, static_cast<std::uint32_t>(ulpdu.size()));
    out.insert(out.end(), ulpdu.begin(), ulpdu.end());
    while (out.size() % 4 != 0) put8(out, 0);
    wire::Crc32c crc;
    crc.update(out);
    const std::array<std::byte, 4> value = wire::crc32c_octets(crc.value());
    out.insert(out.end(), value.begin(), value.end());
    return out;
}

Octets tagged(std::uint8_t opcode, std::uint32_t stag, std::uint64_t offset, std::size_t length, bool last) {
    Octets ulpdu;
    put8(ulpdu, last ? 0xc1 : 0x81);
    put8(ulpdu, 0x40u | opcode);
    put32(ulpdu, stag);
    put64(ulpdu, offset);
    return framed(ulpdu + zeros(length));
}

}  // namespace

Octets operator+(Octets one, const Octets& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

Octets mpa_start(bool request, std::optional<std::uint16_t> ird, std::optional<std::uint16_t> ord) {
    const auto& key = request ? wire::mpa_request_key : wire::mpa_reply_key;
    Octets out(key.begin(), key.end());
    const bool enhanced = ird && ord;
    put8(out, enhanced ? 0x50 : 0x40);  // C: CRCs; S: RFC 6581, 9
    put8(out, enhanced ? 2 : 1);
    put16(out, enhanced ? 4 : 0);
    if (enhanced) {
        put16(out, *ird);
        put16(out, *ord);
    }
    return out;
}

Octets fpdu(std::uint8_t opcode, const Octets& body, bool last, std::uint32_t queue, std::uint32_t msn,
            std::uint32_t offset) {
    Octets ulpdu;
    put8(ulpdu, last ? 0x41 : 0x01);
    put8(ulpdu, 0x40u | opcode);
    put32(ulpdu, 0);
    put32(ulpdu, queue);
    put32(ulpdu, msn);
    put32(ulpdu, offset);
    return framed(ulpdu + body);
}

Octets send_of(std::uint32_t msn, std::size_t length, bool last, std::uint32_t offset, std::uint8_t opcode) {
    return fpdu(opcode, zeros(length), last, 0, msn, offset);
}
Octets write_of(std::uint32_t stag, std::uint64_t offset, std::size_t length, bool last) {
    return tagged(0, stag, offset, length, last);
}
Octets read_response(std::uint32_t stag, std::uint64_t offset, std::size_t length, bool last) {
    return tagged(2, stag, offset, length, last);
}
Octets read_request(std::uint32_t msn, std::uint32_t size, std::uint64_t sink_offset) {
    Octets body;
    put32(body, 7);
    put64(body, sink_offset);
    put32(body, size);
    put32(body, 9);
    put64(body, 0);
    return fpdu(1, body, true, 1, msn, 0);
}
Octets atomic_request(std::uint32_t msn, bool swap, std::uint32_t id) {
    Octets body;
    put32(body, swap ? 2 : 0);
    put32(body, id);
    put32(body, 9);
    body = body + zeros(8 * 5);
    return fpdu(10, body, true, 1, msn, 0);
}
Octets atomic_response(std::uint32_t msn, std::uint32_t id) {
    Octets body;
    put32(body, id);
    put64(body, 0);
    return fpdu(11, body, true, 3, msn, 0);
}
Octets immediate(std::uint32_t msn) { return fpdu(8, zeros(8), true, 0, msn, 0); }
Octets terminate(std::uint8_t layer, std::uint8_t type, std::uint8_t code) {
    Octets body;
    put8(body, static_cast<unsigned>(layer << 4 | type));
    put8(body, code);
    put16(body, 0);
    return fpdu(7, body, true, 2, 1, 0);
}

struct Script::Feed : dissect::Sink {
    explicit Feed(Script& to) : script(to) {}
    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        const std::uint64_t before = made;
        if (dissection.has(dissect::LayerId::tcp)) script.tracker.on_segment(frame, dissection, {});
        script.allocations += made - before;
        if (script.also != nullptr) script.also->on_frame(frame, dissection);
    }
    void on_unit(const dissect::Unit& unit) override {
        const std::uint64_t before = made;
        script.tracker.on_unit(unit, {});
        script.allocations += made - before;
        if (script.also != nullptr) script.also->on_unit(unit);
    }
    void on_notice(const dissect::Notice& notice) override {
        const std::uint64_t before = made;
        script.tracker.on_notice(notice, {});
        script.allocations += made - before;
    }
    Script& script;
};

namespace {
EngineOptions options_of(std::size_t max_flows) {
    EngineOptions options;
    options.max_flows = max_flows;
    return options;
}
dissect::DissectorOptions small() {
    dissect::DissectorOptions options;
    options.find_repeats = false;
    options.max_streams = 64;
    return options;
}
}  // namespace

Script::Script(std::uint32_t client_isn, std::uint32_t server_isn, std::size_t max_flows)
    : store(options_of(max_flows)), tracker(store), dissector_(small()), isn_{client_isn, server_isn} {
    store.on_leave = [this](FlowIndex index) { tracker.forget(index); };
}

void Script::restart(std::uint32_t client_isn, std::uint32_t server_isn) {
    isn_[0] = client_isn;
    isn_[1] = server_isn;
    sent_[0] = sent_[1] = 0;
}

void Script::segment(bool client, std::int64_t offset, const Octets& payload, std::int64_t ack, const Extras& extras) {
    const unsigned side = client ? 0 : 1;
    Octets options;
    if (extras.mss) {
        put16(options, 0x0204);
        put16(options, *extras.mss);
    }
    if (extras.window_scale) {
        put8(options, 1);
        put16(options, 0x0303);
        put8(options, *extras.window_scale);
    }
    if (extras.timestamp) {
        put32(options, 0x0101080a);
        put32(options, *extras.timestamp);
        put32(options, 0);
    }
    if (!extras.sack.empty()) {
        put16(options, 0x0101);
        put8(options, 5);
        put8(options, static_cast<unsigned>(2 + 8 * extras.sack.size()));
        for (const auto& [left, right] : extras.sack) {
            put32(options, isn_[1 - side] + 1 + left);
            put32(options, isn_[1 - side] + 1 + right);
        }
    }
    Octets tcp;
    put16(tcp, client ? client_port : 7174u);
    put16(tcp, client ? 7174u : client_port);
    put32(tcp, isn_[side] + 1 + static_cast<std::uint32_t>(offset));
    put32(tcp, extras.no_ack ? 0 : isn_[1 - side] + 1 + static_cast<std::uint32_t>(ack));
    put8(tcp, static_cast<unsigned>((5 + options.size() / 4) << 4));
    put8(tcp, extras.flags | (extras.no_ack ? 0u : 0x10u));
    put16(tcp, extras.window);
    put32(tcp, 0);
    tcp = tcp + options + payload;
    Octets ip;
    const std::uint16_t identification = extras.identification ? *extras.identification : ++identification_[side];
    put16(ip, 0x4500u | extras.ecn);
    put16(ip, static_cast<std::uint32_t>(20 + tcp.size()));
    put16(ip, identification);
    put16(ip, 0x4000);
    put16(ip, 0x4006);
    put16(ip, 0);
    put32(ip, client ? 0xc0000201 : 0xc0000202);
    put32(ip, client ? 0xc0000202 : 0xc0000201);
    base::store_be16(ip.data() + 10, static_cast<std::uint16_t>(~sum16(ip, 0)));
    const std::uint32_t pseudo = sum16(base::Bytes{ip}.subspan(12, 8), static_cast<std::uint32_t>(6 + tcp.size()));
    const auto checksum = static_cast<std::uint16_t>(~sum16(tcp, pseudo));
    base::store_be16(tcp.data() + 16, extras.wrong_checksum ? static_cast<std::uint16_t>(checksum ^ 0x5555) : checksum);
    Octets frame = zeros(12);
    put16(frame, 0x0800);
    frame = frame + ip + tcp;
    wire::Frame seen;
    seen.bytes = base::Bytes{frame}.first(std::min(frame.size(), extras.snap_length));
    seen.wire_length = static_cast<std::uint32_t>(frame.size());
    seen.time_ns = now_ns;
    seen.number = ++frames;
    Feed feed{*this};
    dissector_.dissect(seen, feed);
    const auto extent = offset + static_cast<std::int64_t>(payload.size());
    if ((extras.flags & 2) == 0) sent_[side] = std::max(sent_[side], extent);
}

void Script::data(bool client, const Octets& payload, const Extras& extras) {
    segment(client, sent(client), payload, sent(!client), extras);
}

void Script::handshake(std::uint8_t scale) {
    Extras syn;
    syn.flags = 2;
    syn.mss = 1460;
    syn.window_scale = scale;
    Extras first = syn;
    first.no_ack = true;
    segment(true, -1, {}, 0, first);
    after_us(100);
    segment(false, -1, {}, 0, syn);
    after_us(100);
    segment(true, 0, {}, 0);
}

void Script::establish(std::uint8_t scale) {
    handshake(scale);
    after_us(100);
    data(true, mpa_start(true));
    after_us(100);
    data(false, mpa_start(false));
    after_us(100);
}

void Script::finish() {
    Feed feed{*this};
    dissector_.finish(feed);
}

FlowKey Script::key(bool client) const {
    FlowKey key;
    key.source.family = key.destination.family = wire::AddressFamily::ipv4;
    const std::array<std::uint8_t, 4> one{192, 0, 2, 1};
    const std::array<std::uint8_t, 4> two{192, 0, 2, 2};
    std::copy(one.begin(), one.end(), (client ? key.source : key.destination).octets.begin());
    std::copy(two.begin(), two.end(), (client ? key.destination : key.source).octets.begin());
    key.selector = client ? std::uint32_t{client_port} << 16 | 7174u : 7174u << 16 | client_port;
    key.transport = wire::Transport::iwarp;
    return key;
}

Flow* Script::flow(bool client) {
    const FlowKey wanted = key(client);
    const FlowIndex index = store.table.find(wanted, hash_of(wanted));
    return index == no_flow ? nullptr : &store.table[index];
}

FlowSnapshot Script::shown(bool client) {
    FlowSnapshot out;
    const FlowKey wanted = key(client);
    const FlowIndex index = store.table.find(wanted, hash_of(wanted));
    if (index == no_flow) return out;
    store.describe(index, out);
    tracker.describe(index, out);
    return out;
}

unsigned Script::flows() const {
    unsigned count = 0;
    for (FlowIndex index = 0; index < store.table.extent(); ++index) count += store.table[index].live;
    return count;
}

std::uint64_t Script::messages(bool client, Operation operation) {
    return store.count_of(*flow(client), operation).messages;
}
std::uint64_t Script::bytes(bool client, Operation operation) { return store.count_of(*flow(client), operation).bytes; }
Histogram Script::latency(bool client, Operation operation) {
    return shown(client).operations[index_of(operation)].latency_ns;
}
Histogram Script::histogram(bool client, FlowHistogram which) { return store.unpack(*flow(client), which); }

const EventSummaryRow* Script::find_event_summary(bool client, EventKind kind) {
    for (std::uint32_t row = flow(client)->event_summaries; row != Flow::no_block; row = store.rows[row].next)
        if (store.rows[row].kind == kind) return &store.rows[row];
    return nullptr;
}
std::uint64_t Script::count(bool client, EventKind kind) {
    const EventSummaryRow* row = find_event_summary(client, kind);
    return row == nullptr ? 0 : row->count;
}
std::uint64_t Script::first_frame(bool client, EventKind kind) {
    const EventSummaryRow* row = find_event_summary(client, kind);
    return row == nullptr ? 0 : row->frames[0];
}
std::uint64_t Script::value_max(bool client, EventKind kind) {
    const EventSummaryRow* row = find_event_summary(client, kind);
    return row == nullptr ? 0 : row->value_max;
}

}  // namespace stream_test
