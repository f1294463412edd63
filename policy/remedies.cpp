#include "policy/remedies.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <optional>

#include "policy/dscp.h"

namespace policy {
namespace {

using metrics::FlowSnapshot;
using metrics::PacketClass;
using wire::AddressFamily;
using wire::Transport;

constexpr std::uint16_t nvme_port = 4420;
constexpr std::uint16_t nfs_port = 20049;
constexpr std::uint16_t smb_port = 445;
constexpr std::uint16_t smb_direct_port = 5445;

/// Remedy::is_addition
constexpr bool is_addition = true;

/// What sets the class of a flow's packets.
enum class Client : std::uint8_t { any, nvme, nfs, smb };

bool uses_port(const FlowSnapshot& flow, std::uint16_t port) {
    return flow.source.port == port || flow.destination.port == port || service_port_of(flow) == port;
}

Client client_of(const FlowSnapshot& flow) {
    const std::string protocol = flow.commands ? flow.commands->protocol : std::string();
    if (protocol == "nvme" || uses_port(flow, nvme_port)) return Client::nvme;
    if (protocol == "smb" || uses_port(flow, smb_port) || uses_port(flow, smb_direct_port)) return Client::smb;
    if (protocol == "rpc" || uses_port(flow, nfs_port)) return Client::nfs;
    return Client::any;
}

/// Whether packets of the flow have a value that the list does not permit.
template <class T, class Take>
bool breaks(const std::vector<T>& values, const FlowSnapshot& flow, Take take) {
    if (values.empty()) return false;
    return std::ranges::any_of(flow.classes(), [&](const metrics::ClassFigures& one) {
        const std::optional<T> value = std::invoke(take, one.packet_class);
        return value && std::ranges::find(values, *value) == values.end();
    });
}

void add_dscp(const Rule& rule, const FlowSnapshot& flow, Remedies& out) {
    const bool has_none = flow.source.address.family == AddressFamily::lid;
    if (has_none || !breaks(rule.dscp, flow, [](PacketClass one) { return std::optional(one.dscp()); })) return;
    const std::uint8_t dscp = rule.dscp.front();
    const unsigned value = traffic_class_of(dscp);
    const std::string every = fmt::format("cma_roce_tos -d DEVICE -t {}", value);
    const bool is_iwarp = flow.transport == Transport::iwarp;
    switch (client_of(flow)) {
        case Client::nvme: out.push_back({fmt::format("nvme connect --tos={} ...", value), "on the NVMe host"}); break;
        case Client::nfs: out.push_back({every, "before the file system is mounted; NFS has no option for it"}); break;
        case Client::smb:
            out.push_back(
                {fmt::format("New-NetQosPolicy SMB -NetDirectPortMatchCondition 445 -DSCPAction {}", dscp), "Windows"});
            out.push_back({every, "Linux, before the share is mounted"});
            break;
        case Client::any:
            if (is_iwarp) {
                out.push_back(
                    {fmt::format("rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, ...) with {} in "
                                 "the program",
                                 value)});
                break;
            }
            out.push_back({every, "programs that use librdmacm"});
            out.push_back({fmt::format("NCCL_IB_TC={}", value), "NCCL"});
            out.push_back({fmt::format("UCX_IB_TRAFFIC_CLASS={}", value), "MPI over UCX"});
            break;
    }
    if (!is_iwarp)
        out.push_back(
            {"mlnx_qos -i INTERFACE --trust=dscp", "mlx5: the adapter's queues then follow the DSCP", is_addition});
}

void add_priority(const Rule& rule, const FlowSnapshot& flow, Remedies& out) {
    if (!breaks(rule.vlan_priorities, flow, &PacketClass::vlan_priority)) return;
    const unsigned priority = rule.vlan_priorities.front();
    if (client_of(flow) == Client::smb)
        out.push_back(
            {fmt::format("New-NetQosPolicy SMB -NetDirectPortMatchCondition 445 -PriorityValue8021Action {}", priority),
             "Windows"});
    out.push_back({fmt::format("ip link set VLAN_INTERFACE type vlan egress-qos-map 0:{0} 1:{0} 2:{0} 3:{0} 4:{0} "
                               "5:{0} 6:{0} 7:{0}",
                               priority),
                   client_of(flow) == Client::smb ? "Linux" : ""});
    out.push_back(
        {"mlnx_qos -i INTERFACE --trust=pcp", "mlx5: the adapter's queues then follow the priority", is_addition});
}

void add_level(const Rule& rule, const FlowSnapshot& flow, Remedies& out) {
    if (!breaks(rule.service_levels, flow, &PacketClass::service_level)) return;
    const unsigned level = rule.service_levels.front();
    out.push_back({fmt::format("NCCL_IB_SL={}", level), "NCCL"});
    out.push_back({fmt::format("UCX_IB_SL={}", level), "MPI over UCX"});
    out.push_back(
        {fmt::format("a qos-ulps line with {} in qos-policy.conf of opensm", level), "programs that use librdmacm"});
}

void add_partition(const Rule& rule, const FlowSnapshot& flow, Remedies& out) {
    if (rule.partition_keys.empty()) return;
    const bool wrong = std::ranges::any_of(flow.classes(), [&rule](const metrics::ClassFigures& one) {
        const auto key = one.packet_class.partition_key();
        return key && std::ranges::none_of(rule.partition_keys, [key](std::uint16_t permitted) {
                   return partition_of(permitted) == partition_of(*key);
               });
    });
    if (!wrong) return;
    const unsigned key = rule.partition_keys.front();
    out.push_back(
        {"NCCL_IB_PKEY=INDEX",
         fmt::format("NCCL; grep -n . /sys/class/infiniband/DEVICE/ports/1/pkeys/* finds the index of {:#06x}", key)});
    out.push_back({fmt::format("UCX_IB_PKEY={:#06x}", key), "MPI over UCX"});
    out.push_back({fmt::format("ip link add link ib0 name ib0.{0:04x} type ipoib pkey {0:#06x}", key | 0x8000u),
                   "programs that use librdmacm, with an address there"});
}

void add_addresses(const Rule& rule, const FlowSnapshot& flow, Remedies& out) {
    const AddressFamily family = flow.source.address.family;
    const bool four = family == AddressFamily::ipv4;
    if (!rule.addresses || (!four && family != AddressFamily::ipv6) || four == (*rule.addresses == AddressKind::ipv4))
        return;
    if (flow.transport != Transport::iwarp && client_of(flow) == Client::any) {
        out.push_back({fmt::format("NCCL_IB_ADDR_FAMILY={}", four ? "AF_INET6" : "AF_INET"), "NCCL"});
        out.push_back({"UCX_IB_GID_INDEX=INDEX", "MPI over UCX; show_gids lists the indexes"});
    }
    out.push_back({fmt::format("connect to the peer's {} address", four ? "IPv6" : "IPv4")});
}

/// The port of a service is the server's: what listens there.
void add_port(const Rule& rule, const FlowSnapshot& flow, Remedies& out) {
    const std::vector<std::uint16_t> used = ports_of(flow);
    if (rule.ports.empty() || used.empty() ||
        std::ranges::any_of(used, [&rule](std::uint16_t port) { return any_holds(rule.ports, port); }))
        return;
    const unsigned port = rule.ports.front().first;
    switch (client_of(flow)) {
        case Client::nvme:
            out.push_back({fmt::format("echo {} > /sys/kernel/config/nvmet/ports/ID/addr_trsvcid", port),
                           "on the NVMe target, while no subsystem is linked to the port"});
            out.push_back({fmt::format("nvme connect --trsvcid={} ...", port), "on the NVMe host", is_addition});
            return;
        case Client::nfs:
            out.push_back({fmt::format("echo rdma {} > /proc/fs/nfsd/portlist", port), "on the NFS server"});
            out.push_back({fmt::format("mount -o proto=rdma,port={} ...", port), "on the NFS client", is_addition});
            return;
        case Client::smb:
        case Client::any: break;
    }
    out.push_back({fmt::format("let the server listen on port {} (rdma_bind_addr), and clients connect to it", port)});
}

void add_udp_port(const Rule& rule, const FlowSnapshot& flow, Remedies& out) {
    if (rule.udp_source_ports.empty() || !flow.udp_port || any_holds(rule.udp_source_ports, *flow.udp_port)) return;
    const PortRange range = rule.udp_source_ports.front();
    out.push_back({fmt::format("mlx5dv_modify_qp_udp_sport(qp, {}) in the program", range.first), "mlx5"});
    // A flow label gives ports from 0xc000 on; the label 0 leaves the port to the driver.
    const unsigned port = std::max(range.first, std::uint16_t{0xc001});
    if (port <= range.last)
        out.push_back({fmt::format("ah_attr.grh.flow_label = {:#x} in ibv_modify_qp of the program", port & 0x3fffu)});
}

/// What shows the program that sends a flow that must not exist.
void add_owner(const Rule& rule, const FlowSnapshot& flow, Remedies& out) {
    if (!rule.forbidden) return;
    if (flow.transport == Transport::iwarp && flow.source.port)
        out.push_back({fmt::format("rdma resource show cm_id src-port {}", *flow.source.port), "names the program"});
    else if (flow.source.qpn)
        out.push_back(
            {fmt::format("rdma resource show qp link DEVICE/- lqpn {}", *flow.source.qpn), "names the program"});
}

}  // namespace

std::string text_of(const Remedy& remedy) {
    return remedy.note.empty() ? remedy.command : fmt::format("{}   ({})", remedy.command, remedy.note);
}

Remedies remedies(const Rule& rule, const FlowSnapshot& flow) {
    Remedies out;
    add_dscp(rule, flow, out);
    add_priority(rule, flow, out);
    add_level(rule, flow, out);
    add_partition(rule, flow, out);
    add_addresses(rule, flow, out);
    add_port(rule, flow, out);
    add_udp_port(rule, flow, out);
    add_owner(rule, flow, out);
    return out;
}

}  // namespace policy
