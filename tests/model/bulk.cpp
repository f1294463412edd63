#include "tests/model/bulk.h"

#include "wire/aeth.h"

namespace model {

std::optional<BulkKind> bulk_kind(std::string_view name) {
    constexpr std::string_view names[] = {"roce-1k", "roce-64", "iwarp-64", "iwarp-1420"};
    for (std::size_t i = 0; i < std::size(names); ++i)
        if (names[i] == name) return static_cast<BulkKind>(i);
    return std::nullopt;
}

BulkTraffic::BulkTraffic(BulkKind kind, std::uint32_t pairs, std::uint32_t flows, bool checked)
    : kind_(kind), pairs_(pairs), checked_(checked), conversations_(std::size_t{pairs} * flows) {
    for (std::uint32_t i = 0; i < conversations_.size(); ++i) conversations_[i].psn = i * 7919 + 1;
}

void BulkTraffic::turn() {
    conversations_[at_].step = 0;
    conversations_[at_].open = true;
    if (++at_ == conversations_.size()) at_ = 0;
}

const support::KeptFrame& BulkTraffic::next() {
    Conversation& conversation = conversations_[at_];
    const auto number = static_cast<std::uint32_t>(at_);
    if (kind_ == BulkKind::roce_1k || kind_ == BulkKind::roce_64)
        roce(conversation, number);
    else
        iwarp(conversation, number);
    now_ns_ += 100;
    return frame_;
}

void BulkTraffic::roce(Conversation& conversation, std::uint32_t number) {
    const bool large = kind_ == BulkKind::roce_1k;
    const std::uint32_t packets = large ? 16 : 4;
    Packet packet;
    packet.source_host = number % pairs_ * 2;
    packet.destination_host = packet.source_host + 1;
    packet.source_port = static_cast<std::uint16_t>(0xc000 | (number & 0x3fff));
    if (conversation.step < packets) {
        packet.destination_qp = 0x1000 + number / pairs_;
        packet.opcode = large ? opcode_of(metrics::Operation::write, conversation.step, packets)
                              : opcode_of(metrics::Operation::send, 0, 1);
        packet.payload = large ? 1024 : 64;
        packet.virtual_address = 0x7f0000000000 + std::uint64_t{number} * 65536;
        packet.dma_length = packets * 1024;
        packet.wire_psn = conversation.psn++ & 0xffffff;
        packet.ack_request = ++conversation.step == packets;
        conversation.messages += large ? (packet.ack_request ? 1u : 0u) : 1u;
        frame_ = emit(packet, Framing::roce2_ipv4, now_ns_, checked_);
        return;
    }
    std::swap(packet.source_host, packet.destination_host);
    packet.destination_qp = 0x2000 + number / pairs_;
    packet.opcode = opcode_acknowledge;
    packet.syndrome = wire::no_credit_limit;
    packet.msn = conversation.messages;
    packet.wire_psn = (conversation.psn - 1) & 0xffffff;
    frame_ = emit(packet, Framing::roce2_ipv4, now_ns_, checked_);
    turn();
}

void BulkTraffic::iwarp(Conversation& conversation, std::uint32_t number) {
    constexpr std::uint32_t server_start = 0x5000'0000;
    const std::uint32_t bytes = kind_ == BulkKind::iwarp_64 ? 64 : 1420;
    const std::uint32_t packets = kind_ == BulkKind::iwarp_64 ? 4 : 2;
    Segment out;
    out.source_host = number % pairs_ * 2;
    out.destination_host = out.source_host + 1;
    out.source_port = static_cast<std::uint16_t>(1024 + number / pairs_);
    out.destination_port = 4420;
    out.sequence = conversation.psn;
    out.acknowledgment = server_start + 1 + 20;
    Segment back = out;
    std::swap(back.source_host, back.destination_host);
    std::swap(back.source_port, back.destination_port);
    std::swap(back.sequence, back.acknowledgment);
    const std::uint32_t set_up = conversation.open ? 0 : 5;
    const std::uint32_t step = conversation.step++;
    const Segment* next = &out;
    if (step < set_up) {
        switch (step) {
            case 0: out.syn = true, out.ack = false, out.acknowledgment = 0, ++conversation.psn; break;
            case 1: back.syn = true, back.sequence = server_start, next = &back; break;
            case 2: out.acknowledgment = server_start + 1; break;
            case 3:
                out.acknowledgment = server_start + 1;
                out.octets = mpa_start(false);
                conversation.psn += 20;
                break;
            default: back.sequence = server_start + 1, back.octets = mpa_start(true), next = &back; break;
        }
    } else if (step < set_up + packets) {
        out.octets = fpdu(metrics::Operation::write, bytes, 0, std::uint64_t{conversation.messages++} * bytes, 0, true);
        conversation.psn += static_cast<std::uint32_t>(out.octets.size());
    } else {
        next = &back;
    }
    frame_ = emit(*next, now_ns_);
    if (next == &back && step >= set_up) turn();
}

}  // namespace model
