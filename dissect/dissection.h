#pragma once
#include <array>
#include <cstdint>
#include <type_traits>

#include "base/bytes.h"
#include "dissect/diagnostic.h"
#include "dissect/layer_id.h"
#include "wire/carrier.h"
#include "wire/transport.h"

namespace dissect {

/// One layer found: where its bytes lie.
struct LayerRef {
    LayerId id = LayerId::none;
    std::uint8_t variant = 0;       ///< for the layer's own use (a message type, an address family)
    std::uint16_t depth = 0;        ///< position among the layers
    std::uint32_t offset = 0;       ///< from the first byte of the described bytes
    std::uint32_t length = 0;       ///< bytes captured of it
    std::uint32_t wire_length = 0;  ///< bytes it has on the wire; more than `length` if the snap length cut it
};

/// Whether there was a CRC, and whether it was right.
enum class CrcStatus : std::uint8_t { absent, unchecked, good, bad };

/// The innermost network layer.
struct Network {
    using Family = wire::AddressFamily;
    Family family = Family::none;
    std::uint8_t traffic_class = 0;  ///< DSCP and ECN, IPv4 TOS or IPv6/GRH traffic class
    std::uint8_t hop_limit = 0;
    std::uint32_t source_offset = 0;  ///< of the address within the described bytes
    std::uint32_t destination_offset = 0;
    /// The header of a tunnel around the packet carries a mark that the end of the tunnel copies to the packet. RFC
    /// 6040, 4.2.
    bool marked_outside = false;

    /// 3 = congestion experienced, RFC 3168; as the receiver after all tunnels sees it.
    constexpr std::uint8_t ecn() const { return marked_outside ? 3 : traffic_class & 3; }
    constexpr std::uint32_t address_length() const { return wire::address_length(family); }
};

/// What the metrics need of a TCP segment. RFC 9293.
struct TcpSummary {
    std::uint32_t sequence = 0;
    std::uint32_t acknowledgment = 0;
    std::uint16_t window = 0;  ///< as sent, not scaled
    std::uint8_t flags = 0;    ///< CWR ECE URG ACK PSH RST SYN FIN, FIN lowest
    /// A RST that its receiver drops, as far as Dissector follows the connection. Meaningful if RST is set.
    bool stray_reset = false;
    std::uint32_t payload_offset = 0;
    std::uint32_t payload_captured = 0;
    std::uint32_t payload_length = 0;  ///< on the wire
};

/// What the metrics need of an InfiniBand transport packet. IBTA vol. 1, chapter 9. A value is meaningful only if its
/// header is among the layers.
struct BthSummary {
    std::uint8_t opcode = 0;
    bool solicited_event = false;
    bool ack_request = false;
    bool fecn = false;
    bool becn = false;
    std::uint8_t pad_count = 0;
    std::uint16_t partition_key = 0;
    std::uint32_t destination_qp = 0;
    std::uint32_t psn = 0;
    std::uint32_t source_qp = 0;        ///< DETH
    std::uint32_t queue_key = 0;        ///< DETH
    std::uint32_t xrc_srq = 0;          ///< XRCETH
    std::uint32_t remote_key = 0;       ///< RETH, AtomicETH
    std::uint64_t virtual_address = 0;  ///< RETH, AtomicETH
    std::uint32_t dma_length = 0;       ///< RETH
    std::uint64_t swap_or_add = 0;      ///< AtomicETH
    std::uint64_t compare = 0;          ///< AtomicETH
    std::uint8_t syndrome = 0;          ///< AETH
    std::uint32_t msn = 0;              ///< AETH
    std::uint64_t original_data = 0;    ///< AtomicAckETH
    std::uint32_t immediate = 0;        ///< ImmDt
    std::uint32_t invalidated_key = 0;  ///< IETH
    std::uint32_t payload_offset = 0;
    std::uint32_t payload_length = 0;  ///< on the wire, without pad bytes and CRCs
    CrcStatus icrc = CrcStatus::absent;
    CrcStatus vcrc = CrcStatus::absent;
};

/// What the metrics need of an FPDU. RFC 5041, 5040, 7306.
struct DdpSummary {
    bool tagged = false;
    bool last = false;
    std::uint8_t opcode = 0;            ///< RDMAP
    std::uint32_t stag = 0;             ///< tagged
    std::uint64_t tagged_offset = 0;    ///< tagged
    std::uint32_t queue = 0;            ///< untagged
    std::uint32_t msn = 0;              ///< untagged
    std::uint32_t message_offset = 0;   ///< untagged
    std::uint32_t invalidate_stag = 0;  ///< Send with Invalidate
    std::uint32_t sink_stag = 0;        ///< Read Request
    std::uint64_t sink_offset = 0;      ///< Read Request
    std::uint32_t source_stag = 0;      ///< Read Request, atomic
    std::uint64_t source_offset = 0;    ///< Read Request, atomic
    std::uint32_t read_size = 0;        ///< Read Request
    std::uint32_t request_id = 0;       ///< atomic
    std::uint8_t atomic_operation = 0;  ///< 0 FetchAdd, 2 CmpSwap
    std::uint64_t original_data = 0;    ///< Atomic Response
    std::uint64_t immediate = 0;        ///< Immediate Data
    std::uint8_t terminate_layer = 0;
    std::uint8_t terminate_type = 0;
    std::uint8_t terminate_code = 0;
    std::uint32_t payload_offset = 0;
    std::uint32_t payload_length = 0;  ///< of the upper layer, on the wire
    CrcStatus crc = CrcStatus::absent;
};

/// One parsed packet or FPDU: its layers and their places, how far it could be read, and the few values that the
/// metrics need. Trivially copyable and owned by the caller; it refers to the bytes and does not hold them.
struct Dissection {
    static constexpr unsigned max_layers = 32;

    std::array<LayerRef, max_layers> layers;
    LayerSet present;
    /// The layers of the packet that an ICMP error quotes. They follow the frame's own, and are not `present`. The
    /// quoted packet did not pass here, so that only code that shows the frame uses them.
    LayerSet quoted;
    std::uint8_t layer_count;
    std::uint8_t own_layers;  ///< how many of the layers are the frame's own, if fewer
    std::uint8_t odd_count;   ///< the number of odd things; `odd` is the first
    bool fragmented;          ///< one of the IP layers is a fragment of a datagram
    /// The number of bytes that a mirror or a tap has cut off, according to the frame's IP header: the frame's length
    /// is what was left.
    std::uint32_t cut_octets;
    Diagnostic stop;  ///< why dissection ended; complete if it reached the end
    Diagnostic odd;
    wire::Carrier unread;  ///< how the packet continues beyond the read layers, if RDMA may be in it
    Network network;
    Network quoted_network;     ///< the innermost one of a quoted packet
    std::uint16_t source_port;  ///< UDP or TCP, where present or quoted
    std::uint16_t destination_port;
    TcpSummary tcp;  ///< where LayerId::tcp is present, or quoted
    BthSummary bth;  ///< where LayerId::bth is present, or quoted
    DdpSummary ddp;  ///< where LayerId::ddp_tagged or LayerId::ddp_untagged is present

    Dissection() { reset(); }

    void reset() {
        present.clear();
        quoted.clear();
        layer_count = 0;
        own_layers = max_layers;
        odd_count = 0;
        fragmented = false;
        cut_octets = 0;
        stop = {};
        odd = {};
        unread = {};
        network = {};
    }
    bool has(LayerId id) const { return present.contains(id); }
    /// The values that a quoted packet, which is read into the same members, must not change.
    struct Own {
        LayerSet present;
        std::uint8_t layers;
        std::uint8_t odd_count;
        bool fragmented;
        std::uint32_t cut_octets;
        Diagnostic odd;
        Network network;
    };
    Own own() const { return {present, layer_count, odd_count, fragmented, cut_octets, odd, network}; }
    /// All layers after the frame's own are those of a quoted packet.
    void end_quote(const Own& frame) {
        own_layers = frame.layers;
        for (unsigned i = own_layers; i < layer_count; ++i) quoted.insert(layers[i].id);
        quoted_network = network;
        present = frame.present;
        odd_count = frame.odd_count;
        fragmented = frame.fragmented;
        cut_octets = frame.cut_octets;
        odd = frame.odd;
        network = frame.network;
        stop = {};
    }
    bool quotes(LayerId id) const { return quoted.contains(id); }
    unsigned own_layer_count() const { return layer_count < own_layers ? layer_count : own_layers; }
    /// The last layer of that kind: the innermost if tunnels repeat it; nullptr if absent.
    const LayerRef* find(LayerId id) const {
        for (unsigned i = own_layer_count(); i-- > 0;)
            if (layers[i].id == id) return &layers[i];
        return nullptr;
    }
    /// The same among the layers of a quoted packet.
    const LayerRef* find_quoted(LayerId id) const {
        for (unsigned i = layer_count; i-- > own_layers;)
            if (layers[i].id == id) return &layers[i];
        return nullptr;
    }
};
static_assert(std::is_trivially_copyable_v<Dissection>);

}  // namespace dissect
