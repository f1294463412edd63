#pragma once
#include "capture/filter/kernel_filter.h"

namespace capture::inline filter {

/// A program for PACKET_FANOUT_CBPF that returns which of `rings` rings (1 or more) gets a frame: a hash of the
/// unordered pair of its IP addresses, or of its MAC addresses if no IP header follows up to two VLAN tags. So
/// both directions, all ports, and all fragments of a pair of hosts come to one ring. The kernel's own
/// PACKET_FANOUT_HASH looks at ports, which differ between the data and the acknowledgements of RoCE.
///
/// The kernel runs it before it puts the link header of a received frame back: at the IP header of frames that arrive,
/// at the MAC header of frames that leave.
BpfProgram pair_fanout(wire::LinkType link_type, unsigned rings);

}  // namespace capture::filter
