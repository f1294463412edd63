// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <vector>

#include "plugins/wireshark/compat.h"
#include "wire/frame.h"

namespace plugins::wireshark {

/// Wireshark's frame as ours. If Wireshark's file reader has removed a header (ERF), it is put back in `rebuilt`, which
/// must live as long as the frame.
wire::Frame frame_of(tvbuff_t* tvb, const packet_info& pinfo, std::vector<std::byte>& rebuilt);

/// Whether Wireshark has found a protocol in the frame. Unlike proto_is_frame_protocol() it compares no names.
bool has_protocol(const packet_info& pinfo, int protocol);

}  // namespace plugins::wireshark
