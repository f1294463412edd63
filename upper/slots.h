#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace upper {

inline constexpr std::uint16_t no_slot = 0xffff;

/// Elements by slot number, in pieces of memory of eight each: an element never moves, and no more than seven are
/// unused. Memory never shrinks: nothing is allocated after warm-up.
template <class T>
class Slots {
public:
    std::uint32_t size() const { return size_; }
    T& operator[](std::uint32_t slot) { return (*pieces_[slot / in_piece])[slot % in_piece]; }
    const T& operator[](std::uint32_t slot) const { return (*pieces_[slot / in_piece])[slot % in_piece]; }
    /// Adds an element; its slot.
    std::uint16_t add() {
        if (size_ % in_piece == 0) pieces_.push_back(std::make_unique<std::array<T, in_piece>>());
        return static_cast<std::uint16_t>(size_++);
    }

private:
    static constexpr std::uint32_t in_piece = 8;
    std::vector<std::unique_ptr<std::array<T, in_piece>>> pieces_ = {};
    std::uint32_t size_ = 0;
};

}  // namespace upper
