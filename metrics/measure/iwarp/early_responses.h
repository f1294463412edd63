#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace metrics::inline measure::iwarp {

/// Responses that were delivered before their requests. The requests of a capture's first responses may have passed
/// before it began. While FPDU boundaries are looked for, or a hole is waited for, one direction may lag after the
/// other. A request that passed before such a response, and is delivered after it, is answered already. So is a request
/// that passed after its response, because its time stamp is from another clock: the response acknowledges the request.
/// Keeps the latest 64.
class EarlyResponses {
public:
    struct Request {
        std::uint64_t frame = 0;  ///< that held its first byte
        std::uint64_t end = 0;    ///< its position after its last byte
        std::int64_t passed_ns = 0;
        bool atomic = false;
        std::uint16_t mark = 0;  ///< as of a response
    };
    struct Response {
        std::uint64_t first_frame = 0;   ///< that held its first byte
        std::int64_t passed_ns = 0;      ///< when its last one passed
        bool atomic = false;             ///< else of a READ
        bool counted = false;            ///< its requester's flow was known, and has it among its messages
        bool forgotten = false;          ///< it was assumed to answer a request that was given up
        std::uint16_t mark = 0;          ///< what it repeats of its request; 0: unknown
        std::uint64_t acknowledged = 0;  ///< up to where its sender has what the requester sent; 0: unknown
    };
    void note(const Response& response) {
        responses_[(head_ + count_) % capacity] = response;
        if (count_ < capacity)
            ++count_;
        else
            head_ = static_cast<std::uint8_t>((head_ + 1) % capacity);
    }
    /// The response to the next request. Responses that began before the request, or of the other kind, answer earlier
    /// requests, and are forgotten. No value if none is left.
    std::optional<Response> answer_to(const Request& request) {
        while (count_ != 0) {
            const Response oldest = responses_[head_];
            head_ = static_cast<std::uint8_t>((head_ + 1) % capacity);
            --count_;
            if (oldest.atomic == request.atomic && (oldest.first_frame > request.frame || overtook(oldest, request)))
                return oldest;
        }
        return std::nullopt;
    }
    bool empty() const { return count_ == 0; }

private:
    /// Whether the response, which was stamped first, is to the request all the same.
    static bool overtook(const Response& response, const Request& request) {
        const bool differs = response.mark != 0 && request.mark != 0 && response.mark != request.mark;
        return response.acknowledged != 0 && response.acknowledged >= request.end && !differs &&
               response.passed_ns <= request.passed_ns &&
               base::elapsed(response.passed_ns, request.passed_ns) < clocks_apart_ns;
    }

    /// Time stamps of two queues of an adapter, or of two adapters, differ by less.
    static constexpr std::uint64_t clocks_apart_ns = 1'000'000;
    static constexpr unsigned capacity = 64;
    std::array<Response, capacity> responses_{};
    std::uint8_t head_ = 0;
    std::uint8_t count_ = 0;
};

}  // namespace metrics::measure::iwarp
