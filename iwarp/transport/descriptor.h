#pragma once
#include <unistd.h>
#include <utility>

namespace iwarp::transport {

/// Owns a file descriptor; -1 is none.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) close(std::exchange(other.number_, -1));
        return *this;
    }
    ~Descriptor() { close(-1); }

    int number() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }
    void close() { close(-1); }

private:
    void close(int next) {
        if (number_ >= 0) ::close(number_);
        number_ = next;
    }
    int number_ = -1;
};

}  // namespace iwarp::transport
