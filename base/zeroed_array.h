#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace base {

/// A fixed number of objects, each with the value zero in all its bytes at first. calloc(3) leaves it to the kernel to
/// clear a page when the page is first used, so a large table costs a short capture nothing.
template <class T>
class ZeroedArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    ZeroedArray() = default;
    explicit ZeroedArray(std::size_t size) : objects_(static_cast<T*>(std::calloc(size, sizeof(T)))), size_(size) {
        if (!objects_ && size > 0) throw std::bad_alloc();
    }
    ZeroedArray(ZeroedArray&& other) noexcept
        : objects_(std::move(other.objects_)), size_(std::exchange(other.size_, 0)) {}
    ZeroedArray& operator=(ZeroedArray&& other) noexcept {
        objects_ = std::move(other.objects_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }

    T& operator[](std::size_t place) { return objects_[place]; }
    const T& operator[](std::size_t place) const { return objects_[place]; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

private:
    struct Free {
        void operator()(T* objects) const { std::free(objects); }
    };
    std::unique_ptr<T[], Free> objects_ = {};
    std::size_t size_ = 0;
};

}  // namespace base
