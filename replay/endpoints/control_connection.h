#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "iwarp/iwarp.h"
#include "replay/endpoints/control_messages.h"

namespace replay::inline endpoints {

/// The connection through which the two ends of a re-enactment agree. Both sides count its messages, so that none
/// reaches a peer without a receive.
class ControlConnection {
public:
    static constexpr std::uint32_t number = 0xffff'ffff;  ///< of its completions, instead of a side's number
    static constexpr std::size_t slots = 128;

    ControlConnection(iwarp::Device& device, const std::shared_ptr<iwarp::ProtectionDomain>& domain,
                      const std::shared_ptr<iwarp::CompletionQueue>& completions);

    const std::shared_ptr<iwarp::QueuePair>& queue_pair() const { return queue_pair_; }
    static constexpr std::size_t reserve = 16;
    static constexpr std::size_t completions() { return 2 * slots; }

    /// Whether a message may be sent now. Reports of arrivals leave the last few places free for acknowledging the
    /// peer's messages; otherwise both ends might wait for that.
    bool room(bool for_arrivals) const;
    /// Requires room().
    void send(ControlMessage message);
    /// The peer must soon be informed how many of its messages have been received.
    bool owes_report() const { return received_ - reported_ >= slots / 4; }
    /// `tag`: lower half of the completion's id. No value if it was not a message, or not a known one.
    std::optional<ControlMessage> completed(std::uint32_t tag, const iwarp::Completion& completion);

private:
    enum Tag : std::uint32_t { tag_receive = 1U << 16 };
    std::byte* slot(std::size_t at) const { return memory_.get() + at * ControlMessage::octets; }
    void offer(std::uint32_t at);

    std::unique_ptr<std::byte[]> memory_;  ///< first the sent messages, then the received ones
    std::shared_ptr<iwarp::MemoryRegion> region_;
    std::shared_ptr<iwarp::QueuePair> queue_pair_;
    std::uint64_t sent_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t taken_ = 0;  ///< of the sent ones, according to the peer
    std::uint64_t received_ = 0;
    std::uint64_t reported_ = 0;  ///< of the received ones
};

}  // namespace replay::endpoints
