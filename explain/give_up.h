#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "explain/facts.h"

namespace explain {

/// How long it took until a request was given up.
struct GiveUp {
    std::optional<std::uint64_t> ns = {};
    std::string formula = {};  ///< empty if no timer is involved
};

/// What a capture says about the receiver's side of a retry.
struct ReceiverSettings {
    std::optional<unsigned> retries = {};        ///< RNR retry count; 7 is for ever
    std::optional<std::uint64_t> timer_ns = {};  ///< that the RNR NAKs ask for
};

/// 4.096 us x 2^timeout. IBTA vol. 1, 9.7.6.1.3. No value for 0, which means for ever, and above 31.
std::optional<std::uint64_t> ack_timeout_ns(unsigned timeout);
/// The exponent whose time is nearest to `seconds`.
unsigned timeout_of_seconds(double seconds);

GiveUp give_up(const Facts& facts, const RetrySettings& settings, const ReceiverSettings& receiver = {});

/// The longest time before a line in which its cause may have begun. Adapters may wait up to four times as long as the
/// formula says.
std::uint64_t window_ns(const GiveUp& give_up);

}  // namespace explain
