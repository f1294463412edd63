#pragma once
#include "dissect/context.h"

namespace dissect::inline layers {

/// Records what follows a BTH whose opcode is not known: bytes that may be headers or payload, and the ICRC.
void finish_unknown_packet(Context& context);

/// Skips the payload, whether it was read or not, and its pad bytes. Returns the next layer.
LayerId after_payload(Context& context);

}  // namespace dissect::layers
