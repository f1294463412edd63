#include "script.h"

namespace roce_test {

using namespace metrics;

namespace {

EngineOptions options() {
    EngineOptions out;
    out.max_flows = 16;
    return out;
}

FlowKey key(std::uint8_t from, std::uint8_t to, std::uint32_t qpn, Service service) {
    FlowKey out;
    out.source.family = out.destination.family = wire::AddressFamily::ipv4;
    out.source.octets[0] = from;
    out.destination.octets[0] = to;
    out.selector = qpn;
    out.service = service;
    return out;
}

}  // namespace

Script::Script(std::uint32_t first_psn, Service service)
    : store(options()), tracker(store, nullptr), first_psn_(first_psn) {
    const FlowKey there = key(1, 2, 0x22, service);
    const FlowKey back = key(2, 1, 0x11, service);
    forward_ = store.obtain(there, hash_of(there), 1, now_ns);
    backward_ = store.obtain(back, hash_of(back), 2, now_ns);
    store.pair(forward_, backward_, PairingMethod::cm, 1);
}

PacketRecord Script::record(FlowIndex flow, std::int64_t index, std::uint8_t opcode) {
    now_ns += 1000;
    PacketRecord out;
    out.flow = flow;
    out.key = store.table[flow].key;
    out.hash = hash_of(out.key);
    out.time_ns = now_ns;
    out.frame = ++frames_;
    out.psn = (first_psn_ + static_cast<std::uint32_t>(index)) & 0xffffff;
    out.opcode = opcode;
    out.hop_limit = hop_limit;
    out.path_key = metrics::PathKey(entropy, hop_limit);
    out.wire_length = 58;
    out.overhead = ethernet_overhead;
    if (direction != wire::Direction::unknown)
        out.direction = flow == forward_                         ? direction
                        : direction == wire::Direction::outbound ? wire::Direction::inbound
                                                                 : wire::Direction::outbound;
    return out;
}

void Script::request(std::int64_t index, std::uint8_t opcode, std::uint32_t length) {
    PacketRecord out = record(forward_, index, opcode);
    out.payload_length = length;
    out.wire_length += length;
    out.identification = identification;
    if (identification != 0) ++identification;
    tracker.on_packet(out);
}

void Script::requests(std::int64_t first, std::int64_t last) {
    for (std::int64_t index = first; index <= last; ++index) request(index);
}

void Script::read(std::int64_t index, std::uint32_t length) {
    PacketRecord out = record(forward_, index, read_request);
    out.dma_length = length;
    out.has_remote_key = true;
    tracker.on_packet(out);
}

void Script::cut_read(std::int64_t index) { tracker.on_packet(record(forward_, index, read_request)); }

void Script::begin_write(std::int64_t index, std::uint32_t length, std::uint8_t opcode) {
    PacketRecord out = record(forward_, index, opcode);
    out.dma_length = length;
    out.has_remote_key = true;
    out.payload_length = 1024;
    tracker.on_packet(out);
}

void Script::damaged(std::int64_t index) {
    PacketRecord out = record(forward_, index, write_only);
    out.crc_bad = true;
    tracker.on_packet(out);
}

void Script::answer(std::int64_t index, std::uint8_t opcode, std::uint8_t syndrome, std::uint32_t length) {
    PacketRecord out = record(backward_, index, opcode);
    out.syndrome = syndrome;
    out.payload_length = length;
    tracker.on_packet(out);
}

FlowSnapshot Script::shown() const {
    FlowSnapshot out;
    store.describe(forward_, out);
    return out;
}

}  // namespace roce_test
