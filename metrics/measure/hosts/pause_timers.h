#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace metrics::inline measure::inline hosts {

/// How long the pauses on one interface held. The station that is asked to pause keeps a timer for each priority: a
/// later value replaces the running one, whatever is left of it, and zero ends it (IEEE 802.3, 31B.2; 802.1Q, 36.1). So
/// a value holds until the next one from the same sender, but no longer than it says. Requested times are in quanta of
/// 512 bit times, whose length is unknown before the link's rate is; values until then are kept.
class PauseTimers {
public:
    static constexpr std::size_t all = 8;  ///< index of PAUSE, which stops all priorities
    static constexpr std::size_t places = 9;
    using Times = std::array<std::uint64_t, places>;  ///< ns, of all senders added up

    /// `bits_per_sec`: 0 while it is not known.
    void note(std::uint64_t sender, std::size_t place, std::uint16_t quanta, std::int64_t now_ns,
              std::uint64_t bits_per_sec);
    /// Until now. No value if the rate is unknown, or became known after more values than are kept.
    std::optional<Times> stopped(std::int64_t now_ns, std::uint64_t bits_per_sec) const;
    std::size_t octets() const;

private:
    static constexpr std::size_t max_senders = 64;  ///< above that, the sender that was silent longest is removed
    static constexpr std::size_t max_held = 1024;
    struct Timer {
        std::int64_t since_ns = 0;
        std::uint16_t quanta = 0;  ///< 0: does not run
    };
    struct Sender {
        std::uint64_t address = 0;
        std::int64_t last_ns = 0;
        std::array<Timer, places> timers{};
    };
    /// What one value did.
    struct Held {
        std::uint64_t ns = 0;  ///< until the next one
        std::uint16_t quanta = 0;
        std::uint8_t place = 0;
    };

    Sender& sender_of(std::uint64_t address, std::int64_t now_ns, std::uint64_t bits_per_sec);
    void end(Timer& timer, std::size_t place, std::int64_t now_ns, std::uint64_t bits_per_sec);
    static std::uint64_t held_ns(std::uint64_t ns, std::uint16_t quanta, std::uint64_t bits_per_sec);

    Times ended_{};
    std::vector<Sender> senders_;
    std::vector<Held> held_;  ///< ended while the rate was not known
    bool lost_ = false;       ///< more of them than fit
};

}  // namespace metrics::measure::hosts
