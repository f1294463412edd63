#pragma once
#include <unistd.h>
#include <utility>

namespace service {

/// Closes a file descriptor when it goes.
class Descriptor {
public:
    explicit Descriptor(int value = -1) : value_(value) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            close();
            value_ = std::exchange(other.value_, -1);
        }
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const { return value_; }
    explicit operator bool() const { return value_ >= 0; }
    void close() {
        if (value_ >= 0) ::close(std::exchange(value_, -1));
    }

private:
    int value_;
};

}  // namespace service
