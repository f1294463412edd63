#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace metrics::inline figures {

/// The operation of a work request, with the same names for all transports. IBTA vol. 1, 9.4; RFC 5040, 5.; RFC 7306.
enum class Operation : std::uint8_t {
    send,
    send_immediate,
    send_invalidate,
    write,
    write_immediate,
    read,
    fetch_add,
    compare_swap,
};
inline constexpr std::size_t operation_count = 8;
inline constexpr std::array<std::string_view, operation_count> operation_names{
    "send", "send_immediate", "send_invalidate", "write", "write_immediate", "read", "fetch_add", "compare_swap"};

constexpr std::size_t index_of(Operation operation) { return static_cast<std::size_t>(operation); }
constexpr std::string_view name_of(Operation operation) { return operation_names[index_of(operation)]; }

/// READ and atomics: the responder answers them with data, and ORD limits how many may be outstanding.
constexpr bool wants_response(Operation operation) { return operation >= Operation::read; }

}  // namespace metrics::figures
