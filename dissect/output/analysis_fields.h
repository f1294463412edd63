#pragma once
#include <cstdint>
#include <span>

#include "wire/field.h"

/// Fields of the analysis: what a frame means because of the frames before it. The Wireshark plugin has the same names,
/// and more that depend on later frames. The code that measures the frames supplies the values.
namespace dissect::output {

enum class AnalysisField : std::uint8_t {
    flow,
    flow_reverse,
    flow_source,
    flow_destination,
    message,
    message_number,
    message_operation,
    message_bytes,
    message_first_frame,
    answer,
    request_in,
    response_time,
    retransmission,
    retransmission_of,
    recovery_cause,
    recovery_nak_generation,
    recovery_nak_reaction,
    recovery_lost_frame,
    recovery_first_out_of_sequence_frame,
    recovery_nak_frame,
    wire_time,
    outstanding_messages,
    outstanding_bytes,
    gap_state,
    gap_time,
    event,
    event_flow,
    // The value of an event, one field for each kind.
    missing,
    duplicate,
    out_of_order,
    nak,
    rnr_nak,
    timeout,
    ce,
    cnp,
    pause,
    zero_window,
    icrc_bad,
    crc_bad,
    terminate,
    credit_exhausted,
    ack_unseen,
    connect_request,
    connect_reply,
    established,
    rejected,
    disconnected,
    reset,
    nak_missing,
    icmp_error,
    count
};

/// In the order of AnalysisField.
std::span<const wire::FieldInfo> analysis_fields();
const wire::FieldInfo& field_of(AnalysisField field);

}  // namespace dissect::output
