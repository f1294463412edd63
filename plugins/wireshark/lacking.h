// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <string_view>

#include "dissect/describe.h"
#include "dissect/dissector.h"

namespace plugins::wireshark {

/// The layers that Wireshark 4.0 cannot read, or reads wrongly, and that are added to its tree.
struct LackingOptions {
    bool cnp = true;             ///< RoCEv2 congestion notification packets. IBTA annex A17, 17.9.3
    bool xrc = true;             ///< XRCETH and what follows it. IBTA annex A14
    bool rd = true;              ///< reliable datagrams, which Wireshark mistakes for a vendor's protocol
    bool immediate = true;       ///< Immediate Data of iWARP. RFC 7306, 6.
    bool terminate = true;       ///< the headers of the segment that a Terminate is about. RFC 5040, 4.8
    bool mpa_parameters = true;  ///< IRD and ORD of MPA revision 2. RFC 6581, 9.
    bool streams_midway = true;  ///< iWARP whose MPA request was not captured
    bool upper_layers = true;    ///< SRP, RDS and rsockets; NVMe and iSER on iWARP
};

/// What Wireshark's own dissectors have found in a frame.
struct FoundLayers {
    bool mpa = false;  ///< MPA, and after it DDP and RDMAP
};

/// Whether describe_lacking() visits any layer of an InfiniBand transport packet.
bool lacks_packet(const dissect::Dissection& packet, const LackingOptions& options);
/// Visits the layers of a unit that Wireshark lacks; for most units there are none, and it returns false.
bool describe_lacking(const dissect::Unit& unit, const FoundLayers& found, const LackingOptions& options,
                      dissect::Visitor& visitor);

/// Whether Wireshark cannot read a message of this upper layer: "srp", "nvme".
bool lacks_upper_layer(std::string_view protocol, wire::Transport transport, const LackingOptions& options);

}  // namespace plugins::wireshark
