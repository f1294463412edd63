#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What the two ends of a re-enactment exchange in addition: private data of the connections' set-up, and messages on a
/// connection of their own, so that the re-enacted connections carry nothing but their operations. All numbers are
/// big-endian. docs/replay.md has the layout.
namespace replay::inline endpoints {

/// What both ends must agree on; the initiator decides. Private data of the control connection's Request.
struct Terms {
    std::uint64_t fingerprint = 0;
    std::uint64_t loops = 1;
    std::uint32_t copies = 1;
    std::optional<double> speed = 1;  ///< no value: as fast as possible
    std::vector<std::byte> encode() const;
    static std::optional<Terms> decode(std::span<const std::byte> data);
};

/// The memory of an end that its peer may use. Private data of Request and Reply of each re-enacted connection.
struct Advertisement {
    static constexpr std::size_t max_invalidatable = 32;
    std::uint32_t connection = 0;
    std::uint32_t copy = 0;
    std::uint8_t side = 0;        ///< that the initiator plays
    std::uint32_t receives = 0;   ///< that are posted at once
    std::uint32_t data_stag = 0;  ///< to be read and written, from offset 0
    std::uint64_t data_octets = 0;
    std::uint32_t atomics_stag = 0;  ///< the same, eight bytes at offset 0
    /// STags to invalidate one after the other, and again from the first, each time with the next key: low byte plus 1.
    std::vector<std::uint32_t> invalidatable = {};
    std::vector<std::byte> encode() const;
    static std::optional<Advertisement> decode(std::span<const std::byte> data);
};

/// Why a Request is refused. Private data of the rejecting Reply.
struct Refusal {
    std::string reason = {};
    std::vector<std::byte> encode() const;
    static std::optional<Refusal> decode(std::span<const std::byte> data);
};

/// A message of the control connection.
struct ControlMessage {
    static constexpr std::size_t octets = 4096;
    static constexpr std::size_t max_counts = 200;
    enum class Type : std::uint8_t {
        start = 1,     ///< the re-enactment begins now
        arrived = 2,   ///< `counts`: messages that have come on connections since they began
        finished = 3,  ///< this end has done everything
        failed = 4,    ///< `text`: why
    };
    struct Count {
        std::uint32_t connection = 0;
        std::uint32_t copy = 0;
        std::uint64_t messages = 0;
    };
    Type type = Type::arrived;
    std::uint64_t taken = 0;  ///< control messages that this end has received
    std::vector<Count> counts = {};
    std::string text = {};
    /// Returns the number of bytes in `out`.
    std::size_t encode(std::span<std::byte> out) const;
    static std::optional<ControlMessage> decode(std::span<const std::byte> data);
};

}  // namespace replay::endpoints
