#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "wire/ddp.h"

namespace dissect::tcp {

/// The beginning of an FPDU, read before it is known to be one.
struct FpduHead {
    static constexpr std::uint32_t longest = 20;  ///< length and untagged DDP header
    static constexpr std::uint32_t shortest = 4;  ///< length, DDP and RDMAP control

    std::uint16_t ulpdu_length = 0;
    bool tagged = false;
    bool last = false;
    bool whole = false;  ///< the fields below were read too
    std::uint8_t opcode = 0;
    std::uint32_t stag = 0;    ///< tagged
    std::uint32_t queue = 0;   ///< untagged
    std::uint32_t msn = 0;     ///< untagged
    std::uint64_t offset = 0;  ///< tagged offset or message offset

    std::uint32_t payload_length() const {
        return ulpdu_length - static_cast<std::uint32_t>(tagged ? wire::ddp_tagged_size : wire::ddp_untagged_size);
    }
};

/// The unparsed head of an FPDU in step. It is parsed only if the next one is lost, which is rare.
class KeptHead {
public:
    void keep(base::Bytes fpdu) {
        if (fpdu.size() < octets_.size()) [[unlikely]]
            octets_ = {};
        std::copy_n(fpdu.begin(), std::min(fpdu.size(), octets_.size()), octets_.begin());
    }
    FpduHead read() const;

private:
    std::array<std::byte, FpduHead::longest> octets_{};
};

/// Whether length, versions and opcode are consistent: the cheap check of a stream that is already in step. `bytes` has
/// `FpduHead::shortest` bytes.
bool can_be_fpdu(const std::byte* bytes);

/// Reads a head strictly: reserved bits are zero, lengths and queue fit the opcode. There are `size` bytes, at least
/// `FpduHead::shortest`. Returns the number of bits of evidence for an FPDU; 0 if it cannot be one.
unsigned read_head(const std::byte* bytes, std::uint32_t size, FpduHead& head);

/// Bits of evidence from two consecutive heads: one message continued, or the next of the same queue.
unsigned continuity(const FpduHead& before, const FpduHead& after);

}  // namespace dissect::tcp
