#include "iwarp/mpa/batch.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "wire/mpa.h"

namespace iwarp::mpa {
namespace {
// Headers and CRCs of a whole batch fit the first; small payloads, or FPDUs with markers, take more.
constexpr std::size_t first_chunk = 4096;
constexpr std::size_t next_chunk = std::size_t{68} * 1024;
static_assert(next_chunk >= wire::mpa_longest);
}  // namespace

bool Batch::full() const {
    return ends_.size() >= max_fpdus || added_ >= std::max<std::size_t>(most_octets_, 1) ||
           pieces_.size() + max_payload_pieces + 2 > max_pieces;
}

std::span<const base::Bytes> Batch::next_fpdu() const {
    next_.clear();
    if (empty()) return next_;
    std::size_t left = ends_[first_end_] - consumed_;
    for (std::size_t i = first_; left != 0; ++i) {
        const base::Bytes piece = pieces_[i].first(std::min(left, pieces_[i].size()));
        next_.push_back(piece);
        left -= piece.size();
    }
    return next_;
}

void Batch::consume(std::size_t octets) {
    assert(octets <= this->octets());
    consumed_ += octets;
    if (consumed_ >= added_) {
        clear();
        return;
    }
    for (; octets >= pieces_[first_].size(); ++first_) octets -= pieces_[first_].size();
    pieces_[first_] = pieces_[first_].subspan(octets);
    while (ends_[first_end_] <= consumed_) ++first_end_;
}

void Batch::clear() {
    pieces_.clear();
    ends_.clear();
    chunk_ = chunk_used_ = first_ = first_end_ = added_ = consumed_ = 0;
    own_last_ = false;
}

void Batch::add_chunk(std::size_t octets) {
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(octets), octets});
    chunk_octets_ += octets;
    part_.set(chunk_octets_ - std::min(chunk_octets_, first_chunk));
}

void Batch::detach() {
    const std::size_t size = octets();
    if (size == 0) return;
    do {
        ++chunk_;
    } while (chunk_ < chunks_.size() && chunks_[chunk_].size < size);
    if (chunk_ >= chunks_.size()) {
        chunk_ = chunks_.size();
        const std::size_t rounded = std::bit_ceil(size);  // a few sizes, used again
        add_chunk(rounded);
    }
    std::byte* const memory = chunks_[chunk_].memory.get();
    std::byte* to = memory;
    for (const base::Bytes piece : pieces()) to = std::ranges::copy(piece, to).out;
    pieces_.assign(1, {memory, size});
    first_ = 0;
    chunk_used_ = size;
    own_last_ = true;
}

void Batch::shrink() {
    if (!empty()) return;
    *this = Batch{memory_};  // an assignment of `{}` to a vector would keep its memory
}

std::byte* Batch::append(std::size_t octets) {
    if (pieces_.capacity() < max_pieces) pieces_.reserve(max_pieces);
    while (chunk_ < chunks_.size() && chunks_[chunk_].size - chunk_used_ < octets) {
        ++chunk_;
        chunk_used_ = 0;
        own_last_ = false;
    }
    if (chunk_ == chunks_.size()) {
        const std::size_t size = std::max(octets, chunks_.empty() ? first_chunk : next_chunk);
        add_chunk(size);
    }
    std::byte* const memory = chunks_[chunk_].memory.get() + chunk_used_;
    if (own_last_)
        pieces_.back() = {pieces_.back().data(), pieces_.back().size() + octets};
    else
        pieces_.emplace_back(memory, octets);
    own_last_ = true;
    chunk_used_ += octets;
    added_ += octets;
    return memory;
}

void Batch::append(base::Bytes octets) {
    if (octets.empty()) return;
    pieces_.push_back(octets);
    own_last_ = false;
    added_ += octets.size();
}

}  // namespace iwarp::mpa
