#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// The peer's side of a script shares no code with the stack: numbers, CRC and formats are written out here once more.
namespace script {

using Octets = std::vector<std::byte>;
using View = std::span<const std::byte>;

/// A script that could not be read, or whose expectation was not met.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Appends the `size` low octets of `value`, the most significant first.
void put(Octets& out, std::uint64_t value, std::size_t size);
void put(Octets& out, View octets);
/// The first `size` octets as a number. Throws Failure where there are fewer.
std::uint64_t take(View& octets, std::size_t size);

/// "0a0b", shortened in the middle where it is longer than `most` octets.
std::string hex(View octets, std::size_t most = 40);
/// Throws Failure where it is not an even number of hexadecimal digits.
Octets from_hex(std::string_view text);
std::string hex_number(std::uint64_t value);

/// CRC-32C from the polynomial, as RFC 3720 section 12.1 describes it.
std::uint32_t crc32c(View octets);

}  // namespace script
