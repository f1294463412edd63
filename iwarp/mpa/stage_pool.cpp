#include "iwarp/mpa/stage_pool.h"

#include "wire/mpa.h"

namespace iwarp::mpa {

std::size_t StagePool::octets(Size size) {
    // An FPDU of Ethernet's size, and the longest of all.
    return size == Size::small ? 4096 : wire::mpa_longest;
}

StagePool::Memory StagePool::take(Size size) {
    std::vector<Memory>& kept = size == Size::small ? small_ : large_;
    if (kept.empty()) return std::make_unique_for_overwrite<std::byte[]>(octets(size));
    Memory memory = std::move(kept.back());
    kept.pop_back();
    return memory;
}

void StagePool::give(Size size, Memory memory) {
    std::vector<Memory>& kept = size == Size::small ? small_ : large_;
    if (kept.size() < (size == Size::small ? most_small : most_large)) kept.push_back(std::move(memory));
}

std::size_t StagePool::kept_octets() const {
    return small_.size() * octets(Size::small) + large_.size() * octets(Size::large);
}

}  // namespace iwarp::mpa
