#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace upper {

/// A queue in one piece of memory that grows by half and never shrinks: nothing is allocated after warm-up.
template <class T>
class Ring {
public:
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T& operator[](std::size_t index) { return slots_[place(first_ + index)]; }
    const T& operator[](std::size_t index) const { return slots_[place(first_ + index)]; }
    T& front() { return (*this)[0]; }
    T& back() { return (*this)[size_ - 1]; }

    T& push_back(const T& value) {
        if (size_ == slots_.size()) grow();
        ++size_;
        back() = value;
        return back();
    }
    void pop_front() {
        first_ = place(first_ + 1);
        --size_;
    }
    /// Puts an element before the one at `index`; takes time in proportion to those after it.
    T& insert(std::size_t index, const T& value) {
        push_back(value);
        for (std::size_t at = size_ - 1; at > index; --at) std::swap((*this)[at], (*this)[at - 1]);
        return (*this)[index];
    }
    void clear() {
        first_ = 0;
        size_ = 0;
    }

private:
    std::size_t place(std::size_t at) const { return at < slots_.size() ? at : at - slots_.size(); }
    void grow() {
        std::vector<T> larger(slots_.empty() ? 2 : slots_.size() + (slots_.size() + 1) / 2);
        for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
        slots_.swap(larger);
        first_ = 0;
    }

    std::vector<T> slots_ = {};
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace upper
