#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>

namespace wire {

/// The registry that a carrier's number belongs to.
enum class CarrierKind : std::uint8_t {
    none,
    ether_type,
    macsec,  ///< the EtherType of MACsec, of a version or a cipher suite that leaves nothing to read
    ip_protocol,
    udp_port,
    link_type,
    mpls,  ///< a label stack that neither IP nor Ethernet follows; the number is 0
    ppp_protocol,
    nsh_protocol,
    vxlan_gpe_protocol,
    erf_type,
    nflog_family,
};
inline constexpr unsigned carrier_kinds = static_cast<unsigned>(CarrierKind::nflog_family) + 1;

/// What may carry RDMA and is not looked into.
struct Carrier {
    CarrierKind kind = CarrierKind::none;
    std::uint16_t number = 0;

    constexpr explicit operator bool() const { return kind != CarrierKind::none; }
    auto operator<=>(const Carrier&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0
};

/// "EtherType 0x8999", "IP protocol 50 (ESP, encrypted)".
std::string text_of(Carrier carrier);

/// Whether packets of the number are known to carry no RDMA: ARP, LLDP, OSPF. A capture lacks nothing when such packets
/// are not read.
bool is_ordinary_ether_type(std::uint16_t type);
bool is_ordinary_ip_protocol(std::uint8_t protocol);
/// Whether the datagrams to the port carry other packets that rdmascope does not look into: L2TP, WireGuard.
constexpr bool is_unread_udp_port(std::uint16_t port) {
    switch (port) {
        case 1701:    // L2TP, RFC 2661
        case 2152:    // GTP-U, 3GPP TS 29.281
        case 4341:    // LISP, RFC 9300
        case 4500:    // IPsec after address translation, RFC 3948
        case 4755:    // GRE in DTLS, RFC 8086
        case 4793:    // Ultra Ethernet Transport
        case 5247:    // CAPWAP, RFC 5415
        case 6080:    // GUE
        case 6343:    // sFlow
        case 6636:    // MPLS in DTLS, RFC 7510
        case 37008:   // TZSP
        case 48879:   // the VXLAN of Cisco's ACI
        case 51820:   // WireGuard
            return true;
        default: return false;
    }
}

/// The number of frames for each carrier that was not looked into. A fixed number of kinds have a count of their own;
/// all later kinds share one count.
class CarrierCounts {
public:
    struct Row {
        Carrier carrier;
        std::uint64_t frames = 0;
        bool operator==(const Row&) const = default;
    };
    static constexpr unsigned most_rows = 16;

    void add(Carrier carrier, std::uint64_t frames = 1);
    void add_others(std::uint64_t frames) { others_ += frames; }
    void add(const CarrierCounts& more);
    /// What was counted since `earlier`, an earlier state of the same counts.
    void subtract(const CarrierCounts& earlier);

    /// Ascending carrier.
    std::span<const Row> rows() const { return std::span(rows_).first(size_); }
    std::uint64_t others() const { return others_; }
    std::uint64_t frames() const;
    bool empty() const { return size_ == 0 && others_ == 0; }
    bool operator==(const CarrierCounts& other) const;

private:
    std::array<Row, most_rows> rows_{};
    std::uint8_t size_ = 0;
    std::uint64_t others_ = 0;
};

/// "12 frames of EtherType 0x8999 were not looked into", the kind with the most frames first; empty if nothing was
/// counted.
std::string text_of(const CarrierCounts& counts);
/// "12 frames of EtherType 0x8999": as text_of(), without the verb.
std::string list_text(const CarrierCounts& counts);

}  // namespace wire
