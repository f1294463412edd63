// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/events.h"

#include <fmt/core.h>

#include "base/quantities.h"
#include "wire/terminate.h"

namespace plugins::wireshark {

using metrics::EventKind;

namespace {

enum class Form : std::uint8_t { flag, count, octets, time, nak, number, difference, terminate };

struct EventRow {
    EventKind kind;
    const char* name;
    const char* label;
    Form form;
    int group;
    int severity;
    const char* summary;  ///< of Expert Information; the value stands after it
    bool in_info_column;
};
using E = EventKind;

// In the order of EventKind. Errors end a connection or break the specification, warnings cost throughput, notes
// explain, chats report the connection's life.
constexpr EventRow event_rows[] = {
    {E::retransmission, "rdma.retransmission.first", "First of what is transmitted again", Form::flag, PI_SEQUENCE,
     PI_WARN, "The sender begins to transmit again", false},
    {E::gap, "rdma.missing", "Missing before this one", Form::count, PI_SEQUENCE, PI_WARN,
     "Packets before this one were not captured: lost before the tap, or not seen by it", true},
    {E::duplicate, "rdma.duplicate", "Duplicate", Form::flag, PI_SEQUENCE, PI_NOTE, "The network doubled the packet",
     true},
    {E::reordered, "rdma.out_of_order", "Out of order, packets late", Form::count, PI_SEQUENCE, PI_WARN,
     "The network reordered the packet", true},
    {E::nak, "rdma.nak", "NAK", Form::nak, PI_RESPONSE_CODE, PI_WARN, "Negative acknowledgement", true},
    {E::rnr_nak, "rdma.rnr_nak", "RNR NAK, time to wait", Form::time, PI_RESPONSE_CODE, PI_WARN,
     "Receiver not ready: no receive was posted, the sender has to wait", true},
    {E::timeout, "rdma.timeout", "Retransmission timeout after", Form::time, PI_SEQUENCE, PI_WARN,
     "Only a timer explains this retransmission", true},
    {E::ce_mark, "rdma.ce", "Congestion experienced", Form::flag, PI_SEQUENCE, PI_NOTE,
     "A switch marked the packet: congestion experienced (ECN CE)", true},
    {E::cnp, "rdma.cnp", "Congestion notification", Form::flag, PI_RESPONSE_CODE, PI_NOTE,
     "The receiver tells the sender of congestion (CNP): it has to slow down", true},
    {E::pause, "rdma.pause", "PAUSE, quanta", Form::count, PI_SEQUENCE, PI_NOTE, "The link was paused", true},
    {E::zero_window, "rdma.zero_window", "Zero window", Form::flag, PI_SEQUENCE, PI_WARN,
     "The TCP receiver has no buffer left", true},
    {E::icrc_bad, "rdma.icrc_bad", "ICRC bad", Form::flag, PI_CHECKSUM, PI_ERROR,
     "The invariant CRC is wrong: the packet was damaged", true},
    {E::crc_bad, "rdma.crc_bad", "MPA CRC bad", Form::flag, PI_CHECKSUM, PI_ERROR,
     "The MPA CRC is wrong: the FPDU was damaged", true},
    {E::terminate, "rdma.terminate", "Terminate", Form::terminate, PI_RESPONSE_CODE, PI_ERROR,
     "The stream was terminated because of an error", true},
    {E::credit_exhausted, "rdma.credit_exhausted", "Credits exhausted", Form::flag, PI_SEQUENCE, PI_NOTE,
     "The receiver announced no more credits: the sender may send one message only", true},
    {E::long_gap, "rdma.long_gap", "Longest silence of its kind", Form::time, PI_SEQUENCE, PI_CHAT,
     "The longest silence so far that is attributed to this state", false},
    {E::ack_unseen, "rdma.ack_unseen", "Acknowledges what was not captured", Form::flag, PI_SEQUENCE, PI_WARN,
     "Packets are acknowledged that the capture does not hold", true},
    {E::connect_request, "rdma.connect_request", "Connection requested", Form::flag, PI_REQUEST_CODE, PI_CHAT,
     "Connection requested", false},
    {E::connect_reply, "rdma.connect_reply", "Connection answered", Form::flag, PI_RESPONSE_CODE, PI_CHAT,
     "Connection request answered", false},
    {E::established, "rdma.established", "Connection established", Form::flag, PI_SEQUENCE, PI_CHAT,
     "Connection established", false},
    {E::rejected, "rdma.rejected", "Connection rejected, reason", Form::number, PI_RESPONSE_CODE, PI_WARN,
     "Connection rejected", true},
    {E::disconnected, "rdma.disconnected", "Disconnected", Form::flag, PI_SEQUENCE, PI_CHAT, "Disconnected", false},
    {E::reset, "rdma.reset", "Connection reset", Form::flag, PI_SEQUENCE, PI_WARN, "The TCP connection was reset",
     true},
    {E::go_back_wrong_start, "rdma.go_back_wrong_start", "Went back to a wrong PSN, off by", Form::difference,
     PI_PROTOCOL, PI_ERROR, "The sender went back to another PSN than it was asked for", true},
    {E::go_back_incomplete, "rdma.go_back_incomplete", "Went back, packets left out", Form::count, PI_PROTOCOL,
     PI_ERROR, "The sender did not repeat all that followed the lost packet", true},
    {E::nak_wrong_psn, "rdma.nak_wrong_psn", "NAK of a wrong PSN, off by", Form::difference, PI_PROTOCOL, PI_ERROR,
     "The NAK names another PSN than that of the first missing packet", true},
    {E::nak_missing, "rdma.nak_missing", "No NAK, packets that went by", Form::count, PI_PROTOCOL, PI_WARN,
     "The receiver saw a hole and sent no NAK", true},
    {E::read_restart_wrong, "rdma.read_restart_wrong", "READ repeated from a wrong place, off by", Form::difference,
     PI_PROTOCOL, PI_ERROR, "A repeated READ request does not begin at the first missing response", true},
    {E::icmp_error, "rdma.icmp_error", "ICMP error", Form::flag, PI_RESPONSE_CODE, PI_WARN,
     "A host or router could not deliver a packet of the flow", true},
};
static_assert(std::size(event_rows) == metrics::event_kind_count);

const EventRow& row_of(EventKind kind) { return event_rows[static_cast<std::size_t>(kind)]; }

ftenum type_of(Form form) {
    switch (form) {
        case Form::flag: return FT_BOOLEAN;
        case Form::time: return FT_RELATIVE_TIME;
        case Form::nak:
        case Form::terminate: return FT_STRING;
        case Form::difference: return FT_INT64;
        default: return FT_UINT64;
    }
}

std::string nak_text(std::uint64_t code) {
    return std::string(code < metrics::nak_code_count ? metrics::nak_code_names[code] : "other");
}

/// "DDP, error type 1, code 0x02" in the specification's words. RFC 5040, 4.8.
std::string terminate_text(std::uint64_t value) {
    const auto layer = static_cast<std::uint8_t>(value >> 12 & 0xf);
    const auto type = static_cast<std::uint8_t>(value >> 8 & 0xf);
    const auto code = static_cast<std::uint8_t>(value & 0xff);
    constexpr std::string_view layers[] = {"RDMA", "DDP", "LLP"};
    const std::string_view meaning = wire::terminate_code_name(layer, type, code);
    std::string text = layer < std::size(layers) ? std::string(layers[layer]) : fmt::format("layer {}", layer);
    text += fmt::format(", error type {}, code {:#04x}", type, code);
    return meaning.empty() ? text : text + ": " + std::string(meaning);
}

std::string value_text(Form form, std::uint64_t value) {
    switch (form) {
        case Form::flag: return {};
        case Form::count:
        case Form::octets:
        case Form::number: return base::group_digits(value);
        case Form::difference: return fmt::format("{}", static_cast<std::int64_t>(value));
        case Form::time: return base::format_duration(value);
        case Form::nak: return nak_text(value);
        case Form::terminate: return terminate_text(value);
    }
    return {};
}

}  // namespace

Events::Events() {
    ids_.fill(-1);
    experts_.fill(EI_INIT);
}

void Events::register_fields(int protocol) {
    for (std::size_t i = 0; i < std::size(event_rows); ++i) {
        const EventRow& row = event_rows[i];
        const ftenum type = type_of(row.form);
        const bool number = type == FT_UINT64 || type == FT_INT64;
        registrations_[i] = {
            &ids_[i], {row.label, row.name, type, number ? BASE_DEC : BASE_NONE, nullptr, 0, row.summary, HFILL}};
        const bool of_run = row.kind == E::retransmission;
        expert_names_[i] =
            of_run ? "rdma.expert.retransmission_run" : fmt::format("rdma.expert.{}", metrics::name_of(row.kind));
        expert_registrations_[i] = {&experts_[i],
                                    {expert_names_[i].c_str(), row.group, row.severity, row.summary, EXPFILL}};
    }
    constexpr const char* again = "The packet was transmitted again, whether or not it was captured before";
    registrations_.back() = {
        &again_id_, {"Retransmission", "rdma.retransmission", FT_BOOLEAN, BASE_NONE, nullptr, 0, again, HFILL}};
    expert_registrations_.back() = {&again_expert_,
                                    {"rdma.expert.retransmission", PI_SEQUENCE, PI_NOTE, "Retransmission", EXPFILL}};
    proto_register_field_array(protocol, registrations_.data(), static_cast<int>(registrations_.size()));
    expert_register_field_array(expert_register_protocol(protocol), expert_registrations_.data(),
                                static_cast<int>(expert_registrations_.size()));
}

void Events::show(const metrics::FrameNote::Event& event, proto_tree* tree, proto_item* item, tvbuff_t* tvb,
                  packet_info* pinfo) const {
    const EventRow& row = row_of(event.kind);
    const int id = ids_[static_cast<std::size_t>(event.kind)];
    const std::string text = value_text(row.form, event.value);
    proto_item* value = nullptr;
    switch (type_of(row.form)) {
        case FT_BOOLEAN: value = proto_tree_add_boolean(tree, id, tvb, 0, 0, 1); break;
        case FT_STRING: value = proto_tree_add_string(tree, id, tvb, 0, 0, text.c_str()); break;
        case FT_INT64: value = proto_tree_add_int64(tree, id, tvb, 0, 0, static_cast<std::int64_t>(event.value)); break;
        case FT_RELATIVE_TIME: {
            constexpr std::uint64_t second = 1'000'000'000;
            const nstime_t time{static_cast<time_t>(event.value / second), static_cast<int>(event.value % second)};
            value = proto_tree_add_time(tree, id, tvb, 0, 0, &time);
            break;
        }
        default: value = proto_tree_add_uint64(tree, id, tvb, 0, 0, event.value);
    }
    proto_item_set_generated(value);
    expert_field expert = experts_[static_cast<std::size_t>(event.kind)];
    // Wireshark counts items of one text together: what varies without end stands in the field alone.
    if (row.form == Form::nak || row.form == Form::terminate)
        expert_add_info_format(pinfo, item, &expert, "%s: %s", row.summary, text.c_str());
    else
        expert_add_info(pinfo, item, &expert);
}

void Events::show_retransmission(proto_tree* tree, tvbuff_t* tvb, packet_info* pinfo) const {
    proto_item* item = proto_tree_add_boolean(tree, again_id_, tvb, 0, 0, 1);
    proto_item_set_generated(item);
    expert_field expert = again_expert_;
    expert_add_info(pinfo, item, &expert);
}

std::string Events::brief(const metrics::FrameNote::Event& event) {
    const EventRow& row = row_of(event.kind);
    if (!row.in_info_column) return {};
    const std::string text = value_text(row.form, event.value);
    return text.empty() ? std::string(row.label) : fmt::format("{}: {}", row.label, text);
}

}  // namespace plugins::wireshark
