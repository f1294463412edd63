#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "dissect/dissection.h"

namespace dissect::output {

/// TCP sequence numbers counted from the first one seen of a connection, as tcpdump without -S prints them. Remembers
/// `capacity` connections in a table of fixed size: a connection whose place is needed by another is forgotten, and its
/// count restarts.
class TcpSequences {
public:
    struct Numbers {
        std::uint32_t sequence = 0;
        std::uint32_t acknowledgment = 0;
    };
    static constexpr std::size_t capacity = 4096;  ///< a power of two

    /// Called for every TCP segment, in order. The first segment of a connection, and every SYN, keeps its number.
    Numbers next(const Dissection& dissection, base::Bytes bytes);

private:
    /// The addresses and ports of both ends, the smaller end first.
    struct Key {
        std::array<std::byte, 36> octets{};
        bool operator==(const Key&) const = default;
    };
    struct Entry {
        Key key;
        bool used = false;
        std::array<std::uint32_t, 2> base{};  ///< by end
    };
    std::vector<Entry> entries_;  ///< empty until the first segment
};

}  // namespace dissect::output
