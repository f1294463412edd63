#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace explain {

/// The time at the beginning of a line, since 1970: ISO 8601, syslog, `dmesg -T`, glog, UCX, libfabric. Times without a
/// zone are local. A time without a year gets the year that brings it nearest to `reference_ns`. No value if the line
/// has no date.
std::optional<std::int64_t> time_of_line(std::string_view line, std::int64_t reference_ns);

}  // namespace explain
