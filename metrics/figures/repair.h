#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace metrics::inline figures {

/// The reasons for which a sender transmits a lost packet again.
enum class RepairCause : std::uint8_t {
    nak,               ///< IBTA vol. 1, 9.7.5.2.8
    missing_response,  ///< a READ response came while an earlier one had not: as good as a NAK. IBTA, the same
    duplicate_acks,    ///< iWARP: duplicate acknowledgements, or SACK. RFC 5681, 3.2; RFC 6675
    timeout,           ///< nothing but a timer
};
inline constexpr std::size_t repair_cause_count = 4;
inline constexpr std::array<std::string_view, repair_cause_count> repair_cause_names{
    "NAK", "missing response", "duplicate ACKs or SACK", "timeout"};
constexpr std::string_view name_of(RepairCause cause) { return repair_cause_names[static_cast<std::size_t>(cause)]; }

/// The repair of a loss, at the packet that begins to transmit again; iWARP: each that fills a hole, too. Times are ns;
/// absent is what the frames do not show. docs/metrics.md, "Recovery".
struct Repair {
    RepairCause cause{};
    bool of_lost = false;  ///< whether the packet is the lost one; otherwise the sender went back further, and the
                           ///< times do not show which packet was lost
    std::uint64_t lost_frame = 0;  ///< that carried the lost packet, where the tap saw it; filled in by FrameNotes
    std::uint64_t first_out_of_sequence_frame = 0;  ///< the first past the hole (a READ's: the first response); 0: none
    std::uint64_t nak_frame = 0;                    ///< the NAK, or the first duplicate ACK; 0: none
    std::optional<std::uint64_t> nak_generation_ns;  ///< first out of sequence -> NAK
    std::optional<std::uint64_t> nak_reaction_ns;    ///< NAK -> this packet
    std::optional<std::uint64_t> total_ns;  ///< lost packet, or if it was not seen the first one after the hole -> this
};

}  // namespace metrics::figures
