#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace metrics::inline measure::iwarp {

/// Responses that were delivered before their requests. The requests of a capture's first responses may have passed
/// before it began. While FPDU boundaries are looked for, or a hole is waited for, one direction may lag after the
/// other. A request that passed before such a response, and is delivered after it, is answered already. Keeps the
/// latest 64.
class EarlyResponses {
public:
    struct Response {
        std::uint64_t first_frame = 0;  ///< that held its first byte
        std::int64_t passed_ns = 0;     ///< when its last one passed
        bool atomic = false;            ///< else of a READ
        bool counted = false;           ///< its requester's flow was known, and has it among its messages
        bool forgotten = false;         ///< it was assumed to answer a request that was given up
    };
    void note(const Response& response) {
        responses_[(head_ + count_) % capacity] = response;
        if (count_ < capacity)
            ++count_;
        else
            head_ = static_cast<std::uint8_t>((head_ + 1) % capacity);
    }
    /// The response to the next request, which passed in `request_frame`. Responses that began before that, or of the
    /// other kind, answer earlier requests, and are forgotten. No value if none is left.
    std::optional<Response> answer_to(std::uint64_t request_frame, bool atomic) {
        while (count_ != 0) {
            const Response oldest = responses_[head_];
            head_ = static_cast<std::uint8_t>((head_ + 1) % capacity);
            --count_;
            if (oldest.first_frame > request_frame && oldest.atomic == atomic) return oldest;
        }
        return std::nullopt;
    }
    bool empty() const { return count_ == 0; }

private:
    static constexpr unsigned capacity = 64;
    std::array<Response, capacity> responses_{};
    std::uint8_t head_ = 0;
    std::uint8_t count_ = 0;
};

}  // namespace metrics::measure::iwarp
