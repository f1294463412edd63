#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "iwarp/iwarp.h"
#include "replay/endpoints/words.h"

namespace replay {

/// The connection on which the two ends of a re-enactment speak about it. Its messages are counted on both sides, so
/// that none meets a peer without a receive.
class Control {
public:
    static constexpr std::uint32_t number = 0xffff'ffff;  ///< of its completions, in the place of a lane's
    static constexpr std::size_t slots = 128;

    Control(iwarp::Device& device, const std::shared_ptr<iwarp::ProtectionDomain>& domain,
            const std::shared_ptr<iwarp::CompletionQueue>& completions);

    const std::shared_ptr<iwarp::QueuePair>& queue_pair() const { return queue_pair_; }
    static constexpr std::size_t reserve = 16;
    static constexpr std::size_t completions() { return 2 * slots; }

    /// Whether a message may be sent now. For news the last few places are not there: they are for saying that the
    /// peer's messages have been taken, or both ends might wait for that word.
    bool room(bool for_news) const;
    /// Where there is room.
    void send(Word word);
    /// The peer must hear soon how many of its messages have been taken.
    bool owes_credit() const { return received_ - told_ >= slots / 4; }
    /// `tag`: lower half of the completion's id. Absent where it was no message, or none that is understood.
    std::optional<Word> completed(std::uint32_t tag, const iwarp::Completion& completion);

private:
    enum Tag : std::uint32_t { tag_receive = 1U << 16 };
    std::byte* slot(std::size_t at) const { return memory_.get() + at * Word::octets; }
    void offer(std::uint32_t at);

    std::unique_ptr<std::byte[]> memory_;  ///< first what is sent, then what is received
    std::shared_ptr<iwarp::MemoryRegion> region_;
    std::shared_ptr<iwarp::QueuePair> queue_pair_;
    std::uint64_t sent_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t taken_ = 0;  ///< of what was sent, as the peer has told
    std::uint64_t received_ = 0;
    std::uint64_t told_ = 0;  ///< of what was received
};

}  // namespace replay
