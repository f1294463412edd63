#pragma once
#include <cerrno>
#include <unistd.h>
#include <utility>

namespace base {

/// Owns a file descriptor and closes it; a negative number is not a descriptor. The code that opens a descriptor sets
/// close-on-exec. Closing keeps errno, so that a function can return while errno still says what failed. Needs only
/// libc and no exceptions: the library that runs inside other programs uses it.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) noexcept : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { reset(); }

    int number() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

    /// Leaves closing to the caller.
    int release() noexcept { return std::exchange(number_, -1); }
    /// Closes the present descriptor and owns `number` from now on.
    void reset(int number = -1) noexcept {
        const int old = std::exchange(number_, number);
        if (old < 0) return;
        const int code = errno;
        ::close(old);
        errno = code;
    }

private:
    int number_ = -1;
};

}  // namespace base
