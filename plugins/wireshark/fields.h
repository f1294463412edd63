// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <array>
#include <cstddef>

#include "plugins/wireshark/compat.h"

namespace plugins::wireshark {

/// The analysis' own fields, below `rdma.`; the table of fields.cpp describes them.
enum class FieldId : std::size_t {
    flow,
    flow_reverse,
    flow_source,
    flow_destination,
    flow_vantage,
    message,
    message_number,
    message_operation,
    message_bytes,
    message_first_frame,
    message_latency,
    response_in,
    answer,
    request_in,
    response_time,
    retransmission_of,
    recovery,
    recovery_cause,
    recovery_nak_generation,
    recovery_nak_reaction,
    recovery_total,
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
    count
};

class Fields {
public:
    Fields() { ids_.fill(-1); }
    /// Call it once in a process.
    void register_fields(int protocol);
    int operator[](FieldId field) const { return ids_[static_cast<std::size_t>(field)]; }

private:
    std::array<int, static_cast<std::size_t>(FieldId::count)> ids_;
    std::array<hf_register_info, static_cast<std::size_t>(FieldId::count)> registrations_{};
};

}  // namespace plugins::wireshark
