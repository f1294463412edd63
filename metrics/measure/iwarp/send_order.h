#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

namespace metrics::inline measure::iwarp {

/// The values that show in which order a sender made its segments: TSval (RFC 7323) and IPv4's identification, if its
/// sender counts it up.
struct SendOrder {
    std::uint32_t timestamp = 0;
    std::uint16_t identification = 0;
    bool has_timestamp = false;
    bool has_identification = false;

    /// Below zero: made before `other`; above: after it; 0: unknown.
    int compare(const SendOrder& other) const {
        if (has_timestamp && other.has_timestamp && timestamp != other.timestamp)
            return static_cast<std::int32_t>(timestamp - other.timestamp) < 0 ? -1 : 1;
        if (has_identification && other.has_identification && identification != other.identification) {
            const auto ahead = static_cast<std::uint16_t>(identification - other.identification);
            return static_cast<std::int16_t>(ahead) < 0 ? -1 : 1;
        }
        return 0;
    }
};

/// The order of the segments of one sender. It learns whether identifications go up by small steps from one new segment
/// to the next: RFC 6864 leaves them free.
class SendOrderTracker {
public:
    SendOrder order_of(std::optional<std::uint32_t> timestamp, std::optional<std::uint16_t> identification) const {
        return {timestamp.value_or(0), identification.value_or(0), timestamp.has_value(),
                identification.has_value() && counts_identification_up()};
    }
    bool counts_identification_up() const { return orderly_ >= orderly_enough; }
    /// A segment with new data passes.
    void learn(const SendOrder& now) {
        const auto step = static_cast<std::uint16_t>(now.identification - newest_.identification);
        if (step != 0 && step <= small_step)
            orderly_ = std::min<std::uint8_t>(static_cast<std::uint8_t>(orderly_ + 1), most_orderly);
        else
            orderly_ = static_cast<std::uint8_t>(orderly_ / 2);
        newest_ = now;
    }
    /// A segment with old data passes.
    void keep_newest(const SendOrder& now) {
        if (now.compare(newest_) > 0) newest_ = now;
    }
    bool is_before_newest(const SendOrder& order) const { return order.compare(newest_) < 0; }

private:
    static constexpr std::uint16_t small_step = 64;
    static constexpr std::uint8_t most_orderly = 16;
    static constexpr std::uint8_t orderly_enough = 4;

    SendOrder newest_;          ///< of the segment sent last, as far as seen
    std::uint8_t orderly_ = 0;  ///< how regularly the sender counts its identification up
};

}  // namespace metrics::measure::iwarp
