#pragma once
#include <cstddef>
#include <cstdint>

#include "metrics/figures/path_figures.h"
#include "metrics/measure/flow/flow.h"
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
    std::uint64_t key = 0;                       ///< of the last data packet, unless Flow::path_mark has it
    std::uint32_t entropies = PathMember::none;  ///< FlowEntropies, once the flow has used several
    PathMember member;
};

/// The path key of a packet is its Entropy::number(), and its hop limit in the bits that the number leaves spare.
/// A flow has the key of its last data packet: as a mark of four bytes if the packet is one of RoCEv2 over IPv4 without
/// a tunnel, else in its block.
class FlowPaths {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    explicit FlowPaths(std::uint32_t max_flows) : blocks_(max_flows) {}

    static constexpr std::uint64_t key_of(Entropy entropy, std::uint8_t hop_limit) {
        return entropy.number() | std::uint64_t{hop_limit} << Entropy::spare_shift;
    }
    static constexpr std::uint32_t mark_of(std::uint16_t udp_port, std::uint8_t hop_limit) {
        return is_mark | std::uint32_t{hop_limit} << hop_shift | udp_port;
    }
    /// 0 if a mark cannot hold the key.
    static constexpr std::uint32_t mark_of(std::uint64_t key) {
        const Entropy entropy(key);
        const std::uint32_t mark = mark_of(entropy.udp_port(), static_cast<std::uint8_t>(key >> Entropy::spare_shift));
        return key_of_mark(mark) == key ? mark : 0;
    }
    static constexpr std::uint64_t key_of_mark(std::uint32_t mark) {
        return key_of(Entropy::of_udp(static_cast<std::uint16_t>(mark)), static_cast<std::uint8_t>(mark >> hop_shift));
    }

    /// 0 = unknown.
    std::uint64_t key(const Flow& flow) const {
        if (flow.path_mark != 0) [[likely]]
            return key_of_mark(flow.path_mark);
        return flow.path == none ? 0 : blocks_[flow.path].key;
    }
    void set_key(Flow& flow, std::uint64_t key) {
        flow.path_mark = mark_of(key);
        if (flow.path_mark == 0 && (flow.path != none || key != 0) && take(flow)) [[unlikely]]
            blocks_[flow.path].key = key;
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
    static constexpr unsigned hop_shift = 16;
    static constexpr std::uint32_t is_mark = 1u << 24;

    Slab<FlowPath> blocks_;
};

}  // namespace metrics::measure::flow
