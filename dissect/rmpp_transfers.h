#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "dissect/dissection.h"

namespace dissect {

/// A segment with data, and what is known about its transfer. IBTA vol. 1, 13.6.
struct RmppSegment {
    std::uint32_t number = 0;                 ///< from 1
    std::optional<std::uint32_t> count = {};  ///< of the segments, as the first or the last one says
    bool is_last = false;
    bool is_repeated = false;   ///< a segment of this number passed before
    std::uint32_t missing = 0;  ///< of the last: the segments before it that have not passed
    /// Of the last: the bytes of data of the whole transfer.
    std::uint64_t octets = 0;
    std::uint32_t segment_octets = 0;  ///< of data, in every segment except the last
    /// The data of the segments that have passed, by number; null if the transfer is too large.
    const std::map<std::uint32_t, std::vector<std::byte>>* held = nullptr;

    /// `length` bytes of the transfer from `first` on; no value if some of them have not passed.
    std::optional<std::vector<std::byte>> bytes(std::uint64_t first, std::uint64_t length) const;
};

/// A record that lies in several segments, all of them captured.
struct JoinedRecord {
    std::uint64_t number = 0;  ///< in the table, from 0
    std::vector<std::byte> octets = {};
};

/// The records of a table that this segment makes whole: one that began before it, and one that continues after it if
/// the next segment came earlier. `length`: bytes of each record.
std::vector<JoinedRecord> joined_records(const RmppSegment& segment, std::uint32_t length);

/// Puts the segments of the Reliable Multi-Packet Protocol together, of any class that has them. Segments may be lost,
/// repeated or out of order.
class RmppTransfers {
public:
    /// What is more than the bounds is forgotten, the transfer that has been idle longest first.
    struct Bounds {
        std::size_t transfers = 64;
        std::size_t transfer_octets = std::size_t{4} << 20;
        std::size_t octets = std::size_t{16} << 20;  ///< of all transfers
    };
    RmppTransfers() : RmppTransfers(Bounds{}) {}
    explicit RmppTransfers(const Bounds& bounds) : bounds_(bounds) {}

    /// Notes a management datagram. Null unless it is a segment with data. Valid until the next call.
    const RmppSegment* note(const Dissection& dissection, base::Bytes bytes);

private:
    struct Key {
        std::array<std::byte, 16> source = {};
        std::array<std::byte, 16> destination = {};
        std::uint64_t transaction = 0;
        std::uint8_t management_class = 0;

        bool operator==(const Key&) const = default;
        Key reversed() const { return {destination, source, transaction, management_class}; }
    };
    struct Transfer {
        Key key = {};
        std::uint64_t last_use = 0;
        /// A segment's number may be anything: memory is needed for those that have passed alone.
        std::map<std::uint32_t, std::vector<std::byte>> held = {};
        std::uint32_t acknowledged = 0;  ///< the number of the last segment that the receiver acknowledged
        std::optional<std::uint32_t> count = {};
        std::optional<std::uint64_t> octets = {};
        bool is_too_large = false;

        bool is_complete() const { return count && held.size() == *count; }
        std::size_t octets_held() const;
    };

    const RmppSegment* note_data(const Key& key, base::Bytes mad, std::uint32_t data_octet);
    Transfer* find(const Key& key);
    Transfer& begin(const Key& key);
    void store(Transfer& transfer, std::uint32_t number, base::Bytes data);
    void forget(const Transfer* transfer);
    void keep_bounds(const Transfer& present);

    Bounds bounds_;
    std::vector<std::unique_ptr<Transfer>> transfers_ = {};
    std::uint64_t uses_ = 0;
    RmppSegment segment_ = {};
};

}  // namespace dissect
