#pragma once
#include <cstdint>
#include <string>

/// Moments as people write them, by the time zone of the process (TZ).
namespace base {

/// "2026-11-21 10:00", "2026-11-21", "10:00" (today), each with seconds and fractions of them optionally, and with a
/// zone as in RFC 3339 ("2026-11-21T10:00:00Z", "...+01:00") where it has a date; "-1h", "-30m" before now; "now";
/// "@1795255200" since 1970. Sets `into_ns` (since 1970-01-01 UTC), or returns what is expected instead of the value.
std::string take_moment(const std::string& value, std::int64_t now_ns, std::int64_t& into_ns);

/// "2026-11-21 10:00:00", local time.
std::string moment(std::int64_t time_ns);

}  // namespace base
