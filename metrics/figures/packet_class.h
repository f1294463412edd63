#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace metrics::inline figures {

/// What a packet asks the network for, and its partition, as one number: DSCP (RFC 2474), VLAN priority (IEEE 802.1Q,
/// 9.6), service level (IBTA vol. 1, 7.6.5) and P_Key (9.2.4). ECN is no part of it: switches change ECN. All packets
/// of a flow have the same class as a rule.
class PacketClass {
public:
    constexpr PacketClass() = default;  ///< unknown
    constexpr explicit PacketClass(std::uint32_t number) : number_(number) {}
    /// `traffic_class`: the byte of the IP header or GRH.
    static constexpr PacketClass of(std::uint8_t traffic_class) {
        return PacketClass(known_bit | (traffic_class & 0xfcu) << 24);
    }
    /// The same of a packet with a BTH.
    static constexpr PacketClass of(std::uint8_t traffic_class, std::uint16_t partition_key) {
        return PacketClass(known_bit | (traffic_class & 0xfcu) << 24 | partition_bit | partition_key);
    }
    constexpr PacketClass with_vlan_priority(std::uint8_t priority) const {
        return PacketClass(number_ | vlan_bit | (priority & 7u) << 16);
    }
    constexpr PacketClass with_service_level(std::uint8_t level) const {
        return PacketClass(number_ | level_bit | (level & 15u) << 16);
    }
    constexpr PacketClass with_partition_of(PacketClass other) const {
        constexpr std::uint32_t partition = partition_bit | 0xffff;
        return PacketClass((number_ & ~partition) | (other.number_ & partition));
    }

    constexpr bool known() const { return number_ != 0; }
    constexpr std::uint8_t dscp() const { return static_cast<std::uint8_t>(number_ >> 26); }
    constexpr std::optional<std::uint8_t> vlan_priority() const {
        if ((number_ & vlan_bit) == 0) return {};
        return static_cast<std::uint8_t>(number_ >> 16 & 7);
    }
    constexpr std::optional<std::uint8_t> service_level() const {
        if ((number_ & level_bit) == 0) return {};
        return static_cast<std::uint8_t>(number_ >> 16 & 15);
    }
    constexpr std::optional<std::uint16_t> partition_key() const {
        if ((number_ & partition_bit) == 0) return {};
        return static_cast<std::uint16_t>(number_);
    }
    constexpr std::uint32_t number() const { return number_; }
    auto operator<=>(const PacketClass&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0

private:
    static constexpr std::uint32_t known_bit = 1u << 24;
    static constexpr std::uint32_t vlan_bit = 1u << 20;
    static constexpr std::uint32_t level_bit = 1u << 21;
    static constexpr std::uint32_t partition_bit = 1u << 22;

    std::uint32_t number_ = 0;
};

/// The packets of a flow that have one class.
struct ClassFigures {
    PacketClass packet_class;
    std::uint64_t packets = 0;
    std::uint64_t wire_bytes = 0;
    std::uint64_t first_frame = 0;
    std::int64_t first_ns = 0;
    bool operator==(const ClassFigures&) const = default;
};
/// Classes of a flow that are distinguished. The last one stands for further ones as well.
inline constexpr std::size_t most_flow_classes = 4;

}  // namespace metrics::figures
