#pragma once
#include <array>

#include "wire/mad_attribute.h"
#include "wire/mad_subnet.h"
#include "wire/mad_trap.h"

/// The records of Subnet Administration. IBTA vol. 1, 15.2.5. Where a record holds an attribute of subnet management,
/// only what stands before it is here.
namespace wire::mad {

/// How a path's component is compared with the value that follows it.
inline constexpr std::array<ValueName, 4> selectors{{{0, "greater than"}, {1, "less than"}, {2, "exactly"}, {3, "largest available"}}};
/// Static rates in Gbit/s.
inline constexpr std::array<ValueName, 21> rates{{{2, "2.5"}, {3, "10"},  {4, "30"},   {5, "5"},   {6, "20"},  {7, "40"},  {8, "60"},
                                                  {9, "80"},  {10, "120"}, {11, "14"}, {12, "56"}, {13, "112"}, {14, "168"}, {15, "25"},
                                                  {16, "100"}, {17, "200"}, {18, "300"}, {19, "28"}, {20, "50"}, {21, "400"}, {22, "600"}}};

inline constexpr std::array record_lid{hex(0, 16, "infiniband.sa.lid", "LID")};
inline constexpr std::array endport_record_id{
    hex(0, 16, "infiniband.sa.endportlid", "EndportLID"),
    hex(2, 8, "infiniband.sa.portnum", "PortNum"),
};
inline constexpr std::array block_of_8_record_id{
    hex(0, 16, "infiniband.sa.lid", "LID"),
    hex(2, 8, "infiniband.sa.blocknum_eightbit", "BlockNum_EightBit"),
};
inline constexpr std::array block_of_16_record_id{
    hex(0, 16, "infiniband.sa.lid", "LID"),
    hex(2, 16, "infiniband.sa.blocknum_sixteenbit", "BlockNum_SixteenBit"),
};
inline constexpr std::array multicast_record_id{
    hex(0, 16, "infiniband.sa.lid", "LID"),
    hex(2, 4, "infiniband.sa.position", "Position"),
    hex({2, 7}, 9, "infiniband.sa.blocknum_ninebit", "BlockNum_NineBit"),
};
inline constexpr std::array p_key_record_id{
    hex(0, 16, "infiniband.sa.lid", "LID"),
    hex(2, 16, "infiniband.sa.blocknum_sixteenbit", "BlockNum_SixteenBit"),
    hex(4, 8, "infiniband.sa.portnum", "PortNum"),
};
inline constexpr std::array sl_to_vl_record_id{
    hex(0, 16, "infiniband.sa.lid", "LID"),
    hex(2, 8, "infiniband.sa.inputportnum", "InputPortNum"),
    hex(3, 8, "infiniband.sa.outputportnum", "OutputPortNum"),
};
inline constexpr std::array vl_arbitration_record_id{
    hex(0, 16, "infiniband.sa.lid", "LID"),
    hex(2, 8, "infiniband.sa.outputportnum", "OutputPortNum"),
    hex(3, 8, "infiniband.sa.blocknum_eightbit", "BlockNum_EightBit"),
};

inline constexpr std::array link_record{
    hex(0, 16, "infiniband.linkrecord.fromlid", "FromLID"),
    hex(2, 8, "infiniband.linkrecord.fromport", "FromPort"),
    hex(3, 8, "infiniband.linkrecord.toport", "ToPort"),
    hex(4, 16, "infiniband.linkrecord.tolid", "ToLID"),
};

inline constexpr std::array service_record{
    hex(0, 64, "infiniband.linkrecord.serviceid", "ServiceID"),
    gid(8, "infiniband.linkrecord.servicegid", "ServiceGID"),
    hex(24, 16, "infiniband.linkrecord.servicep_key", "ServiceP_Key"),
    hex(28, 32, "infiniband.linkrecord.servicelease", "ServiceLease"),
    octets(32, 16, "infiniband.linkrecord.servicekey", "ServiceKey"),
    octets(48, 64, "infiniband.linkrecord.servicename", "ServiceName"),
    octets(112, 16, "infiniband.linkrecord.servicedata", "ServiceData"),
    octets(128, 16, "infiniband.linkrecord.servicedata", "ServiceData"),
    octets(144, 16, "infiniband.linkrecord.servicedata", "ServiceData"),
    octets(160, 16, "infiniband.linkrecord.servicedata", "ServiceData"),
};

inline constexpr std::array path_record{
    gid(8, "infiniband.pathrecord.dgid", "DGID"),
    gid(24, "infiniband.pathrecord.sgid", "SGID"),
    hex(40, 16, "infiniband.pathrecord.dlid", "DLID"),
    hex(42, 16, "infiniband.pathrecord.slid", "SLID"),
    hex(44, 1, "infiniband.pathrecord.rawtraffic", "RawTraffic"),
    hex({44, 4}, 20, "infiniband.pathrecord.flowlabel", "FlowLabel"),
    hex(47, 8, "infiniband.pathrecord.hoplimit", "HopLimit"),
    hex(48, 8, "infiniband.pathrecord.tclass", "TClass"),
    hex(49, 1, "infiniband.pathrecord.reversible", "Reversible"),
    hex({49, 1}, 7, "infiniband.pathrecord.numbpath", "NumbPath"),
    hex(50, 16, "infiniband.pathrecord.p_key", "P_Key"),
    as(Kind::uint16, hex({53, 4}, 4, "infiniband.pathrecord.sl", "SL")),
    hex(54, 2, "infiniband.pathrecord.mtuselector", "MTUSelector", selectors),
    hex({54, 2}, 6, "infiniband.pathrecord.mtu", "MTU", mtus),
    hex(55, 2, "infiniband.pathrecord.rateselector", "RateSelector", selectors),
    hex({55, 2}, 6, "infiniband.pathrecord.rate", "Rate", rates),
    hex(56, 2, "infiniband.pathrecord.packetlifetimeselector", "PacketLifeTimeSelector", selectors),
    hex({56, 2}, 6, "infiniband.pathrecord.packetlifetime", "PacketLifeTime"),
    hex(57, 8, "infiniband.pathrecord.preference", "Preference"),
};

inline constexpr std::array multicast_member_record{
    gid(0, "infiniband.mcmemberrecord.mgid", "MGID"),
    gid(16, "infiniband.mcmemberrecord.portgid", "PortGID"),
    hex(32, 32, "infiniband.mcmemberrecord.q_key", "Q_Key"),
    hex(36, 16, "infiniband.mcmemberrecord.mlid", "MLID"),
    hex(38, 2, "infiniband.mcmemberrecord.mtuselector", "MTUSelector", selectors),
    hex({38, 2}, 6, "infiniband.mcmemberrecord.mtu", "MTU", mtus),
    hex(39, 8, "infiniband.mcmemberrecord.tclass", "TClass"),
    hex(40, 16, "infiniband.mcmemberrecord.p_key", "P_Key"),
    hex(42, 2, "infiniband.mcmemberrecord.rateselector", "RateSelector", selectors),
    hex({42, 2}, 6, "infiniband.mcmemberrecord.rate", "Rate", rates),
    hex(43, 2, "infiniband.mcmemberrecord.packetlifetimeselector", "PacketLifeTimeSelector", selectors),
    hex({43, 2}, 6, "infiniband.mcmemberrecord.packetlifetime", "PacketLifeTime"),
    hex(44, 4, "infiniband.mcmemberrecord.sl", "SL"),
    hex({44, 4}, 20, "infiniband.mcmemberrecord.flowlabel", "FlowLabel"),
    hex(47, 8, "infiniband.mcmemberrecord.hoplimit", "HopLimit"),
    hex(48, 4, "infiniband.mcmemberrecord.scope", "Scope"),
    hex({48, 4}, 4, "infiniband.mcmemberrecord.joinstate", "JoinState"),
    hex(49, 1, "infiniband.mcmemberrecord.proxyjoin", "ProxyJoin"),
};

inline constexpr std::array trace_record{
    hex(0, 64, "infiniband.tracerecord.gidprefix", "GidPrefix"),
    hex(8, 16, "infiniband.tracerecord.idgeneration", "IDGeneration"),
    hex(11, 8, "infiniband.tracerecord.nodetype", "NodeType", node_types),
    hex(12, 64, "infiniband.tracerecord.nodeid", "NodeID"),
    hex(20, 64, "infiniband.tracerecord.chassisid", "ChassisID"),
    hex(28, 64, "infiniband.tracerecord.entryportid", "EntryPortID"),
    hex(36, 64, "infiniband.tracerecord.exitportid", "ExitPortID"),
    hex(44, 8, "infiniband.tracerecord.entryport", "EntryPort"),
    hex(45, 8, "infiniband.tracerecord.exitport", "ExitPort"),
};

inline constexpr std::array multipath_record{
    hex(0, 1, "infiniband.multipathrecord.rawtraffic", "RawTraffic"),
    hex({0, 4}, 20, "infiniband.multipathrecord.flowlabel", "FlowLabel"),
    hex(3, 8, "infiniband.multipathrecord.hoplimit", "HopLimit"),
    hex(4, 8, "infiniband.multipathrecord.tclass", "TClass"),
    hex(5, 1, "infiniband.multipathrecord.reversible", "Reversible"),
    hex({5, 1}, 7, "infiniband.multipathrecord.numbpath", "NumbPath"),
    hex(6, 16, "infiniband.multipathrecord.p_key", "P_Key"),
    hex({9, 4}, 4, "infiniband.multipathrecord.sl", "SL"),
    hex(10, 2, "infiniband.multipathrecord.mtuselector", "MTUSelector", selectors),
    hex({10, 2}, 6, "infiniband.multipathrecord.mtu", "MTU", mtus),
    hex(11, 2, "infiniband.multipathrecord.rateselector", "RateSelector", selectors),
    hex({11, 2}, 6, "infiniband.multipathrecord.rate", "Rate", rates),
    hex(12, 2, "infiniband.multipathrecord.packetlifetimeselector", "PacketLifeTimeSelector", selectors),
    hex({12, 2}, 6, "infiniband.multipathrecord.packetlifetime", "PacketLifeTime"),
    hex(14, 2, "infiniband.multipathrecord.independenceselector", "IndependenceSelector"),
    hex({14, 2}, 6, "infiniband.multipathrecord.gidscope", "GIDScope"),
    hex(15, 8, "infiniband.multipathrecord.sgidcount", "SGIDCount"),
    hex(16, 8, "infiniband.multipathrecord.dgidcount", "DGIDCount"),
};

/// The GIDs of the sources, then those of the destinations, as many as the record says.
inline constexpr std::uint32_t multipath_gids_octet = 24;
inline constexpr std::array multipath_gid{
    gid(0, "infiniband.multipathrecord.sdgid", "SDGID"),
};
constexpr unsigned multipath_gid_count(base::Bytes record) {
    constexpr std::size_t sources = 15;
    constexpr std::size_t destinations = 16;
    if (record.size() <= destinations) return 0;
    return std::to_integer<unsigned>(record[sources]) + std::to_integer<unsigned>(record[destinations]);
}

inline constexpr std::array service_association_record{
    octets(0, 16, "infiniband.serviceassociationrecord.servicekey", "ServiceKey"),
    text(16, 64, "infiniband.serviceassociationrecord.servicename", "ServiceName"),
};

inline constexpr std::array inform_info{
    gid(0, "infiniband.informinfo.gid", "GID"),
    hex(16, 16, "infiniband.informinfo.lidrangebegin", "LIDRangeBegin"),
    hex(18, 16, "infiniband.informinfo.lidrangeend", "LIDRangeEnd"),
    hex(22, 8, "infiniband.informinfo.isgeneric", "IsGeneric"),
    hex(23, 8, "infiniband.informinfo.subscribe", "Subscribe"),
    hex(24, 16, "infiniband.informinfo.type", "Type", notice_types),
    hex(26, 16, "infiniband.informinfo.trapnumberdeviceid", "TrapNumberDeviceID", traps),
    hex(28, 24, "infiniband.informinfo.qpn", "QPN"),
    hex({31, 3}, 5, "infiniband.informinfo.resptimevalue", "RespTimeValue"),
    hex(33, 24, "infiniband.informinfo.producertypevendorid", "ProducerTypeVendorID", producers),
};

inline constexpr std::array inform_info_record_id{
    gid(0, "infiniband.informinforecord.subscribergid", "SubscriberGID"),
    hex(16, 16, "infiniband.informinforecord.enum", "Enum"),
};

}  // namespace wire::mad
