#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "wire/mpa.h"

namespace replay::inline peer {

/// Messages of one kind are compared in their order; the order of different kinds may vary from run to run.
enum class Channel : std::uint8_t {
    start,
    send,
    request,
    terminate,
    atomic_response,
    write,
    read_response,
    unknown,
    count_
};
inline constexpr std::size_t channels = static_cast<std::size_t>(Channel::count_);

/// A message of one side: a start frame, or the joined DDP segments of one message.
struct Message {
    Channel channel = Channel::unknown;
    std::uint8_t opcode = 0;           ///< RDMAP
    std::uint8_t version = 1;          ///< RDMAP
    std::uint32_t queue = 0;           ///< untagged
    std::uint32_t msn = 0;             ///< untagged
    std::uint32_t stag = 0;            ///< tagged; in a Send with Invalidate the STag to invalidate
    std::uint64_t offset = 0;          ///< tagged
    std::vector<std::byte> body = {};  ///< private data, payload, or the header of a request or a Terminate
    std::optional<wire::MpaStart> start = {};
    std::uint64_t first_frame = 0;  ///< of the capture, or 0
    std::uint64_t last_frame = 0;
    std::uint32_t segments = 0;
    std::uint32_t wrong_crcs = 0;

    bool tagged() const { return channel == Channel::write || channel == Channel::read_response; }
};

/// "Send msn 3, 16 bytes", "Terminate: DDP tagged buffer error: invalid STag".
std::string text_of(const Message& message);

/// Turns ULPDUs of one direction into messages.
class MessageBuilder {
public:
    /// The message that this segment completes, if any. A ULPDU shorter than its headers is a message of its own, of
    /// unknown kind.
    std::optional<Message> take(const std::vector<std::byte>& ulpdu, bool crc_right, std::uint64_t first_frame,
                                std::uint64_t last_frame);
    /// The longest message without its last segment.
    const Message* longest_open() const;
    static Message start_frame(base::Bytes octets, std::uint64_t first_frame, std::uint64_t last_frame);

private:
    std::array<std::optional<Message>, channels> open_{};
};

/// The error of a Terminate, in the RFC's order of bytes, whatever its sender's order.
std::optional<std::array<std::uint8_t, 3>> terminate_error(const Message& message);

}  // namespace replay::peer
