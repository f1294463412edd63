#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace metrics::inline measure::iwarp {

/// When bytes were sent, until they are acknowledged: for the round trip. If more segments are in flight than there are
/// marks, every second, fourth, ... segment is marked. Marking only those that find room would prefer quick answers.
class SentMarks {
public:
    /// New bytes up to `end` have passed. Times must not decrease: an earlier time counts as the latest one.
    void sent(std::uint64_t end, std::int64_t now_ns);
    /// Everything before `position` is acknowledged. Returns the round trip of the bytes just before it, ns; absent
    /// where these are not marked: earlier ones waited for a delayed acknowledgement as well.
    std::optional<std::uint64_t> acknowledged(std::uint64_t position, std::int64_t now_ns);
    /// Something was sent again: an acknowledgement does not show which of the two it answers (Karn).
    void clear() { count_ = 0; }

private:
    static constexpr std::uint8_t capacity = 16;
    struct Mark {
        std::uint32_t end = 0;
        std::uint32_t after_ns = 0;  ///< since `base_ns_`
    };
    Mark& at(std::uint8_t place) { return marks_[(head_ + place) % capacity]; }
    bool rebase(std::int64_t now_ns);
    void thin_out();

    std::array<Mark, capacity> marks_{};
    std::int64_t base_ns_ = 0;
    std::uint8_t head_ = 0;
    std::uint8_t count_ = 0;
    std::uint8_t shift_ = 0;  ///< one segment in 2^shift is marked
    std::uint8_t skipped_ = 0;
};

}  // namespace metrics::measure::iwarp
