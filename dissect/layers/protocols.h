#pragma once
#include "wire/field.h"

/// The outermost headings, which the layers below them share. The names are Wireshark's.
namespace dissect::inline layers::protocol {

inline constexpr wire::FieldInfo ethernet{"eth", "Ethernet II"};
inline constexpr wire::FieldInfo cooked{"sll", "Linux cooked-mode capture"};
inline constexpr wire::FieldInfo null_loopback{"null", "Null/Loopback"};
inline constexpr wire::FieldInfo raw{"raw", "Raw packet data"};
inline constexpr wire::FieldInfo ppi{"ppi", "PPI Packet Header"};
inline constexpr wire::FieldInfo erf{"erf", "Extensible Record Format"};
inline constexpr wire::FieldInfo nflog{"nflog", "Linux Netfilter NFLOG"};
inline constexpr wire::FieldInfo ipoib{"ipoib", "IP over Infiniband"};
inline constexpr wire::FieldInfo vlan{"vlan", "802.1Q Virtual LAN"};
inline constexpr wire::FieldInfo llc{"llc", "Logical-Link Control"};
inline constexpr wire::FieldInfo mac_control{"macc", "MAC Control"};
inline constexpr wire::FieldInfo mpls{"mpls", "MultiProtocol Label Switching Header"};
inline constexpr wire::FieldInfo avsp{"avsp", "Arista Vendor Specific Protocol"};
inline constexpr wire::FieldInfo vntag{"vntag", "VN-Tag"};
inline constexpr wire::FieldInfo etag{"etag", "802.1BR E-Tag"};
inline constexpr wire::FieldInfo cisco_metadata{"cmd", "Cisco MetaData"};
inline constexpr wire::FieldInfo macsec{"macsec", "802.1AE Security tag"};
inline constexpr wire::FieldInfo pppoe{"pppoes", "PPP-over-Ethernet Session"};
inline constexpr wire::FieldInfo ppp{"ppp", "Point-to-Point Protocol"};
inline constexpr wire::FieldInfo nsh{"nsh", "Network Service Header"};
inline constexpr wire::FieldInfo ipv4{"ip", "Internet Protocol Version 4"};
inline constexpr wire::FieldInfo ipv6{"ipv6", "Internet Protocol Version 6"};
inline constexpr wire::FieldInfo auth{"ah", "Authentication Header"};
inline constexpr wire::FieldInfo gre{"gre", "Generic Routing Encapsulation"};
inline constexpr wire::FieldInfo erspan{"erspan", "Encapsulated Remote Switch Packet ANalysis"};
inline constexpr wire::FieldInfo vxlan{"vxlan", "Virtual eXtensible Local Area Network"};
inline constexpr wire::FieldInfo geneve{"geneve", "Generic Network Virtualization Encapsulation"};
inline constexpr wire::FieldInfo udp{"udp", "User Datagram Protocol"};
inline constexpr wire::FieldInfo tcp{"tcp", "Transmission Control Protocol"};
inline constexpr wire::FieldInfo icmp{"icmp", "Internet Control Message Protocol"};
inline constexpr wire::FieldInfo icmpv6{"icmpv6", "Internet Control Message Protocol v6"};
inline constexpr wire::FieldInfo infiniband{"infiniband", "InfiniBand"};
inline constexpr wire::FieldInfo mpa{"iwarp_mpa", "iWARP Marker Protocol data unit Aligned framing"};
inline constexpr wire::FieldInfo ddp_rdmap{"iwarp_ddp_rdmap",
                                           "iWARP Direct Data Placement and Remote Direct Memory Access Protocol"};
inline constexpr wire::FieldInfo nvme{"nvme", "NVM Express"};
inline constexpr wire::FieldInfo nvme_rdma{"nvme-rdma", "NVM Express Fabrics RDMA"};
inline constexpr wire::FieldInfo rpcordma{"rpcordma", "RPC over RDMA"};
inline constexpr wire::FieldInfo rpc{"rpc", "Remote Procedure Call"};
inline constexpr wire::FieldInfo nfs{"nfs", "Network File System"};
inline constexpr wire::FieldInfo nfs_acl{"nfsacl", "Network File System Access Control List (NFSACL)"};
inline constexpr wire::FieldInfo mount{"mount", "Mount Service"};
inline constexpr wire::FieldInfo nlm{"nlm", "Network Lock Manager Protocol"};
inline constexpr wire::FieldInfo iser{"iser", "iSCSI Extensions for RDMA"};
inline constexpr wire::FieldInfo iscsi{"iscsi", "iSCSI"};
inline constexpr wire::FieldInfo scsi{"scsi", "SCSI"};
inline constexpr wire::FieldInfo srp{"rdma.srp", "SCSI RDMA Protocol"};
inline constexpr wire::FieldInfo smb_direct{"smb_direct", "SMB-Direct (SMB RDMA Transport)"};
inline constexpr wire::FieldInfo smb2{"smb2", "SMB2 (Server Message Block Protocol version 2)"};
inline constexpr wire::FieldInfo arp{"arp", "Address Resolution Protocol"};
inline constexpr wire::FieldInfo rds{"rdma.rds", "Reliable Datagram Sockets"};
inline constexpr wire::FieldInfo rsocket{"rdma.rsocket", "RDMA socket"};
inline constexpr wire::FieldInfo data{"data", "Data"};  // data that no layer reads

}  // namespace dissect::layers::protocol
