#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "iwarp/iwarp.h"
#include "replay/endpoints/control_messages.h"

namespace replay::inline endpoints {

/// The connection on which the two ends of a re-enactment agree. Its messages are counted on both sides, so that none
/// comes to a peer without a receive.
class ControlConnection {
public:
    static constexpr std::uint32_t number = 0xffff'ffff;  ///< of its completions, in the place of a side's
    static constexpr std::size_t slots = 128;

    ControlConnection(iwarp::Device& device, const std::shared_ptr<iwarp::ProtectionDomain>& domain,
                      const std::shared_ptr<iwarp::CompletionQueue>& completions);

    const std::shared_ptr<iwarp::QueuePair>& queue_pair() const { return queue_pair_; }
    static constexpr std::size_t reserve = 16;
    static constexpr std::size_t completions() { return 2 * slots; }

    /// Whether a message may be sent now. Reports of arrivals leave the last few places free: these are for saying how
    /// many messages of the peer have been received, or both ends might wait for that.
    bool room(bool for_arrivals) const;
    /// Where there is room.
    void send(ControlMessage message);
    /// The peer has to learn soon how many of its messages have been received.
    bool owes_report() const { return received_ - reported_ >= slots / 4; }
    /// `tag`: lower half of the completion's id. Absent where it was no message, or none that is understood.
    std::optional<ControlMessage> completed(std::uint32_t tag, const iwarp::Completion& completion);

private:
    enum Tag : std::uint32_t { tag_receive = 1U << 16 };
    std::byte* slot(std::size_t at) const { return memory_.get() + at * ControlMessage::octets; }
    void offer(std::uint32_t at);

    std::unique_ptr<std::byte[]> memory_;  ///< first what is sent, then what is received
    std::shared_ptr<iwarp::MemoryRegion> region_;
    std::shared_ptr<iwarp::QueuePair> queue_pair_;
    std::uint64_t sent_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t taken_ = 0;  ///< of what was sent, as the peer has reported
    std::uint64_t received_ = 0;
    std::uint64_t reported_ = 0;  ///< of what was received
};

}  // namespace replay::endpoints
