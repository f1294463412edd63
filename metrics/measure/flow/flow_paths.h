#pragma once
#include <cstddef>
#include <cstdint>

#include "metrics/measure/flow/flow.h"
#include "metrics/measure/flow/path_key.h"
#include "metrics/measure/flow/slab.h"

namespace metrics::inline measure::inline flow {

/// A flow's part in PathWindows, while the flow takes part.
struct PathMember {
    static constexpr std::uint32_t none = 0xffffffff;

    const Flow* flow = nullptr;
    std::uint32_t pair = none;         ///< none: the flow does not take part
    std::uint32_t next_active = none;  ///< block of the next member with packets in the window
    std::uint64_t packets = 0;         ///< of the flow, when the window began
    std::uint64_t wire_bytes = 0;
    std::uint64_t ce = 0;
    std::uint8_t row = 0;
    bool is_active = false;  ///< has had a packet in the window
};

/// What most flows do not need. From a pool.
struct FlowPath {
    std::uint64_t number = 0;                    ///< PathKey::number() of the last data packet
    std::uint32_t entropies = PathMember::none;  ///< FlowEntropies, once the flow has used several
    PathMember member;
};

/// The path keys of flows, which are those of their last data packets, and the blocks of flows that need one.
class FlowPaths {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    explicit FlowPaths(std::uint32_t max_flows) : blocks_(max_flows) {}

    PathKey key(const Flow& flow) const { return PathKey::of_parts(flow.path_mark, number(flow)); }
    bool has_key(const Flow& flow, PathKey key) const {
        return key.mark() == flow.path_mark && (key.mark() != 0 || key.number() == number(flow));
    }
    void set_key(Flow& flow, PathKey key) {
        flow.path_mark = key.mark();
        if (key.mark() == 0 && (flow.path != none || key.number() != 0) && take(flow)) [[unlikely]]
            blocks_[flow.path].number = key.number();
    }

    /// Makes the flow's block if it has none; false if the pool is exhausted.
    bool take(Flow& flow) {
        if (flow.path == none) flow.path = blocks_.take();
        return flow.path != none;
    }
    void give_back(Flow& flow) {
        if (flow.path != none) blocks_.give_back(flow.path);
        flow.path = none;
    }
    FlowPath& operator[](std::uint32_t path) { return blocks_[path]; }
    const FlowPath& operator[](std::uint32_t path) const { return blocks_[path]; }
    std::size_t octets() const { return blocks_.octets(); }

private:
    std::uint64_t number(const Flow& flow) const { return flow.path == none ? 0 : blocks_[flow.path].number; }

    Slab<FlowPath> blocks_;
};

}  // namespace metrics::measure::flow
