#include "dissect/output/analysis_fields.h"

#include <array>
#include <cstddef>

namespace dissect::output {

namespace {

using wire::FieldInfo;
using wire::Kind;

constexpr FieldInfo of_analysis(std::string_view name, std::string_view label, Kind kind) {
    return {name, label, 0, 0, kind};
}

constexpr FieldInfo with_words(std::string_view name, std::string_view label, std::span<const wire::ValueName> words) {
    return {name, label, 0, 0, Kind::string, wire::Base::dec, false, words};
}

// The words of the figures, which lie above this folder; tests compare them.
constexpr wire::ValueName message_words[] = {{0, "send"},      {1, "send_immediate"},  {2, "send_invalidate"},
                                             {3, "write"},     {4, "write_immediate"}, {5, "read"},
                                             {6, "fetch_add"}, {7, "compare_swap"}};
constexpr wire::ValueName nak_words[] = {{0, "psn_sequence_error"},  {1, "invalid_request"},
                                         {2, "remote_access_error"}, {3, "remote_operational_error"},
                                         {4, "invalid_rd_request"},  {5, "other"}};
constexpr wire::ValueName cause_words[] = {
    {0, "NAK"}, {1, "missing response"}, {2, "duplicate ACKs or SACK"}, {3, "timeout"}};
constexpr wire::ValueName state_words[] = {{0, "unobserved"},
                                           {1, "transmit_new"},
                                           {2, "transmit_again"},
                                           {3, "rnr_wait"},
                                           {4, "recover_nak"},
                                           {5, "recover_timeout"},
                                           {6, "read_window"},
                                           {7, "credit"},
                                           {8, "ack_window"},
                                           {9, "link_shared"},
                                           {10, "congestion_paced"},
                                           {11, "nic_stall"},
                                           {12, "application_in_flight"},
                                           {13, "peer_wait"},
                                           {14, "application_idle"}};
constexpr wire::ValueName event_words[] = {{0, "retransmission"},
                                           {1, "gap"},
                                           {2, "duplicate"},
                                           {3, "reordered"},
                                           {4, "nak"},
                                           {5, "rnr_nak"},
                                           {6, "timeout"},
                                           {7, "ce_mark"},
                                           {8, "cnp"},
                                           {9, "pause"},
                                           {10, "zero_window"},
                                           {11, "icrc_bad"},
                                           {12, "crc_bad"},
                                           {13, "terminate"},
                                           {14, "credit_exhausted"},
                                           {15, "long_gap"},
                                           {16, "ack_unseen"},
                                           {17, "connect_request"},
                                           {18, "connect_reply"},
                                           {19, "established"},
                                           {20, "rejected"},
                                           {21, "disconnected"},
                                           {22, "reset"},
                                           {23, "go_back_wrong_start"},
                                           {24, "go_back_incomplete"},
                                           {25, "nak_wrong_psn"},
                                           {26, "nak_missing"},
                                           {27, "read_restart_wrong"},
                                           {28, "icmp_error"}};

constexpr std::array analysis_table{
    of_analysis("rdma.flow", "Flow", Kind::uint64),
    of_analysis("rdma.flow.reverse", "Reverse flow", Kind::uint64),
    of_analysis("rdma.flow.source", "From", Kind::string),
    of_analysis("rdma.flow.destination", "To", Kind::string),
    of_analysis("rdma.message", "Message", Kind::string),
    of_analysis("rdma.message.number", "Number", Kind::uint64),
    with_words("rdma.message.operation", "Operation", message_words),
    of_analysis("rdma.message.bytes", "Length", Kind::uint64),
    of_analysis("rdma.message.first_frame", "Begins in frame", Kind::uint32),
    of_analysis("rdma.answer", "Answers", Kind::string),
    of_analysis("rdma.request_in", "Request in frame", Kind::uint32),
    of_analysis("rdma.response_time", "Response time", Kind::time),
    of_analysis("rdma.retransmission", "Retransmission", Kind::boolean),
    of_analysis("rdma.retransmission_of", "Retransmission of frame", Kind::uint32),
    with_words("rdma.recovery.cause", "Cause", cause_words),
    of_analysis("rdma.recovery.nak_generation", "NAK generation", Kind::time),
    of_analysis("rdma.recovery.nak_reaction", "NAK reaction", Kind::time),
    of_analysis("rdma.recovery.lost_frame", "Lost frame", Kind::uint32),
    of_analysis("rdma.recovery.first_out_of_sequence_frame", "First out of sequence in frame", Kind::uint32),
    of_analysis("rdma.recovery.nak_frame", "NAK in frame", Kind::uint32),
    of_analysis("rdma.wire_time", "On the wire", Kind::time),
    of_analysis("rdma.outstanding.messages", "Outstanding messages", Kind::uint64),
    of_analysis("rdma.outstanding.bytes", "Outstanding bytes", Kind::uint64),
    with_words("rdma.gap.state", "Waited for", state_words),
    of_analysis("rdma.gap.time", "Waited", Kind::time),
    with_words("rdma.event", "Event", event_words),
    of_analysis("rdma.event.flow", "Of flow", Kind::uint64),
    of_analysis("rdma.missing", "Missing before this one", Kind::uint64),
    of_analysis("rdma.duplicate", "Duplicate", Kind::boolean),
    of_analysis("rdma.out_of_order", "Out of order, packets late", Kind::uint64),
    with_words("rdma.nak", "NAK", nak_words),
    of_analysis("rdma.rnr_nak", "RNR NAK, time to wait", Kind::time),
    of_analysis("rdma.timeout", "Retransmission timeout after", Kind::time),
    of_analysis("rdma.ce", "Congestion experienced", Kind::boolean),
    of_analysis("rdma.cnp", "Congestion notification", Kind::boolean),
    of_analysis("rdma.pause", "PAUSE, quanta", Kind::uint64),
    of_analysis("rdma.zero_window", "Zero window", Kind::boolean),
    of_analysis("rdma.icrc_bad", "ICRC bad", Kind::boolean),
    of_analysis("rdma.crc_bad", "MPA CRC bad", Kind::boolean),
    of_analysis("rdma.terminate", "Terminate", Kind::string),
    of_analysis("rdma.credit_exhausted", "Credits exhausted", Kind::boolean),
    of_analysis("rdma.ack_unseen", "Acknowledges what was not captured", Kind::boolean),
    of_analysis("rdma.connect_request", "Connection requested", Kind::boolean),
    of_analysis("rdma.connect_reply", "Connection answered", Kind::boolean),
    of_analysis("rdma.established", "Connection established", Kind::boolean),
    of_analysis("rdma.rejected", "Connection rejected, reason", Kind::uint64),
    of_analysis("rdma.disconnected", "Disconnected", Kind::boolean),
    of_analysis("rdma.reset", "Connection reset", Kind::boolean),
    of_analysis("rdma.nak_missing", "No NAK, packets that went by", Kind::uint64),
    of_analysis("rdma.icmp_error", "ICMP error", Kind::boolean),
};
static_assert(analysis_table.size() == static_cast<std::size_t>(AnalysisField::count));

}  // namespace

std::span<const FieldInfo> analysis_fields() { return analysis_table; }

const FieldInfo& field_of(AnalysisField field) { return analysis_table[static_cast<std::size_t>(field)]; }

}  // namespace dissect::output
