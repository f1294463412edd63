#pragma once
#include <cstdint>
#include <string>

/// Quantities as people write them. Each function sets `into`, or leaves it alone and returns what is wanted in place
/// of the value ("a number from 1 to 9"), to be followed by "is wanted".
namespace text {

std::string take_number(const std::string& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into);

/// "250ms", "1.5s", "10us", "2m", "1h", "7d", a plain number is seconds; at least 1 ns, at most 10 years.
std::string take_duration(const std::string& value, std::uint64_t& into_ns);

/// "10G", "2.5G", "800M": bits per second.
std::string take_rate(const std::string& value, std::uint64_t& into);

/// "64", "64K", "16M", "1GiB": octets, in powers of 1024.
std::string take_size(const std::string& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into);

/// "on" or "off".
std::string take_switch(const std::string& value, bool& into);

}  // namespace text
