#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "tests/model/model_segment.h"
#include "tests/model/packet.h"

namespace model {

enum class BulkKind : std::uint8_t {
    roce_1k,     ///< WRITEs of sixteen packets of 1 KiB, an ACK for each
    roce_64,     ///< SENDs of 64 octets, an ACK for every fourth
    iwarp_64,    ///< Writes of 64 octets, an FPDU and a segment each, an ACK for every fourth
    iwarp_1420,  ///< the same of 1420 octets, an ACK for every second
};
std::optional<BulkKind> bulk_kind(std::string_view name);  ///< "roce-1k", "roce-64", "iwarp-64", "iwarp-1420"

/// Traffic without end, for measuring speed: `flows` conversations on each of `pairs` pairs of hosts, one message (or
/// round of small ones) of each in turn, nothing lost. Connections begin with their set-up.
class BulkTraffic {
public:
    BulkTraffic(BulkKind kind, std::uint32_t pairs, std::uint32_t flows, bool checked = true);
    /// The next frame, valid until the next call.
    const support::KeptFrame& next();

private:
    struct Conversation {
        std::uint32_t psn = 0;  ///< or sequence numbers after the initial one
        std::uint32_t messages = 0;
        std::uint32_t step = 0;
        bool open = false;  ///< its set-up has passed
    };
    void roce(Conversation& conversation, std::uint32_t number);
    void iwarp(Conversation& conversation, std::uint32_t number);
    void turn();

    BulkKind kind_;
    std::uint32_t pairs_;
    bool checked_;
    std::vector<Conversation> conversations_;
    std::size_t at_ = 0;
    std::int64_t now_ns_ = 1'700'000'000'000'000'000;
    support::KeptFrame frame_;
};

}  // namespace model
