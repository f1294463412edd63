#pragma once
#include <cstddef>
#include <cstdint>

namespace model {

/// What happens in a conversation, each once in this number of segments; 0: never.
struct Talk {
    const char* name = "";
    std::uint32_t kinds = 1;  ///< of messages: 1 Writes, 2 and Sends, 3 and all others
    bool both = false;        ///< the other end asks, too
    std::uint32_t connections = 1;
    std::size_t max_flows = 1'000'000;
    std::uint32_t far = 0;    ///< so many times 2^30 octets were acknowledged before
    std::uint32_t begun = 3;  ///< connections whose set-up the capture does not hold
    std::uint32_t news = 0;   ///< acknowledgements on data
    std::uint32_t several = 0;
    std::uint32_t cut = 0;  ///< segments that end within an FPDU
    std::uint32_t windows = 0;
    std::uint32_t narrow = 0;  ///< windows that barely suffice, or do not
    std::uint32_t marks = 0;
    std::uint32_t losses = 0;
    std::uint32_t unseen = 0;  ///< segments that came through, but not to the tap
    std::uint32_t again = 0;
    std::uint32_t late = 0;
    std::uint32_t doubled = 0;
    std::uint32_t stray = 0;   ///< acknowledgements of what was acknowledged before, or never sent
    std::uint32_t probes = 0;  ///< one octet: keep-alives and window probes
    std::uint32_t leaps = 0;   ///< the sequence goes on far away
    std::uint32_t damage = 0;
    std::uint32_t offload = 0;   ///< ends whose adapter fills some checksums in after the tap
    std::uint32_t unsorted = 0;  ///< segments stamped before their predecessor
    std::uint32_t pauses = 0;
    std::uint32_t drops = 0;   ///< frames that the capture says it has lost
    std::uint32_t ends = 700;  ///< of connections; another one takes the ports
};

/// The host that has nothing to do with a conversation; those after it neither.
inline constexpr std::uint32_t bystander = 8;

/// When conversations begin.
inline constexpr std::int64_t talk_begins_ns = 1'700'000'000'000'000'000;

}  // namespace model
