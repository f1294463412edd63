#include "capture/live/fpdu_chains.h"

#include "base/bytes.h"
#include "wire/crc32c.h"
#include "wire/rdmap.h"

namespace capture::inline live {

/// `at` has at least `fpdu_shortest` bytes.
std::optional<FpduSign> read_fpdu_sign(base::Bytes at) {
    const std::uint16_t length = base::load_be16(at.data());
    const unsigned ddp = base::load_u8(at.data() + 2);
    const unsigned rdmap = base::load_u8(at.data() + 3);
    const auto opcode = static_cast<std::uint8_t>(rdmap & 0x0f);
    const bool tagged = (ddp & 0x80) != 0;
    if ((ddp & 0x3f) != wire::ddp_version || rdmap >> 4 != 0x4) return std::nullopt;  // version 1, nothing reserved
    if (!wire::rdmap_known(opcode) || wire::rdmap_tagged(opcode) != tagged) return std::nullopt;
    if (length < wire::ddp_header_size(at[2])) return std::nullopt;
    const std::uint32_t size = wire::mpa_fpdu_size(length);
    if (at.size() >= size) {
        const std::size_t covered = size - wire::mpa_crc_size;
        if (wire::crc32c(at.first(covered)) == wire::load_crc32c(at.data() + covered))
            return FpduSign{convincing_evidence, size};
    }
    if (tagged) return FpduSign{1, size};
    if (at.size() < 2 + wire::ddp_untagged_size) return FpduSign{1, size};
    const auto buffer = wire::View<wire::DdpUntaggedBuffer>::unchecked(at.data() + 2 + 6);
    if (buffer.get<&wire::DdpUntaggedBuffer::queue>() != wire::rdmap_queue(opcode) ||
        buffer.get<&wire::DdpUntaggedBuffer::msn>() == 0)
        return std::nullopt;
    return FpduSign{2, size};
}

std::optional<std::uint32_t> FpduChains::follow(const SegmentView& segment, int least_fpdus) {
    constexpr std::size_t places = 1024;
    if (chains_.empty()) chains_.resize(places);
    Chain& chain = chains_[segment.flow % places];
    if (chain.flow != segment.flow) chain = {.flow = segment.flow};
    std::size_t at = 0;
    if (chain.predicted) {
        const auto ahead = static_cast<std::int32_t>(chain.next - segment.sequence);
        if (ahead >= 0 && ahead < std::int32_t{wire::mpa_longest})
            at = static_cast<std::size_t>(ahead);  // else some segments were lost, or come again
    }
    if (at >= segment.payload_on_wire) return std::nullopt;  // within an FPDU
    while (at < segment.payload_on_wire) {
        if (at + fpdu_shortest > segment.payload.size()) {
            chain.predicted = false;
            return std::nullopt;
        }
        const auto sign = read_fpdu_sign(segment.payload.subspan(at));
        if (!sign) {
            chain = {.flow = segment.flow};
            return std::nullopt;
        }
        at += sign->size;
        chain.evidence += sign->evidence;
        if (++chain.fpdus < least_fpdus || chain.evidence < convincing_evidence) continue;
        chain = {};
        return segment.sequence + static_cast<std::uint32_t>(at);
    }
    chain.next = segment.sequence + static_cast<std::uint32_t>(at);
    chain.predicted = true;
    return std::nullopt;
}

}  // namespace capture::live
