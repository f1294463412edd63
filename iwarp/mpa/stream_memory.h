#pragma once
#include <cstddef>
#include <limits>
#include <utility>

namespace iwarp::mpa {

/// The memory of a device's streams for bytes under way, in either direction, and its limit: a peer can fill it by
/// sending a part of something, and by not reading. One for each device, used only by its thread.
class StreamMemory {
public:
    /// The memory of one holder; returned at its end.
    class Part {
    public:
        explicit Part(StreamMemory* of = nullptr) : of_(of) {}
        ~Part() { set(0); }
        Part(Part&& other) noexcept : of_(other.of_), octets_(std::exchange(other.octets_, 0)) {}
        Part& operator=(Part&& other) noexcept {
            set(0);
            of_ = other.of_;
            octets_ = std::exchange(other.octets_, 0);
            return *this;
        }
        void set(std::size_t octets) {
            if (of_ != nullptr) of_->held_ += octets - octets_;
            octets_ = octets;
        }

    private:
        StreamMemory* of_;
        std::size_t octets_ = 0;
    };

    void limit(std::size_t octets) { limit_ = octets; }
    std::size_t held() const { return held_; }
    bool exceeded() const { return held_ > limit_; }
    std::size_t left() const { return held_ < limit_ ? limit_ - held_ : 0; }

private:
    std::size_t limit_ = std::numeric_limits<std::size_t>::max();
    std::size_t held_ = 0;
};

}  // namespace iwarp::mpa
