#pragma once
#include <cstdint>

#include "wire/terminate.h"

namespace iwarp {

/// Why a stream ends, as the Terminate message names it. RFC 5040 section 4.8 and Figure 10.
struct Fault {
    enum class Headers : std::uint8_t {
        none,          ///< of the lower layer, or local
        ddp,           ///< the DDP header of the segment at fault is included
        ddp_and_rdma,  ///< and the Read Request's, too
    };
    wire::TerminateLayer layer = wire::TerminateLayer::rdma;
    std::uint8_t type = 0;
    std::uint8_t code = 0;
    Headers headers = Headers::none;

    friend constexpr bool operator==(const Fault&, const Fault&) = default;
};

namespace fault {
using Layer = wire::TerminateLayer;
using With = Fault::Headers;

// RFC 5040 section 4.8, RFC 7306 section 8.2.
inline constexpr Fault local_catastrophic{Layer::rdma, 0, 0, With::none};
inline constexpr Fault read_invalid_stag{Layer::rdma, 1, 0x00, With::ddp_and_rdma};
inline constexpr Fault read_bounds{Layer::rdma, 1, 0x01, With::ddp_and_rdma};
inline constexpr Fault read_access{Layer::rdma, 1, 0x02, With::ddp_and_rdma};
inline constexpr Fault read_not_associated{Layer::rdma, 1, 0x03, With::ddp_and_rdma};
inline constexpr Fault read_wrap{Layer::rdma, 1, 0x04, With::ddp_and_rdma};
inline constexpr Fault atomic_invalid_stag{Layer::rdma, 1, 0x00, With::ddp};
inline constexpr Fault atomic_bounds{Layer::rdma, 1, 0x01, With::ddp};
inline constexpr Fault atomic_access{Layer::rdma, 1, 0x02, With::ddp};
inline constexpr Fault atomic_not_associated{Layer::rdma, 1, 0x03, With::ddp};
inline constexpr Fault atomic_wrap{Layer::rdma, 1, 0x04, With::ddp};
inline constexpr Fault cannot_invalidate{Layer::rdma, 1, 0x09, With::ddp};
inline constexpr Fault write_access{Layer::rdma, 1, 0x02, With::ddp};  ///< DDP's table has no code for missing rights
inline constexpr Fault rdmap_version{Layer::rdma, 2, 0x05, With::ddp};
inline constexpr Fault unexpected_opcode{Layer::rdma, 2, 0x06, With::ddp};
inline constexpr Fault stream_catastrophic{Layer::rdma, 2, 0x07, With::ddp};
inline constexpr Fault unspecified{Layer::rdma, 2, 0xff, With::ddp};

// RFC 5041 section 7.
inline constexpr Fault tagged_invalid_stag{Layer::ddp, 1, 0x00, With::ddp};
inline constexpr Fault tagged_bounds{Layer::ddp, 1, 0x01, With::ddp};
inline constexpr Fault tagged_not_associated{Layer::ddp, 1, 0x02, With::ddp};
inline constexpr Fault tagged_wrap{Layer::ddp, 1, 0x03, With::ddp};
inline constexpr Fault tagged_version{Layer::ddp, 1, 0x04, With::ddp};
inline constexpr Fault queue_number{Layer::ddp, 2, 0x01, With::ddp};
inline constexpr Fault no_buffer{Layer::ddp, 2, 0x02, With::ddp};
inline constexpr Fault msn_range{Layer::ddp, 2, 0x03, With::ddp};
inline constexpr Fault message_offset{Layer::ddp, 2, 0x04, With::ddp};
inline constexpr Fault too_long{Layer::ddp, 2, 0x05, With::ddp};
inline constexpr Fault untagged_version{Layer::ddp, 2, 0x06, With::ddp};

// RFC 5044 section 8, RFC 6581 section 8.
inline constexpr Fault connection_lost{Layer::llp, 0, 0x01, With::none};
inline constexpr Fault crc{Layer::llp, 0, 0x02, With::none};
inline constexpr Fault marker_or_length{Layer::llp, 0, 0x03, With::none};
inline constexpr Fault mpa_local{Layer::llp, 0, 0x05, With::none};
inline constexpr Fault insufficient_ird{Layer::llp, 0, 0x06, With::none};
inline constexpr Fault no_ready_message{Layer::llp, 0, 0x07, With::none};

/// Only from begin_segment, and never sent: nothing is wrong, but the segment must be offered again later
/// (mpa::FpduReader::resume).
inline constexpr Fault not_yet{Layer::llp, 0xf, 0xff, With::none};
}  // namespace fault

}  // namespace iwarp
