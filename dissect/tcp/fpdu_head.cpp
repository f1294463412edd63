#include "dissect/tcp/fpdu_head.h"

#include "wire/ddp.h"
#include "wire/rdmap.h"
#include "wire/terminate.h"

namespace dissect::tcp {

namespace {

/// Whether the ULPDU's length can belong to the opcode. RFC 5040 section 4, RFC 7306 sections 5 and 6.
bool length_fits(std::uint8_t opcode, std::uint32_t length) {
    switch (static_cast<wire::RdmapOpcode>(opcode)) {
        case wire::RdmapOpcode::read_request: return length == 18 + 28;
        case wire::RdmapOpcode::terminate: return length >= 18 + 4 && length <= 18 + wire::terminate_longest;
        case wire::RdmapOpcode::immediate:
        case wire::RdmapOpcode::immediate_solicited: return length == 18 + 8;
        case wire::RdmapOpcode::atomic_request: return length == 18 + 52;
        case wire::RdmapOpcode::atomic_response: return length == 18 + 12;
        default: return length >= (wire::rdmap_tagged(opcode) ? wire::ddp_tagged_size : wire::ddp_untagged_size);
    }
}

/// Messages that are one segment by their nature.
bool is_single(std::uint8_t opcode) { return opcode == 1 || opcode >= 7; }

}  // namespace

bool can_be_fpdu(const std::byte* bytes) {
    const std::uint32_t length = base::load_be16(bytes);
    const unsigned ddp = base::load_u8(bytes + 2);
    const unsigned rdmap = base::load_u8(bytes + 3);
    const unsigned opcode = rdmap & 0x0f;
    const bool tagged = (ddp & 0x80) != 0;
    return (ddp & 3) == wire::ddp_version && (rdmap & 0x80) == 0 && opcode <= 11 &&
           tagged == wire::rdmap_tagged(static_cast<std::uint8_t>(opcode)) &&
           length >= (tagged ? wire::ddp_tagged_size : wire::ddp_untagged_size);
}

unsigned read_head(const std::byte* bytes, std::uint32_t size, FpduHead& head) {
    const unsigned ddp = base::load_u8(bytes + 2);
    const unsigned rdmap = base::load_u8(bytes + 3);
    if ((ddp & 0x3f) != wire::ddp_version || (rdmap & 0xf0) != 0x40) return 0;
    head = {};
    head.ulpdu_length = base::load_be16(bytes);
    head.tagged = (ddp & 0x80) != 0;
    head.last = (ddp & 0x40) != 0;
    head.opcode = static_cast<std::uint8_t>(rdmap & 0x0f);
    if (!wire::rdmap_known(head.opcode) || head.tagged != wire::rdmap_tagged(head.opcode)) return 0;
    if (!length_fits(head.opcode, head.ulpdu_length) || (is_single(head.opcode) && !head.last)) return 0;
    unsigned evidence = 13;
    if (head.tagged) {
        if (size < 16) return evidence;
        head.whole = true;
        head.stag = base::load_be32(bytes + 4);
        head.offset = base::load_be64(bytes + 8);
        // A segment that is not the last of its message carries something.
        return head.payload_length() == 0 && !head.last ? 0 : evidence;
    }
    if (size < FpduHead::longest) return evidence;
    head.whole = true;
    head.queue = base::load_be32(bytes + 8);
    head.msn = base::load_be32(bytes + 12);
    const std::uint32_t message_offset = base::load_be32(bytes + 16);
    head.offset = message_offset;
    if (head.queue != wire::rdmap_queue(head.opcode)) return 0;
    if (!wire::rdmap_invalidates(head.opcode)) {
        if (base::load_be32(bytes + 4) != 0) return 0;
        evidence += 20;
    }
    if (is_single(head.opcode) && message_offset != 0) return 0;
    return evidence + 24 + (is_single(head.opcode) ? 20u : 0u);
}

FpduHead KeptHead::read() const {
    const std::byte* const p = octets_.data();
    const unsigned control = base::load_be16(p + 2);
    FpduHead head;
    head.ulpdu_length = base::load_be16(p);
    head.tagged = (control & 0x8000) != 0;
    head.last = (control & 0x4000) != 0;
    head.whole = true;
    head.opcode = static_cast<std::uint8_t>(control & 15);
    if (head.tagged) {
        head.stag = base::load_be32(p + 4);
        head.offset = base::load_be64(p + 8);
    } else {
        head.queue = base::load_be32(p + 8);
        head.msn = base::load_be32(p + 12);
        head.offset = base::load_be32(p + 16);
    }
    return head;
}

unsigned continuity(const FpduHead& before, const FpduHead& after) {
    if (!before.whole || !after.whole || before.tagged != after.tagged) return 0;
    if (before.tagged) {
        if (before.stag != after.stag || before.opcode != after.opcode) return 0;
        return !before.last && after.offset == before.offset + before.payload_length() ? 48 : 14;
    }
    if (before.queue != after.queue) return 0;
    if (!before.last)
        return after.msn == before.msn && after.offset == before.offset + before.payload_length() ? 40 : 0;
    return after.msn == before.msn + 1 && after.offset == 0 ? 32 : 0;
}

}  // namespace dissect::tcp
