#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/hash.h"
#include "metrics/measure/flow/flow.h"
#include "metrics/measure/flow/slab.h"

namespace metrics::inline measure::inline flow {

/// A hash of the whole key. (The worker of a flow is chosen by `address_hash`, a hash of the two addresses.)
inline std::uint32_t hash_of(const std::array<std::uint64_t, 4>& addresses, std::uint32_t selector,
                             wire::Transport transport, Service service) {
    // The two addresses take part differently, or a flow and its reverse of equal QPNs would share a slot. None waits
    // for another's product.
    const std::uint64_t rest = (static_cast<std::uint64_t>(selector) << 16) |
                               (static_cast<std::uint64_t>(transport) << 8) | static_cast<std::uint64_t>(service);
    const std::uint64_t source = (addresses[0] * 0xff51afd7ed558ccdu) ^ (addresses[1] * 0xc4ceb9fe1a85ec53u);
    const std::uint64_t destination = (addresses[2] * 0x94d049bb133111ebu) ^ (addresses[3] * 0xbf58476d1ce4e5b9u);
    std::uint64_t hash = source ^ std::rotl(destination, 32) ^ (rest * base::golden);
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;
    return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}
inline std::uint32_t hash_of(const FlowKey& key) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), key.source.octets.data(), 16);
    std::memcpy(words.data() + 2, key.destination.octets.data(), 16);
    return hash_of(words, key.selector, key.transport, key.service);
}
struct FlowKeyHash {
    std::size_t operator()(const FlowKey& key) const { return hash_of(key); }
};
inline std::uint32_t hash_of(const PlainKey& key, std::uint32_t qp, Service service) {
    // The addresses' words as FlowKey has them: four bytes first, then zeros.
    constexpr bool little = std::endian::native == std::endian::little;
    const std::uint64_t front = key.addresses & (little ? 0x00000000ffffffffu : 0xffffffff00000000u);
    const std::uint64_t back = little ? key.addresses >> 32 : key.addresses << 32;
    return hash_of({front, 0, back, 0}, qp, wire::Transport::roce2, service);
}

/// The flows of one engine: found by key, held in place, bounded. If there is no room, one of a few neighbours is
/// evicted and counted: a finished flow first, else the one that was idle longest. Not thread-safe.
class FlowTable {
public:
    explicit FlowTable(std::size_t max_flows);
    ~FlowTable();
    FlowTable(const FlowTable&) = delete;
    FlowTable& operator=(const FlowTable&) = delete;

    FlowIndex find(const FlowKey& key, std::uint32_t hash) const {
        for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
            const Slot& here = slots_[slot];
            if (here.index == no_flow) return no_flow;
            if (here.hash == hash && (*this)[here.index].key == key) return here.index;
        }
    }
    /// The same for a key of a plain frame. Equal plain keys are equal keys, so no flow is mistaken for another one.
    FlowIndex find(const PlainKey& key, std::uint32_t hash) const {
        for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
            const Slot& here = slots_[slot];
            if (here.index == no_flow) return no_flow;
            if (here.hash == hash && (*this)[here.index].plain_key == key) return here.index;
        }
    }
    /// Whether find() would find this one.
    bool leads_to(const PlainKey& key, FlowIndex index) const {
        if (index >= extent_) return false;
        const Flow& flow = (*this)[index];
        return flow.plain_key == key && flow.live && !flow.finished;
    }
    void prefetch_slot(std::uint32_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }
    /// The flow in the first slot of this hash, which may be another flow. For prefetching.
    FlowIndex guess(std::uint32_t hash) const { return slots_[hash & mask_].index; }

    /// Adds a flow that find() did not find. If there is no room, `evicted` names the flow that the caller must
    /// remove() before it tries again.
    FlowIndex add(const FlowKey& key, std::uint32_t hash, std::uint64_t id, std::int64_t now_ns);
    /// The flow that would be evicted now.
    FlowIndex idlest();
    bool full() const { return live_ >= max_; }
    /// The flow has another key, which find() does not find.
    void rename(FlowIndex index, const FlowKey& key, std::uint32_t hash);
    /// find() no longer returns the flow. The flow stays in output until its place is needed.
    void retire(FlowIndex index);
    void remove(FlowIndex index);

    Flow& operator[](FlowIndex index) { return chunks_[index >> chunk_bits][index & (chunk - 1)]; }
    const Flow& operator[](FlowIndex index) const { return chunks_[index >> chunk_bits][index & (chunk - 1)]; }
    /// The number of places used so far: indices below it may be live.
    FlowIndex extent() const { return extent_; }
    std::size_t live() const { return live_; }
    std::size_t octets() const;
    /// Flows lie in blocks, in the order of their indices.
    static constexpr std::size_t block_of(FlowIndex index) { return index >> chunk_bits; }
    /// Frees a block's memory for good: its flows must not be used again, and none may be added.
    void release_block(std::size_t block);

private:
    struct Slot {
        std::uint32_t hash = 0;
        FlowIndex index = no_flow;
    };
    static constexpr std::uint32_t chunk_bits = 14;
    static constexpr std::uint32_t chunk = 1u << chunk_bits;

    void link(FlowIndex index, std::uint32_t hash);
    void unlink(FlowIndex index);
    void grow();

    std::size_t max_;
    std::size_t live_ = 0;
    std::size_t linked_ = 0;
    std::size_t mask_ = 0;
    FlowIndex extent_ = 0;
    FlowIndex hand_ = 0;
    std::vector<Slot> slots_;
    std::vector<Flow*> chunks_;
    std::vector<FlowIndex> free_;
};

}  // namespace metrics::measure::flow
