// Rows of layers still being written; each author deletes its block. The file goes when the last has gone.
#include "dissect/layer_table.h"

namespace dissect {
namespace {
LayerId stop_here(Context&) { return LayerId::none; }
}  // namespace
#define PENDING(name) constinit const LayerRow name##_layer{#name, nullptr, {}, stop_here, nullptr, {}, {}};

// link, network, tunnels, transport
PENDING(ethernet) PENDING(linux_sll) PENDING(linux_sll2) PENDING(null_loopback) PENDING(raw_ip) PENDING(ppi) PENDING(erf) PENDING(ipoib)
PENDING(vlan) PENDING(llc) PENDING(mac_control) PENDING(mpls)
PENDING(ipv4) PENDING(ipv6) PENDING(ipv6_options) PENDING(ipv6_routing) PENDING(ipv6_fragment) PENDING(ipv6_auth)
PENDING(gre) PENDING(erspan2) PENDING(erspan3) PENDING(vxlan) PENDING(geneve) PENDING(udp) PENDING(tcp)

}  // namespace dissect
