#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/figures/operation.h"

/// Which frame answered which message, worked out from what tshark prints of a capture's headers. For captures of one
/// connection in which nothing is lost: it knows no more than that.
namespace notes_test {

struct Answer {
    std::uint64_t frame = 0;  ///< in which the message ended
    metrics::Operation operation{};
    std::uint64_t response_frame = 0;  ///< 0: none
    bool operator==(const Answer&) const = default;
};

/// Absent where tshark is not installed.
std::optional<std::vector<Answer>> roce_answers(const std::string& path, std::uint32_t path_mtu);
/// By frame, from 0: the last one before it with a request, or a response, of the same PSN; 0: none.
std::optional<std::vector<std::uint64_t>> roce_repeats(const std::string& path);
std::optional<std::vector<Answer>> iwarp_answers(const std::string& path);

}  // namespace notes_test
