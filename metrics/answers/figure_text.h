#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/answers/answer.h"

/// Figures as people read them, by the printer of base/quantities.h.
namespace metrics::inline answers {

std::string duration(double ns);             ///< "640 us"
std::string octets(double count);            ///< "64.0 KiB"
std::string bit_rate(double bytes_per_sec);  ///< "9.41 Gbit/s"
std::string percent(double share);           ///< "0.63 %"
std::string number(std::uint64_t value);     ///< "12,345"
std::string rough(double value);             ///< "3.14", "12,345"
/// "1 packet", "12 packets"; with `plural` where an s does not do.
std::string counted(std::uint64_t value, std::string_view singular, std::string_view plural = {});
std::string figure(const Evidence& evidence);  ///< its value with its unit

}  // namespace metrics::answers
