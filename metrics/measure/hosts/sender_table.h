#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace metrics::inline measure::inline hosts {

/// The hosts that have sent to one host within the last millisecond, as a list in the SenderTable, ordered by the time
/// of their last frames.
struct SenderWindow {
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    std::int64_t newest_ns = 0;        ///< of all frames; the list does not include those that `last_sender` sent since
    std::uint32_t last_sender = none;  ///< whose frame that was, and who is the newest of the list
    std::uint32_t oldest = none;       ///< places in the table
    std::uint32_t newest = none;
    std::uint32_t senders = 0;
    std::uint64_t senders_max = 0;
    std::uint64_t senders_frame = 0;  ///< the frame at which that number was reached
};

/// Counts how many hosts have sent to one within any millisecond, wherever it begins: with each frame, the hosts whose
/// last frame is less than a millisecond older. Frames in the order of their times are counted exactly, as long as the
/// table has room. Hosts without room, and frames that come too late, are not counted, so that no figure is ever too
/// large.
class SenderTable {
public:
    static constexpr std::uint64_t window_ns = 1'000'000;

    /// Data of `source` to `destination`, whose window is `to`; windows stay where they are.
    void note(std::uint32_t source, std::uint32_t destination, SenderWindow& to, std::int64_t time_ns,
              std::uint64_t frame) {
        // No sender was added, and some may have been removed.
        if (source == to.last_sender) [[likely]] {
            if (time_ns > to.newest_ns) to.newest_ns = time_ns;
        } else {
            note_other(source, destination, to, time_ns, frame);
        }
    }
    /// Resets the maximum of `to`.
    void forget_most(SenderWindow& to);
    std::size_t octets() const { return entries_.capacity() * sizeof(Entry); }

private:
    struct Entry {
        SenderWindow* window = nullptr;  ///< the window that the entry belongs to; nullptr: the entry is unused
        std::int64_t last_ns = 0;
        std::uint32_t sender = 0;
        std::uint32_t older = SenderWindow::none;
        std::uint32_t newer = SenderWindow::none;
    };
    static constexpr std::size_t sets = 1 << 11;
    static constexpr std::size_t ways = 8;

    void note_other(std::uint32_t source, std::uint32_t destination, SenderWindow& to, std::int64_t time_ns,
                    std::uint64_t frame);
    void settle(SenderWindow& window);
    void forget_before(SenderWindow& window, std::int64_t now_ns);
    std::uint32_t place_of(std::uint32_t source, std::uint32_t destination, const SenderWindow& to,
                           std::int64_t time_ns);
    bool insert(std::uint32_t place, std::uint32_t source, SenderWindow& to, std::int64_t time_ns);
    void remove(std::uint32_t place);
    void link(std::uint32_t place, std::uint32_t older, SenderWindow& window);
    void unlink(std::uint32_t place, SenderWindow& window);

    std::vector<Entry> entries_ = std::vector<Entry>(sets * ways);
};

}  // namespace metrics::measure::hosts
