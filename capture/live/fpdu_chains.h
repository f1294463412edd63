#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "capture/live/segment_view.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

namespace capture::inline live {

/// What looks like the beginning of an FPDU (RFC 5044 section 4; DDP and RDMAP of version 1, no markers).
struct FpduSign {
    int evidence;        ///< its weight; the right CRC alone has `convincing_evidence`
    std::uint32_t size;  ///< of the FPDU
};
inline constexpr int convincing_evidence = 4;
inline constexpr std::size_t fpdu_shortest = 2 + wire::ddp_tagged_size + wire::mpa_crc_size;

/// `at` has at least `fpdu_shortest` bytes.
std::optional<FpduSign> read_fpdu_sign(base::Bytes at);

/// Looks for FPDUs in connections that are older than the capture. Each FPDU has to begin where the FPDU before it
/// ends. Each direction has one chain. If several directions share a place, the latest direction keeps it.
class FpduChains {
public:
    /// The sequence number after the last FPDU, once there are at least `least_fpdus` in a row and enough evidence.
    /// Absent until then; afterwards the chain begins again. `segment` has payload.
    std::optional<std::uint32_t> follow(const SegmentView& segment, int least_fpdus);

private:
    struct Chain {
        std::uint64_t flow = 0;
        std::uint32_t next = 0;  // sequence number where the next FPDU begins
        bool predicted = false;
        int evidence = 0;
        int fpdus = 0;
    };
    std::vector<Chain> chains_ = {};  // made at the first segment
};

}  // namespace capture::live
