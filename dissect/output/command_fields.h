#pragma once
#include <span>

#include "dissect/describe.h"
#include "dissect/output/frame_fields.h"
#include "dissect/upper_message.h"

namespace dissect::output {

extern const wire::FieldInfo command_heading;  ///< `rdma.io`, whose value is the command's number in its connection

/// The protocol of a connection: `rdma.ulp`, `rdma.ulp.by`, and fields of the single protocols.
std::span<const ReadField<UpperMessage>> connection_fields();
/// A command's, below `rdma.io`.
std::span<const ReadField<UpperMessage>> command_fields();

/// `rdma` with all that is known about the connection and the command.
void describe_command(const UpperMessage& message, Visitor& visitor);

}  // namespace dissect::output
