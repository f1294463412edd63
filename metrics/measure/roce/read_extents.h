#pragma once
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/packet/packet_record.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline roce {

/// How many PSNs the READs of a requester take: one for each packet of the responses, so the path's MTU decides. If the
/// MTU is not known yet, what passes next shows it. IBTA vol. 1, 9.7.3.1.
class ReadExtents {
public:
    explicit ReadExtents(FlowStore& store) : store_(store) {}

    /// How many PSNs a READ of that length takes; 0 if the MTU is not known well enough.
    std::uint32_t span_of(const Flow& requester, std::uint32_t length) const;
    /// A READ request has passed whose extent is not known.
    static void note_unknown(RequestState& request, const PacketRecord& record, const wire::BthOpcode& opcode);
    /// Called before a READ request at `position`: learns the MTU from the requests before it.
    static void learn_mtu_before(Flow& requester, std::uint64_t position);
    /// Learns from a response about READs of unknown extent. The number of packets of the last READ's responses shows
    /// in its first response, or in a response to an earlier READ.
    void learn_from_response(Flow& requester, const PacketRecord& response, const wire::BthOpcode& opcode);
    /// The last request was a READ whose responses take the PSNs before `end`. If `guessed`, that is only likely: the
    /// next request begins there.
    void extend(Flow& requester, std::uint64_t end, bool guessed = false);
    /// A READ was guessed to be too long: from `begin` on there are requests that have not passed.
    void shorten(Flow& requester, std::uint64_t begin, const PacketRecord& record);

private:
    static void learn_mtu(RequestState& request, std::uint32_t payload);

    FlowStore& store_;
};

}  // namespace metrics::measure::roce
