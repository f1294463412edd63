#include "metrics/measure/flow/flow_table.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace metrics::inline measure::inline flow {

FlowTable::FlowTable(std::size_t max_flows) : max_(std::max<std::size_t>(max_flows, 2)), slots_(1024), free_() {
    mask_ = slots_.size() - 1;
}

FlowTable::~FlowTable() {
    for (Flow* flows : chunks_) std::free(flows);
}

void FlowTable::grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
        if (slot.index == no_flow) continue;
        std::size_t at = slot.hash & mask_;
        while (slots_[at].index != no_flow) at = (at + 1) & mask_;
        slots_[at] = slot;
    }
}

FlowIndex FlowTable::add(const FlowKey& key, std::uint32_t hash, std::uint64_t id, std::int64_t now_ns) {
    if (linked_ * 2 >= slots_.size()) grow();
    FlowIndex index;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
    } else {
        if (extent_ == chunks_.size() * chunk) {
            // Flows are met in no order: huge pages spare the path most of its TLB misses. Memory is taken as it is
            // used.
            constexpr std::size_t huge_page = std::size_t{2} << 20;
            constexpr std::size_t octets = (chunk * sizeof(Flow) + huge_page - 1) / huge_page * huge_page;
            void* memory = std::aligned_alloc(huge_page, octets);
            if (memory == nullptr) throw std::bad_alloc();
            if (!chunks_.empty()) madvise(memory, octets, MADV_HUGEPAGE);
            chunks_.push_back(static_cast<Flow*>(memory));
        }
        index = extent_++;
    }
    Flow* const flow = new (&(*this)[index]) Flow{};
    flow->key = key;
    flow->plain_key = PlainKey(key);
    flow->id = id;
    flow->live = true;
    flow->counts.first_ns = now_ns;
    flow->counts.last_ns = now_ns;
    flow->histogram_slot.fill(Flow::no_slot);
    flow->histogram_block.fill(Flow::no_block);
    ++live_;
    link(index, hash);
    return index;
}

void FlowTable::link(FlowIndex index, std::uint32_t hash) {
    std::size_t at = hash & mask_;
    while (slots_[at].index != no_flow) at = (at + 1) & mask_;
    slots_[at] = {hash, index};
    ++linked_;
}

void FlowTable::rename(FlowIndex index, const FlowKey& key, std::uint32_t hash) {
    unlink(index);
    Flow& flow = (*this)[index];
    flow.key = key;
    flow.plain_key = PlainKey(key);
    link(index, hash);
}

FlowIndex FlowTable::idlest() {
    constexpr unsigned candidates = 32;
    FlowIndex best = no_flow;
    bool best_finished = false;
    for (unsigned seen = 0, looked = 0; seen < candidates && looked < extent_; ++looked) {
        if (hand_ >= extent_) hand_ = 0;
        const FlowIndex index = hand_++;
        const Flow& flow = (*this)[index];
        if (!flow.live) continue;
        ++seen;
        if (best == no_flow || (flow.finished && !best_finished) ||
            (flow.finished == best_finished && flow.counts.last_ns < (*this)[best].counts.last_ns)) {
            best = index;
            best_finished = flow.finished;
        }
    }
    return best;
}

void FlowTable::unlink(FlowIndex index) {
    std::size_t at = hash_of((*this)[index].key) & mask_;
    while (slots_[at].index != index) {
        if (slots_[at].index == no_flow) return;  // not linked
        at = (at + 1) & mask_;
    }
    --linked_;
    // Close the hole: later slots of the same run move up where their own place allows it (Knuth 6.4, algorithm R).
    std::size_t hole = at;
    for (std::size_t next = (hole + 1) & mask_; slots_[next].index != no_flow; next = (next + 1) & mask_) {
        const std::size_t home = slots_[next].hash & mask_;
        if (((next - home) & mask_) >= ((next - hole) & mask_)) {
            slots_[hole] = slots_[next];
            hole = next;
        }
    }
    slots_[hole] = {};
}

void FlowTable::retire(FlowIndex index) {
    Flow& flow = (*this)[index];
    if (flow.finished) return;
    unlink(index);
    flow.finished = true;
}

void FlowTable::remove(FlowIndex index) {
    Flow& flow = (*this)[index];
    if (!flow.finished) unlink(index);
    flow.live = false;
    --live_;
    free_.push_back(index);
}

void FlowTable::release_block(std::size_t block) {
    std::free(chunks_[block]);
    chunks_[block] = nullptr;
}

std::size_t FlowTable::octets() const {
    return slots_.capacity() * sizeof(Slot) + extent_ * sizeof(Flow) + free_.capacity() * sizeof(FlowIndex);
}

}  // namespace metrics::measure::flow
