#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "base/bytes.h"
#include "observe/datagrams/traced_mad.h"

namespace observe::datagrams {

/// Makes InfiniBand packets of traced datagrams, as records of ERF: tshark reads InfiniBand in no other form. The
/// datagram and the addresses in the headers are what libibumad had. The rest of the headers is made up: P_Key
/// (0xffff), PSN (counted), virtual lane, the LID of a port that is not known (0), the checksums. A datagram of several
/// segments, which libibumad puts together by RMPP, becomes as many packets again.
class MadPackets {
public:
    /// Calls `take` with each packet: the header of ERF, and what is from the LRH to the VCRC.
    void make(const TracedMad& mad, const std::function<void(base::Bytes)>& take);

private:
    void make_packet(const TracedMad& mad, base::Bytes datagram, const std::function<void(base::Bytes)>& take);
    void make_segments(const TracedMad& mad, std::size_t header, const std::function<void(base::Bytes)>& take);

    /// Process, device, port, queue pair and direction: each combination counts its own packets. There are few, but a
    /// ring may say anything.
    using Sender = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t, std::uint32_t, bool>;
    std::map<Sender, std::uint32_t> next_psn_ = {};
    std::vector<std::byte> record_ = {};
};

}  // namespace observe::datagrams
