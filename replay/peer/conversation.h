#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/source.h"
#include "dissect/dissection.h"
#include "replay/peer/message.h"
#include "replay/peer/pieces.h"

namespace replay::inline peer {

/// One end of a TCP connection.
struct ConversationEnd {
    std::array<std::byte, 16> address = {};  ///< IPv4: the first four
    std::uint8_t address_octets = 0;
    std::uint16_t port = 0;
    auto operator<=>(const ConversationEnd&) const = default;
};
std::string text_of(const ConversationEnd& end);

/// How a side ended its stream.
enum class StreamEnd : std::uint8_t { open, closed, reset };

/// The bytes that one side of a captured connection sent.
struct ConversationSide {
    struct Item {
        PieceKind kind = PieceKind::rest;
        std::size_t begin = 0;  ///< in bytes
        std::size_t end = 0;
        std::uint32_t phase = 0;
        bool crc_right = false;
        std::uint64_t first_frame = 0;  ///< with its first byte
        std::uint64_t last_frame = 0;
    };
    ConversationEnd end = {};
    std::vector<std::byte> octets = {};
    std::vector<Item> items = {};
    std::vector<Message> messages = {};
    bool markers = false;  ///< in its FPDUs
    StreamEnd ended = StreamEnd::open;
    std::uint64_t end_frame = 0;
    std::uint64_t missing = 0;  ///< unusable bytes after a gap in the capture
};

struct Conversation {
    std::array<ConversationSide, 2> sides = {};  ///< the initiator and the responder
    bool crc = false;                            ///< one of the start frames requests CRCs
    bool rejected = false;
};

/// The two requested ends; the first connection between them that begins with start frames is chosen.
struct WantedEnds {
    ConversationEnd one = {};
    ConversationEnd other = {};
};

/// Turns frames into one iWARP connection from its beginning. Handles retransmission, reordering and overlap; holds at
/// most `most_octets` bytes of both sides together.
class ConversationReader {
public:
    static constexpr std::size_t most_octets = std::size_t{256} << 20;

    explicit ConversationReader(const WantedEnds& ends);
    void take(const wire::Frame& frame);
    /// The conversation, or why there is none to play.
    base::Result<Conversation, std::string> finish();

private:
    struct Mark {
        std::size_t begin = 0;  ///< bytes from here on came in this frame
        std::uint64_t frame = 0;
    };
    struct Stream {
        bool begun = false;
        std::uint32_t base = 0;  ///< sequence number of the first byte
        std::vector<std::byte> octets = {};
        std::vector<Mark> marks = {};
        std::map<std::size_t, std::vector<std::byte>> ahead = {};  ///< by position
        std::map<std::size_t, std::uint64_t> ahead_frames = {};
        StreamEnd ended = StreamEnd::open;
        std::uint64_t end_frame = 0;
    };
    void take_segment(Stream& stream, const dissect::TcpSummary& tcp, base::Bytes payload, std::uint64_t frame);
    void append(Stream& stream, std::size_t at, base::Bytes payload, std::uint64_t frame);
    static void cut(const Stream& stream, ConversationSide& side);
    static void list_messages(ConversationSide& side, bool crc);
    static std::uint64_t frame_at(const Stream& stream, std::size_t position);

    std::array<ConversationEnd, 2> ends_;
    std::array<Stream, 2> streams_;
    bool over_ = false;  ///< a second connection between the same ends has begun
    bool too_long_ = false;
    dissect::Dissection dissection_;
};

}  // namespace replay::peer
