#pragma once
#include <array>
#include <cstdint>

// clang-format off
/// All layers, in the order in which a packet has them: X(identifier). A layer `name` is parsed and described by the
/// row `name_layer`, defined in `dissect/layers/`. This list and `dissect/layer_table.cpp`, which is made from it, are
/// the one dispatch table.
#define RDMASCOPE_LAYERS(X)                                                                                          \
    /* link */                                                                                                        \
    X(ethernet) X(linux_sll) X(linux_sll2) X(null_loopback) X(raw_ip) X(ppi) X(erf) X(nflog) X(ipoib) X(lrh) X(rwh)   \
    X(vlan) X(llc) X(mac_control) X(mpls) X(avsp) X(vntag) X(etag) X(cisco_metadata) X(macsec) X(pppoe) X(ppp) X(nsh) \
    /* network, tunnels, transport */                                                                                 \
    X(ipv4) X(ipv6) X(ipv6_options) X(ipv6_routing) X(ipv6_fragment) X(ipv6_auth) X(grh)                              \
    X(gre) X(erspan2) X(erspan3) X(vxlan) X(vxlan_gpe) X(geneve) X(udp) X(tcp) X(icmp) X(icmpv6)                      \
    /* InfiniBand transport */                                                                                        \
    X(bth) X(rdeth) X(deth) X(xrceth) X(reth) X(atomiceth) X(aeth) X(atomicacketh) X(immdt) X(ieth) X(feth)           \
    X(atomic_write) X(cnp) X(payload) X(icrc) X(vcrc)                                                                 \
    /* management */                                                                                                  \
    X(mad) X(cm_req) X(cm_mra) X(cm_rej) X(cm_rep) X(cm_rtu) X(cm_dreq) X(cm_drep) X(cm_sidr_req) X(cm_sidr_rep)      \
    X(cm_lap) X(cm_apr) X(smp) X(smp_directed) X(sa) X(performance) X(device_management) X(congestion_control)        \
    X(sa_record)                                                                                                      \
    /* iWARP */                                                                                                       \
    X(mpa_request) X(mpa_reply) X(mpa_fpdu) X(ddp_tagged) X(ddp_untagged) X(rdmap) X(rdmap_read_request)              \
    X(rdmap_atomic_request) X(rdmap_atomic_response) X(rdmap_immediate) X(rdmap_terminate) X(ulp_payload)             \
    /* upper layers */                                                                                                \
    X(nvme_command) X(nvme_completion) X(nvme_connect_data) X(nvme_rdma_request) X(nvme_rdma_reply) X(nvme_rdma_reject)\
    X(rpcordma_private) X(rpcordma) X(rpc) X(nfs) X(nfs_acl) X(mount) X(nlm)                                          \
    X(iser) X(iscsi) X(scsi_cdb) X(scsi_status) X(scsi_sense) X(srp) X(srp_login)                                          \
    X(smb_direct) X(smb2) X(ipoib_packet) X(ipoib_arp) X(ipoib_connect)                                               \
    X(rds) X(rds_connect) X(rsocket_connect) X(rsocket_message) X(rsocket_datagram)
// clang-format on

namespace dissect {

enum class LayerId : std::uint8_t {
#define X(name) name,
    RDMASCOPE_LAYERS(X)
#undef X
        none,  ///< no further layer; also the number of layers
};

inline constexpr unsigned layer_count = static_cast<unsigned>(LayerId::none);

/// A set of layers as bits.
class LayerSet {
public:
    constexpr void clear() { bits_ = {}; }
    constexpr void insert(LayerId id) { bits_[index(id) / 64] |= std::uint64_t{1} << index(id) % 64; }
    constexpr bool contains(LayerId id) const { return (bits_[index(id) / 64] >> index(id) % 64 & 1) != 0; }
    constexpr bool empty() const { return (bits_[0] | bits_[1]) == 0; }
    constexpr bool intersects(const LayerSet& other) const {
        return ((bits_[0] & other.bits_[0]) | (bits_[1] & other.bits_[1])) != 0;
    }
    constexpr LayerSet& operator|=(const LayerSet& other) {
        bits_[0] |= other.bits_[0];
        bits_[1] |= other.bits_[1];
        return *this;
    }
    static constexpr LayerSet all() {
        LayerSet set;
        set.bits_ = {~std::uint64_t{0}, ~std::uint64_t{0}};
        return set;
    }

private:
    static constexpr unsigned index(LayerId id) { return static_cast<unsigned>(id); }
    std::array<std::uint64_t, 2> bits_{};
};
static_assert(layer_count < 128);

}  // namespace dissect
