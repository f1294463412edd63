// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/fields.h"

namespace plugins::wireshark {

namespace {

struct Row {
    FieldId field;
    const char* name;
    const char* label;
    ftenum type;
    const char* help;
    ft_framenum_type_t link = FT_FRAMENUM_NONE;
};
using F = FieldId;

constexpr Row rows[] = {
    {F::flow, "rdma.flow", "Flow", FT_UINT64,
     "One direction of a queue pair's conversation, by the number of the first frame in which it was seen"},
    {F::flow_reverse, "rdma.flow.reverse", "Reverse flow", FT_UINT64, "The paired flow of the opposite direction"},
    {F::flow_source, "rdma.flow.source", "From", FT_STRING, "The flow's sender: its address and QP number or port"},
    {F::flow_destination, "rdma.flow.destination", "To", FT_STRING,
     "The flow's receiver: its address and QP number or port"},
    {F::flow_vantage, "rdma.flow.vantage", "Captured near", FT_STRING,
     "Where the frames were taken, seen from the flow's sender: sender, receiver, mid_path or unknown"},
    {F::message, "rdma.message", "Message", FT_STRING, "A message that this frame completes"},
    {F::message_number, "rdma.message.number", "Number", FT_UINT64, "Of the flow's messages, from 1"},
    {F::message_operation, "rdma.message.operation", "Operation", FT_STRING, "What the work request asked for"},
    {F::message_bytes, "rdma.message.bytes", "Length", FT_UINT64, "Bytes of the message, or those a READ asks for"},
    {F::message_first_frame, "rdma.message.first_frame", "Begins in frame", FT_FRAMENUM,
     "The frame that held the message's first byte"},
    {F::message_latency, "rdma.message.latency", "Latency", FT_RELATIVE_TIME,
     "SEND, WRITE: last packet to acknowledgement; READ, atomics: request to last response packet"},
    {F::response_in, "rdma.response_in", "Answered in frame", FT_FRAMENUM,
     "The frame that acknowledges the message or completes its response", FT_FRAMENUM_RESPONSE},
    {F::answer, "rdma.answer", "Answers", FT_STRING, "A message of the reverse flow that this frame answers"},
    {F::request_in, "rdma.request_in", "Request in frame", FT_FRAMENUM,
     "The frame that completed the message, or asked for the READ or atomic", FT_FRAMENUM_REQUEST},
    {F::response_time, "rdma.response_time", "Response time", FT_RELATIVE_TIME,
     "The latency of the message that this frame answers"},
    {F::retransmission_of, "rdma.retransmission_of", "Retransmission of frame", FT_FRAMENUM,
     "The frame that carried the same before", FT_FRAMENUM_RETRANS_PREV},
    {F::recovery, "rdma.recovery", "Recovery", FT_STRING, "The frame begins to repair a loss"},
    {F::recovery_cause, "rdma.recovery.cause", "Cause", FT_STRING,
     "What made the sender transmit again: NAK, missing response, duplicate ACKs or SACK, timeout"},
    {F::recovery_nak_generation, "rdma.recovery.nak_generation", "NAK generation", FT_RELATIVE_TIME,
     "First packet out of sequence to NAK (iWARP: to duplicate ACK); only where the loss was before the capture"},
    {F::recovery_nak_reaction, "rdma.recovery.nak_reaction", "NAK reaction", FT_RELATIVE_TIME,
     "NAK (iWARP: duplicate ACK) to retransmission"},
    {F::recovery_total, "rdma.recovery.total", "Total", FT_RELATIVE_TIME,
     "Lost packet, or where it was not captured the first one out of sequence, to its retransmission"},
    {F::recovery_lost_frame, "rdma.recovery.lost_frame", "Lost frame", FT_FRAMENUM,
     "The frame that carried the lost packet, if the loss was after the capture point"},
    {F::recovery_first_out_of_sequence_frame, "rdma.recovery.first_out_of_sequence_frame",
     "First out of sequence in frame", FT_FRAMENUM,
     "The first packet (of a READ: response) past the one that was lost"},
    {F::recovery_nak_frame, "rdma.recovery.nak_frame", "NAK in frame", FT_FRAMENUM,
     "The NAK, or the first duplicate ACK, that made the sender transmit again", FT_FRAMENUM_DUP_ACK},
    {F::wire_time, "rdma.wire_time", "On the wire", FT_RELATIVE_TIME,
     "What the packet itself took of the time since the flow's last data packet"},
    {F::outstanding_messages, "rdma.outstanding.messages", "Outstanding messages", FT_UINT64,
     "Of the flow, after this frame"},
    {F::outstanding_bytes, "rdma.outstanding.bytes", "Outstanding bytes", FT_UINT64, "Of the flow, after this frame"},
    {F::gap_state, "rdma.gap.state", "Waited for", FT_STRING,
     "Where the time before this frame went: the state that it is attributed to"},
    {F::gap_time, "rdma.gap.time", "Waited", FT_RELATIVE_TIME,
     "The time before this frame that is attributed to the state"},
    {F::event, "rdma.event", "Event", FT_STRING, "What happened at this frame, as the figures name it"},
    {F::event_flow, "rdma.event.flow", "Of flow", FT_UINT64, "Whom it happened to"},
};
static_assert(std::size(rows) == static_cast<std::size_t>(F::count));

bool is_decimal(ftenum type) { return type == FT_UINT64; }

}  // namespace

void Fields::register_fields(int protocol) {
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        const Row& row = rows[i];
        const void* link = row.link == FT_FRAMENUM_NONE ? nullptr : FRAMENUM_TYPE(row.link);
        registrations_[i] = {
            &ids_[static_cast<std::size_t>(row.field)],
            {row.label, row.name, row.type, is_decimal(row.type) ? BASE_DEC : BASE_NONE, link, 0, row.help, HFILL}};
    }
    proto_register_field_array(protocol, registrations_.data(), static_cast<int>(registrations_.size()));
}

}  // namespace plugins::wireshark
