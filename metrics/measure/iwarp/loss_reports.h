#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "metrics/measure/account/attribution.h"

namespace metrics::inline measure::iwarp {

/// What the receiver of a direction says about missing bytes: duplicate acknowledgements and SACK. RFC 5681, RFC 2018.
class LossReports {
public:
    /// Whether the receiver has said that bytes from `position` on are missing.
    bool cover(std::uint64_t position) const { return position < end_; }
    /// Whether only duplicate acknowledgements show it. Three count as a loss: RFC 5681, 3.2.
    bool duplicates_show_loss() const { return duplicate_run_ >= duplicates_that_show_loss; }
    /// Whether the last acknowledgement was a duplicate.
    bool in_duplicates() const { return duplicate_run_ != 0; }
    /// Bytes before `end` are missing.
    void believe(std::uint64_t end) { end_ = std::max(end_, end); }

    /// An acknowledgement repeats the one before it. True if it is the first one that does.
    bool duplicate(std::int64_t now_ns) {
        ++duplicate_acks_;
        if (++duplicate_run_ != 1) return false;
        first_ns_ = now_ns;
        return true;
    }
    /// An acknowledgement goes further.
    void advance() {
        duplicate_run_ = 0;
        first_ns_ = Situation::never;
    }
    void add_sack_blocks(std::uint32_t blocks) { sack_blocks_ += blocks; }
    /// SACK reports a loss. True if it is the first to report this one.
    bool selective(std::int64_t now_ns) {
        if (first_ns_ != Situation::never) return false;
        first_ns_ = now_ns;
        return true;
    }
    /// When the present loss was first reported; each report is taken once.
    std::optional<std::int64_t> take_first_ns() {
        const std::int64_t first_ns = std::exchange(first_ns_, Situation::never);
        return first_ns == Situation::never ? std::nullopt : std::optional{first_ns};
    }

    /// The sequence continues far away.
    void lose() {
        end_ = 0;
        duplicate_run_ = 0;
    }
    /// Positions change their meaning.
    void forget_positions() { end_ = 0; }

    std::uint32_t duplicate_acks() const { return duplicate_acks_; }
    std::uint32_t sack_blocks() const { return sack_blocks_; }

private:
    static constexpr std::uint32_t duplicates_that_show_loss = 3;

    std::uint64_t end_ = 0;
    std::int64_t first_ns_ = Situation::never;
    std::uint32_t duplicate_acks_ = 0;
    std::uint32_t duplicate_run_ = 0;
    std::uint32_t sack_blocks_ = 0;
};

}  // namespace metrics::measure::iwarp
