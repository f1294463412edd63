#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/script/runner/octets.h"

namespace script {

/// A start frame, right or wrong. RFC 5044 section 7.1.1, RFC 6581 section 9.
struct StartFrame {
    std::string key = "MPA ID Req Frame";
    bool markers = false;
    bool crc = true;
    bool rejected = false;
    bool enhanced = true;   ///< S
    unsigned reserved = 0;  ///< the four bits after S
    unsigned revision = 2;
    bool peer_to_peer = false;  ///< A
    bool send = false;          ///< B
    bool write = false;         ///< C
    bool read = false;          ///< D
    unsigned ird = 16;
    unsigned ord = 16;
    Octets private_data;             ///< after the four octets of RFC 6581
    std::optional<unsigned> length;  ///< another PD_Length than the right one

    bool reply() const { return key == "MPA ID Rep Frame"; }
    bool carries_depths() const { return enhanced && revision >= 2; }
};
Octets encode(const StartFrame&);
/// Takes one start frame off the front of `stream`; nothing while it is not complete. Throws Failure where it is none.
std::optional<StartFrame> take_start_frame(Octets& stream);
std::string show(const StartFrame&);

/// A message's kind by the name scripts use.
struct Kind {
    std::string_view name;
    unsigned opcode;
    bool tagged;
    std::uint32_t queue;
};
/// RFC 5040 Figure 4, RFC 7306 section 4. Throws Failure on an unknown name; null for an unknown opcode.
const Kind& kind_named(std::string_view name);
const Kind* kind_of(unsigned opcode);

/// A DDP segment with RDMAP's control field, right or wrong. RFC 5041 section 4, RFC 5040 section 4.1.
struct Segment {
    bool tagged = false;
    bool last = true;
    unsigned reserved = 0;
    unsigned ddp_version = 1;
    unsigned rdmap_version = 1;
    unsigned rdmap_reserved = 0;
    unsigned opcode = 3;
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;
    std::uint32_t ulp = 0;  ///< untagged: the four octets of RDMAP's, a Send's Invalidate STag
    std::uint32_t queue = 0;
    std::uint32_t msn = 1;
    std::uint32_t message_offset = 0;
    Octets payload;
};
Octets header_of(const Segment&);
/// Throws Failure where there is no whole header.
Segment decode(View ulpdu);

struct ReadRequest {
    std::uint32_t sink_stag = 0;
    std::uint64_t sink_offset = 0;
    std::uint32_t size = 0;
    std::uint32_t source_stag = 0;
    std::uint64_t source_offset = 0;
};
Octets encode(const ReadRequest&);
ReadRequest decode_read_request(View payload);

/// RFC 7306 section 5.2.1.
struct AtomicRequest {
    unsigned operation = 0;
    std::uint32_t id = 0;
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;
    std::uint64_t operand = 0;
    std::uint64_t mask = ~std::uint64_t{0};
    std::uint64_t compare = 0;
    std::uint64_t compare_mask = ~std::uint64_t{0};
};
Octets encode(const AtomicRequest&);
AtomicRequest decode_atomic_request(View payload);

/// RFC 5040 section 4.8.
struct TerminateMessage {
    unsigned layer = 0, type = 0, code = 0;
    bool m = false, d = false, r = false;
    unsigned reserved = 0;
    std::uint32_t segment_length = 0;
    Octets ddp_header;
    Octets rdma_header;
    Octets beyond;  ///< octets that belong to none of them
};
TerminateMessage decode_terminate(View payload);
std::string show(const TerminateMessage&);
/// "1/2/05".
std::array<unsigned, 3> terminate_code(std::string_view text);

std::string show(const Segment&);

}  // namespace script
