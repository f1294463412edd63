#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/figures/address.h"
#include "metrics/figures/histogram.h"

namespace metrics::inline figures {

/// What switches hash in addition to the addresses, so that packets of one entropy take one path as long as routes do
/// not change. RoCEv2: the UDP source port, with IPv6 the flow label (RFC 6438), in a tunnel the outer UDP source port.
/// iWARP: both TCP ports. InfiniBand: both LIDs and the service level. One number, so that it is compared at once.
class Entropy {
public:
    enum class Kind : std::uint8_t { unknown, udp, tcp, infiniband };

    constexpr Entropy() = default;
    constexpr explicit Entropy(std::uint64_t number) : number_(number & number_mask) {}
    static constexpr Entropy of_udp(std::uint16_t port, std::uint32_t flow_label = 0, std::uint16_t outer_port = 0) {
        return of(Kind::udp, std::uint64_t{outer_port} << 36 | std::uint64_t{flow_label & 0xfffffu} << 16 | port);
    }
    static constexpr Entropy of_tcp(std::uint16_t source_port, std::uint16_t destination_port) {
        return of(Kind::tcp, std::uint64_t{source_port} << 16 | destination_port);
    }
    static constexpr Entropy of_infiniband(std::uint16_t source_lid, std::uint16_t destination_lid,
                                           std::uint8_t service_level) {
        return of(Kind::infiniband,
                  std::uint64_t{source_lid} << 20 | std::uint64_t{destination_lid} << 4 | (service_level & 15u));
    }

    constexpr Kind kind() const { return static_cast<Kind>(number_ >> kind_shift); }
    constexpr bool known() const { return number_ != 0; }
    constexpr std::uint64_t number() const { return number_; }
    constexpr std::uint16_t udp_port() const { return static_cast<std::uint16_t>(number_); }
    constexpr std::uint32_t flow_label() const { return static_cast<std::uint32_t>(number_ >> 16) & 0xfffffu; }
    constexpr std::uint16_t outer_port() const { return static_cast<std::uint16_t>(number_ >> 36); }
    constexpr std::uint16_t tcp_source_port() const { return static_cast<std::uint16_t>(number_ >> 16); }
    constexpr std::uint16_t tcp_destination_port() const { return static_cast<std::uint16_t>(number_); }
    constexpr std::uint16_t source_lid() const { return static_cast<std::uint16_t>(number_ >> 20); }
    constexpr std::uint16_t destination_lid() const { return static_cast<std::uint16_t>(number_ >> 4); }
    constexpr std::uint8_t service_level() const { return static_cast<std::uint8_t>(number_ & 15u); }
    auto operator<=>(const Entropy&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0

    /// From here, 8 bits of `number()` are always 0: room for a value that is compared together with it.
    static constexpr unsigned spare_shift = 52;

private:
    static constexpr unsigned kind_shift = 62;
    static constexpr std::uint64_t number_mask = ~(std::uint64_t{0xff} << spare_shift);
    static constexpr Entropy of(Kind kind, std::uint64_t value) {
        return Entropy(static_cast<std::uint64_t>(kind) << kind_shift | value);
    }

    std::uint64_t number_ = 0;
};
static_assert(Entropy::of_udp(0xffff, 0xfffff, 0xffff).outer_port() == 0xffff);

/// "49441", "49441 label 0x00121", "49441 in 50000", "40022 > 4420", "lid 3 > 7 sl 1"; "-" if unknown.
std::string to_text(Entropy entropy);

/// The UDP source port that Linux and rdma-core choose for two connected queue pairs whose address handle has no flow
/// label (rdma_flow_label_to_udp_sport of rdma_calc_flow_label; both directions have the same port).
std::uint32_t flow_label_of(std::uint32_t queue_pair, std::uint32_t remote_queue_pair);
std::uint16_t udp_port_of(std::uint32_t flow_label);

/// The packets of one entropy.
struct EntropyFigures {
    Entropy entropy;
    std::uint64_t packets = 0;
    std::uint64_t wire_bytes = 0;
    std::uint64_t ecn_ce_packets = 0;
    std::uint64_t late_packets = 0;
    std::uint64_t repeated_packets = 0;
    std::uint64_t loss_episodes = 0;
    bool operator==(const EntropyFigures&) const = default;
};

/// What receivers and senders did about packets that were missing, late or lost, in cases. METHODS: each hole has one
/// outcome at most.
struct HoleOutcomes {
    std::uint64_t in_order = 0;   ///< what had passed after the missing packet was sent again with it
    std::uint64_t selective = 0;  ///< only what was missing was sent again, and the rest acknowledged
    std::uint64_t placing = 0;  ///< a late packet filled the hole, without NAK or repeat, and the rest was acknowledged
    bool operator==(const HoleOutcomes&) const = default;
};

/// What a flow shows of the paths that its packets took, beyond one entropy in good order.
struct PathFigures {
    std::uint64_t entropies = 1;           ///< different ones; an estimate above most_exact
    std::uint64_t entropy_changes = 0;     ///< data packets whose entropy is not that of the data packet before
    std::vector<EntropyFigures> rows;      ///< if there are several, by entropy: all, or the heaviest
    std::vector<std::uint8_t> hop_limits;  ///< of its packets, ascending; at most 4, empty if all have the same
    std::uint64_t loss_episodes = 0;       ///< runs of packets lost together
    std::uint64_t late_refused = 0;        ///< late packets that the receiver had asked for again
    HoleOutcomes outcomes;
    Histogram late_depth;  ///< of late packets: how many packets after them had passed before
    Histogram late_ns;     ///< of late packets: the time since the first packet after them
    bool operator==(const PathFigures&) const = default;

    static constexpr std::size_t most_exact = 8;
    static constexpr std::size_t most_rows = 64;
};

/// Windows in which one entropy had more of something than the others of its pair, and windows in which it had less.
struct SignCounts {
    std::uint64_t more = 0;
    std::uint64_t less = 0;
    bool operator==(const SignCounts&) const = default;
};

/// When an entropy lost packets. A path that was bad and is mended has no losses any more, while packets go on.
struct LossTimes {
    std::uint64_t packets = 0;
    std::uint64_t episodes = 0;
    std::uint64_t packets_since = 0;  ///< since the last episode
    std::uint64_t widest_gap = 0;     ///< packets from one episode to the next, the most
    std::int64_t last_ns = 0;         ///< of the last episode; 0 = none
    bool operator==(const LossTimes&) const = default;
};

/// An entropy of a pair of hosts against the others, in windows of about 1 ms in which both sent. What hurts all of
/// them at the same time does not show. Marks, delays and `losses` are those since the routes changed last.
struct EntropyWindows {
    Entropy entropy;
    SignCounts marks = {};     ///< the share of packets with a mark of congestion
    SignCounts delays = {};    ///< the median round trip
    Histogram longer_ns = {};  ///< by how much its median round trip was longer, where it was
    LossTimes losses = {};
    LossTimes losses_before = {};  ///< until the routes changed
    std::int64_t rerouted_ns = 0;  ///< when the routes changed last, as hop limits show it; 0 = that was not seen
    bool operator==(const EntropyWindows&) const = default;
};

/// The traffic from one host to another with one DSCP over time, of flows that have one entropy.
struct PathWindowFigures {
    Address source;
    Address destination;
    std::uint8_t dscp = 0;
    /// Bytes of the greatest entropy by the mean of all, in thousandths, in intervals of about 0.1 s.
    Histogram max_over_mean_permille;
    std::vector<EntropyWindows> rows;  ///< by entropy
    bool operator==(const PathWindowFigures&) const = default;
};

}  // namespace metrics::figures
