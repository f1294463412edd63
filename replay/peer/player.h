#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/peer/conversation.h"
#include "replay/peer/message_comparison.h"
#include "replay/peer/steering.h"

namespace replay::inline peer {

struct PlayerSettings {
    std::int64_t timeout_ns = 10'000'000'000;  ///< for messages of the capture that the live peer does not send
    /// At the end: for messages that only the live peer sends; no longer than the timeout.
    std::int64_t quiet_ns = 300'000'000;
};

struct PlayReport {
    std::uint64_t pieces = 0;  ///< start frames, FPDUs and the rest of the played side
    std::uint64_t pieces_sent = 0;
    std::uint64_t octets_sent = 0;
    std::uint64_t captured_messages = 0;  ///< of the peer
    std::uint64_t live_messages = 0;
    std::uint64_t recut = 0;  ///< messages in a different number of FPDUs; not a difference
    std::vector<Difference> differences = {};
    std::vector<std::string> notes = {};
    std::string error = {};  ///< why it ended early; else empty

    bool equal() const { return differences.empty() && pieces_sent == pieces && error.empty(); }
};

/// Plays one side of a captured connection against a live peer. Its bytes are sent FPDU by FPDU, each once the peer has
/// sent everything that it had sent before it in the capture; references to the peer's memory are replaced by the live
/// peer's values. Bytes in, bytes out: no clock and no socket. It does not wait for the times of the capture. The bytes
/// of the peer are held for the comparison, up to a limit.
class Player {
public:
    static constexpr std::size_t more_octets = std::size_t{16} << 20;  ///< the most bytes beyond what the capture has
                                                                       ///< of the peer
    static constexpr std::size_t more_messages = 4096;

    /// `initiator`: plays that side. The conversation must outlive the player.
    Player(const Conversation& conversation, bool initiator, const PlayerSettings& settings);

    /// The connection is there.
    void begin(std::int64_t now_ns);
    void receive(base::Bytes octets, std::int64_t now_ns);
    /// The peer ended its stream, or the connection is lost.
    void peer_ended(StreamEnd how, std::int64_t now_ns);
    /// Time has passed.
    void tick(std::int64_t now_ns);

    base::Bytes output() const { return base::Bytes{output_}.subspan(output_sent_); }
    void sent(std::size_t octets, std::int64_t now_ns);
    /// What to do with our stream once output() is empty.
    StreamEnd our_end() const { return our_end_; }

    bool over() const { return over_; }
    std::optional<std::int64_t> deadline_ns() const;
    /// Once it is over.
    PlayReport report() const;

private:
    using Counts = std::array<std::size_t, channels>;

    const ConversationSide& played() const { return conversation_.sides[played_]; }
    const ConversationSide& peer() const { return conversation_.sides[1 - played_]; }
    const Counts& wanted_before(std::uint64_t frame) const;
    bool peer_end_wanted_before(std::uint64_t frame) const;
    bool ready_for(std::uint64_t frame) const;
    bool all_said() const;
    void take_pieces();
    void take_message(Message message);
    std::size_t captured_octets() const { return peer().octets.size() + peer().missing; }
    std::string excess() const;
    void advance(std::int64_t now_ns);
    void send_item(const ConversationSide::Item& item);
    void waive(std::uint64_t frame);
    void give_up(std::int64_t now_ns);
    void end_if_done(std::int64_t now_ns);
    void note_regions(PlayReport& report) const;

    const Conversation& conversation_;
    unsigned played_;
    PlayerSettings settings_;
    Steering steering_;
    bool crc_;
    std::array<std::vector<std::size_t>, channels> captured_by_channel_;  ///< numbers of the peer's messages
    std::vector<std::uint64_t> frames_;  ///< frames in which the peer's messages ended, ascending
    std::vector<Counts> before_;         ///< the number of each channel's messages among the first of those
    std::array<std::vector<Message>, channels> live_;
    Counts waived_{};  ///< the number that is no longer waited for
    bool end_waived_ = false;
    PieceCutter cutter_;
    MessageBuilder builder_;
    std::vector<std::byte> input_;
    std::size_t received_ = 0;       ///< bytes
    std::size_t captured_came_ = 0;  ///< messages that the capture has too
    std::size_t not_captured_came_ = 0;
    std::string error_;
    std::size_t next_ = 0;  ///< the next item to send
    std::vector<std::byte> output_;
    std::size_t output_sent_ = 0;
    std::uint64_t octets_sent_ = 0;
    StreamEnd our_end_ = StreamEnd::open;
    StreamEnd peer_end_ = StreamEnd::open;
    bool begun_ = false;
    bool over_ = false;
    bool timed_out_ = false;
    std::int64_t progress_ns_ = 0;
    std::int64_t done_ns_ = 0;  ///< when everything was sent, and nothing came since; 0: not yet
    std::int64_t said_ns_ = 0;  ///< when everything was sent; 0: not yet
};

}  // namespace replay::peer
