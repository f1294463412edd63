#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace metrics::inline measure::inline flow {

/// Objects of one kind, found by number, allocated and freed without system calls once it has grown. Addresses stay
/// valid; not thread-safe.
template <class T>
class Slab {
public:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::uint32_t chunk_bits = 10;
    static constexpr std::uint32_t chunk = 1u << chunk_bits;

    explicit Slab(std::uint32_t max_objects) : max_(max_objects) {}

    /// A fresh object's number; `none` where the bound is reached.
    std::uint32_t take() {
        if (!free_.empty()) {
            const std::uint32_t index = free_.back();
            free_.pop_back();
            (*this)[index] = T{};
            return index;
        }
        if (size_ >= max_) {
            ++refused_;
            return none;
        }
        if (size_ == chunks_.size() * chunk) {
            chunks_.push_back(std::make_unique<T[]>(chunk));
            free_.reserve(chunks_.size() * chunk);  // returning an object must not allocate
        }
        return size_++;
    }
    void give_back(std::uint32_t index) { free_.push_back(index); }

    T& operator[](std::uint32_t index) { return chunks_[index >> chunk_bits][index & (chunk - 1)]; }
    const T& operator[](std::uint32_t index) const { return chunks_[index >> chunk_bits][index & (chunk - 1)]; }

    std::size_t octets() const { return chunks_.size() * chunk * sizeof(T) + free_.capacity() * sizeof(std::uint32_t); }
    std::uint64_t refused() const { return refused_; }

private:
    std::uint32_t max_;
    std::uint32_t size_ = 0;
    std::uint64_t refused_ = 0;
    std::vector<std::unique_ptr<T[]>> chunks_;
    std::vector<std::uint32_t> free_;
};

}  // namespace metrics::measure::flow
