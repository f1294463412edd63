#pragma once
#include <array>

#include "wire/mad_attribute.h"

/// Subnet management. IBTA vol. 1, 14.2.5.
namespace wire::mad {

/// Words for values, IBTA vol. 1, 14.2.5 and 15.2.5.
inline constexpr std::array<ValueName, 3> node_types{{{1, "channel adapter"}, {2, "switch"}, {3, "router"}}};
inline constexpr std::array<ValueName, 4> port_states{{{1, "Down"}, {2, "Initialize"}, {3, "Armed"}, {4, "Active"}}};
inline constexpr std::array<ValueName, 7> physical_states{{{1, "Sleep"},
                                                           {2, "Polling"},
                                                           {3, "Disabled"},
                                                           {4, "PortConfigurationTraining"},
                                                           {5, "LinkUp"},
                                                           {6, "LinkErrorRecovery"},
                                                           {7, "Phy Test"}}};
inline constexpr std::array<ValueName, 5> link_widths{{{1, "1X"}, {2, "4X"}, {4, "8X"}, {8, "12X"}, {16, "2X"}}};
/// Of one lane. Faster links have their speed in LinkSpeedExtActive.
inline constexpr std::array<ValueName, 3> link_speeds{{{1, "SDR, 2.5 Gbit/s"}, {2, "DDR, 5 Gbit/s"}, {4, "QDR, 10 Gbit/s"}}};
inline constexpr std::array<ValueName, 5> extended_link_speeds{{{0, "none, as LinkSpeedActive says"},
                                                                {1, "FDR, 14.0625 Gbit/s"},
                                                                {2, "EDR, 25.78125 Gbit/s"},
                                                                {4, "HDR, 53.125 Gbit/s"},
                                                                {8, "NDR, 106.25 Gbit/s"}}};
inline constexpr std::array<ValueName, 5> mtus{{{1, "256"}, {2, "512"}, {3, "1024"}, {4, "2048"}, {5, "4096"}}};
inline constexpr std::array<ValueName, 5> virtual_lanes{{{1, "VL0"}, {2, "VL0-1"}, {3, "VL0-3"}, {4, "VL0-7"}, {5, "VL0-14"}}};
inline constexpr std::array<ValueName, 4> sm_states{{{0, "not active"}, {1, "discovering"}, {2, "standby"}, {3, "master"}}};

inline constexpr std::array node_description{
    text(0, 64, "infiniband.nodedescription.nodestring", "NodeString"),
};

inline constexpr std::array node_info{
    hex(0, 8, "infiniband.nodeinfo.baseversion", "BaseVersion"),
    hex(1, 8, "infiniband.nodeinfo.classversion", "ClassVersion"),
    hex(2, 8, "infiniband.nodeinfo.nodetype", "NodeType", node_types),
    hex(3, 8, "infiniband.nodeinfo.numports", "NumPorts"),
    hex(4, 64, "infiniband.nodeinfo.systemimageguid", "SystemImageGUID"),
    hex(12, 64, "infiniband.nodeinfo.nodeguid", "NodeGUID"),
    hex(20, 64, "infiniband.nodeinfo.portguid", "PortGUID"),
    hex(28, 16, "infiniband.nodeinfo.partitioncap", "PartitionCap"),
    hex(30, 16, "infiniband.nodeinfo.deviceid", "DeviceID"),
    hex(32, 32, "infiniband.nodeinfo.revision", "Revision"),
    hex(36, 8, "infiniband.nodeinfo.localportnum", "LocalPortNum"),
    hex(37, 24, "infiniband.nodeinfo.vendorid", "VendorID"),
};

inline constexpr std::array switch_info{
    hex(0, 16, "infiniband.switchinfo.linearfdbcap", "LinearFDBCap"),
    hex(2, 16, "infiniband.switchinfo.randomfdbcap", "RandomFDBCap"),
    hex(4, 16, "infiniband.switchinfo.multicastfdbcap", "MulticastFDBCap"),
    hex(6, 16, "infiniband.switchinfo.linearfdbtop", "LinearFDBTop"),
    hex(8, 8, "infiniband.switchinfo.defaultport", "DefaultPort"),
    hex(9, 8, "infiniband.switchinfo.defaultmulticastprimaryport", "DefaultMulticastPrimaryPort"),
    hex(10, 8, "infiniband.switchinfo.defaultmulticastnotprimaryport", "DefaultMulticastNotPrimaryPort"),
    hex(11, 5, "infiniband.switchinfo.lifetimevalue", "LifeTimeValue"),
    hex({11, 5}, 1, "infiniband.switchinfo.portstatechange", "PortStateChange"),
    hex({11, 6}, 2, "infiniband.switchinfo.optimizedsltovlmappingprogramming", "OptimizedSLtoVLMappingProgramming"),
    hex(12, 16, "infiniband.switchinfo.lidsperport", "LIDsPerPort"),
    hex(14, 16, "infiniband.switchinfo.partitionenforcementcap", "PartitionEnforcementCap"),
    hex(16, 1, "infiniband.switchinfo.inboundenforcementcap", "InboundEnforcementCap"),
    hex({16, 1}, 1, "infiniband.switchinfo.outboundenforcementcap", "OutboundEnforcementCap"),
    hex({16, 2}, 1, "infiniband.switchinfo.filterrawinboundcap", "FilterRawInboundCap"),
    hex({16, 3}, 1, "infiniband.switchinfo.filterrawoutboundcap", "FilterRawOutboundCap"),
    hex({16, 4}, 1, "infiniband.switchinfo.enhancedportzero", "EnhancedPortZero"),
};

inline constexpr std::array guid_block{
    hex(0, 64, "infiniband.switchinfo.guid", "GUID"),
};

inline constexpr std::array port_info{
    hex(0, 64, "infiniband.portinfo.m_key", "M_Key"),
    hex(8, 64, "infiniband.portinfo.guid", "GidPrefix"),
    hex(16, 16, "infiniband.portinfo.lid", "LID"),
    hex(18, 16, "infiniband.portinfo.mastersmlid", "MasterSMLID"),
    hex(20, 32, "infiniband.portinfo.capabilitymask", "CapabilityMask"),
    as(Kind::uint32, hex({23, 6}, 1, "infiniband.portinfo.capabilitymask.issm", "SM")),
    as(Kind::uint32, hex({23, 5}, 1, "infiniband.portinfo.capabilitymask.noticesupported", "NoticeSupported")),
    as(Kind::uint32, hex({23, 4}, 1, "infiniband.portinfo.capabilitymask.trapsupported", "TrapSupported")),
    as(Kind::uint32, hex({23, 3}, 1, "infiniband.portinfo.capabilitymask.optionalipdsupported", "OptionalIPDSupported")),
    as(Kind::uint32, hex({23, 2}, 1, "infiniband.portinfo.capabilitymask.automaticmigrationsupported", "AutomaticMigrationSupported")),
    as(Kind::uint32, hex({23, 1}, 1, "infiniband.portinfo.capabilitymask.slmappingsupported", "SLMappingSupported")),
    as(Kind::uint32, hex(23, 1, "infiniband.portinfo.capabilitymask.mkeynvram", "MKeyNVRAM")),
    as(Kind::uint32, hex({22, 7}, 1, "infiniband.portinfo.capabilitymask.pkeynvram", "PKeyNVRAM")),
    as(Kind::uint32, hex({22, 6}, 1, "infiniband.portinfo.capabilitymask.ledinfosupported", "LEDInfoSupported")),
    as(Kind::uint32, hex({22, 5}, 1, "infiniband.portinfo.capabilitymask.smdisabled", "SMdisabled")),
    as(Kind::uint32, hex({22, 4}, 1, "infiniband.portinfo.capabilitymask.systemimageguidsupported", "SystemImageGUIDSupported")),
    as(Kind::uint32, hex({22, 3}, 1, "infiniband.portinfo.capabilitymask.pkeyswitchexternalporttrapsupported", "PKeySwitchExternalPortTrapSupported")),
    as(Kind::uint32, hex({21, 7}, 1, "infiniband.portinfo.capabilitymask.communicationmanagementsupported", "CommunicationManagementSupported")),
    as(Kind::uint32, hex({21, 6}, 1, "infiniband.portinfo.capabilitymask.snmptunnelingsupported", "SNMPTunnelingSupported")),
    as(Kind::uint32, hex({21, 5}, 1, "infiniband.portinfo.capabilitymask.reinitsupported", "ReinitSupported")),
    as(Kind::uint32, hex({21, 4}, 1, "infiniband.portinfo.capabilitymask.devicemanagementsupported", "DeviceManagementSupported")),
    as(Kind::uint32, hex({21, 3}, 1, "infiniband.portinfo.capabilitymask.vendorclasssupported", "VendorClassSupported")),
    as(Kind::uint32, hex({21, 2}, 1, "infiniband.portinfo.capabilitymask.drnoticesupported", "DRNoticeSupported")),
    as(Kind::uint32, hex({21, 1}, 1, "infiniband.portinfo.capabilitymask.capabilitymasknoticesupported", "CapabilityMaskNoticeSupported")),
    as(Kind::uint32, hex(21, 1, "infiniband.portinfo.capabilitymask.bootmanagementsupported", "BootManagementSupported")),
    as(Kind::uint32, hex({20, 7}, 1, "infiniband.portinfo.capabilitymask.linkroundtriplatencysupported", "LinkRoundTripLatencySupported")),
    as(Kind::uint32, hex({20, 6}, 1, "infiniband.portinfo.capabilitymask.clientregistrationsupported", "ClientRegistrationSupported")),
    as(Kind::uint32, hex({20, 5}, 1, "infiniband.portinfo.capabilitymask.otherlocalchangesnoticesupported", "OtherLocalChangesNoticeSupported")),
    as(Kind::uint32, hex({20, 4}, 1, "infiniband.portinfo.capabilitymask.linkspeedwidthpairstablesupported", "LinkSpeedWIdthPairsTableSupported")),
    hex(24, 16, "infiniband.portinfo.diagcode", "DiagCode"),
    hex(26, 16, "infiniband.portinfo.m_keyleaseperiod", "M_KeyLeasePeriod"),
    hex(28, 8, "infiniband.portinfo.localportnum", "LocalPortNum"),
    hex(29, 8, "infiniband.portinfo.linkwidthenabled", "LinkWidthEnabled"),
    hex(30, 8, "infiniband.portinfo.linkwidthsupported", "LinkWidthSupported"),
    hex(31, 8, "infiniband.portinfo.linkwidthactive", "LinkWidthActive", link_widths),
    hex(32, 4, "infiniband.portinfo.linkspeedsupported", "LinkSpeedSupported"),
    hex({32, 4}, 4, "infiniband.portinfo.portstate", "PortState", port_states),
    hex(33, 4, "infiniband.portinfo.portphysicalstate", "PortPhysicalState", physical_states),
    hex({33, 4}, 4, "infiniband.portinfo.linkdowndefaultstate", "LinkDownDefaultState", physical_states),
    hex(34, 2, "infiniband.portinfo.m_keyprotectbits", "M_KeyProtectBits"),
    hex({34, 5}, 3, "infiniband.portinfo.lmc", "LMC"),
    hex(35, 4, "infiniband.portinfo.linkspeedactive", "LinkSpeedActive", link_speeds),
    hex({35, 4}, 4, "infiniband.portinfo.linkspeedenabled", "LinkSpeedEnabled"),
    hex(36, 4, "infiniband.portinfo.neighbormtu", "NeighborMTU", mtus),
    hex({36, 4}, 4, "infiniband.portinfo.mastersmsl", "MasterSMSL"),
    hex(37, 4, "infiniband.portinfo.vlcap", "VLCap", virtual_lanes),
    hex({37, 4}, 4, "infiniband.portinfo.inittype", "InitType"),
    hex(38, 8, "infiniband.portinfo.vlhighlimit", "VLHighLimit"),
    hex(39, 8, "infiniband.portinfo.vlarbitrationhighcap", "VLArbitrationHighCap"),
    hex(40, 8, "infiniband.portinfo.vlarbitrationlowcap", "VLArbitrationLowCap"),
    hex(41, 4, "infiniband.portinfo.inittypereply", "InitTypeReply"),
    hex({41, 4}, 4, "infiniband.portinfo.mtucap", "MTUCap", mtus),
    hex(42, 3, "infiniband.portinfo.vlstallcount", "VLStallCount"),
    hex({42, 3}, 5, "infiniband.portinfo.hoqlife", "HOQLife"),
    hex(43, 4, "infiniband.portinfo.operationalvls", "OperationalVLs", virtual_lanes),
    hex({43, 4}, 1, "infiniband.portinfo.partitionenforcementinbound", "PartitionEnforcementInbound"),
    hex({43, 5}, 1, "infiniband.portinfo.partitionenforcementoutbound", "PartitionEnforcementOutbound"),
    hex({43, 6}, 1, "infiniband.portinfo.filterrawinbound", "FilterRawInbound"),
    hex({43, 7}, 1, "infiniband.portinfo.filterrawoutbound", "FilterRawOutbound"),
    hex(44, 16, "infiniband.portinfo.m_keyviolations", "M_KeyViolations"),
    hex(46, 16, "infiniband.portinfo.p_keyviolations", "P_KeyViolations"),
    hex(48, 16, "infiniband.portinfo.q_keyviolations", "Q_KeyViolations"),
    hex(50, 8, "infiniband.portinfo.guidcap", "GUIDCap"),
    hex(51, 1, "infiniband.portinfo.clientreregister", "ClientReregister"),
    hex({51, 3}, 5, "infiniband.portinfo.subnettimeout", "SubnetTimeOut"),
    hex({52, 3}, 5, "infiniband.portinfo.resptimevalue", "RespTimeValue"),
    hex(53, 4, "infiniband.portinfo.localphyerrors", "LocalPhyErrors"),
    hex({53, 4}, 4, "infiniband.portinfo.overrunerrors", "OverrunErrors"),
    hex(54, 16, "infiniband.portinfo.maxcredithint", "MaxCreditHint"),
    hex(57, 24, "infiniband.portinfo.linkroundtriplatency", "LinkRoundTripLatency"),
    hex(60, 16, "rdma.portinfo.capabilitymask2", "CapabilityMask2"),
    hex(62, 4, "rdma.portinfo.linkspeedextactive", "LinkSpeedExtActive", extended_link_speeds),
    hex({62, 4}, 4, "rdma.portinfo.linkspeedextsupported", "LinkSpeedExtSupported"),
    hex({63, 3}, 5, "rdma.portinfo.linkspeedextenabled", "LinkSpeedExtEnabled"),
};

/// All of the table as octets; its entries follow.
inline constexpr std::array p_key_block{
    octets(0, 64, "infiniband.p_keytable.p_keytableblock", "P_KeyTableBlock"),
};
inline constexpr std::array p_key_entry{
    hex(0, 1, "infiniband.p_keytable.membershiptype", "MembershipType"),
    hex({0, 1}, 15, "infiniband.p_keytable.p_keybase", "P_KeyBase"),
};

inline constexpr std::array sl_to_vl_entry{
    hex(0, 4, "infiniband.sltovlmappingtable.sltovlhighbits", "SL(x)toVL"),
    hex({0, 4}, 4, "infiniband.sltovlmappingtable.sltovllowbits", "SL(x)toVL"),
};

inline constexpr std::array vl_arbitration_entry{
    hex({0, 4}, 4, "infiniband.vlarbitrationtable.vl", "VL"),
    hex(1, 8, "infiniband.vlarbitrationtable.weight", "Weight"),
};

inline constexpr std::array linear_forwarding_entry{
    hex(0, 8, "infiniband.linearforwardingtable.port", "Port"),
};

inline constexpr std::array random_forwarding_entry{
    hex(0, 16, "infiniband.randomforwardingtable.lid", "LID"),
    hex(2, 1, "infiniband.randomforwardingtable.valid", "Valid"),
    hex({2, 1}, 3, "infiniband.randomforwardingtable.lmc", "LMC"),
    hex(3, 8, "infiniband.randomforwardingtable.port", "Port"),
};

inline constexpr std::array multicast_forwarding_entry{
    hex(0, 16, "infiniband.multicastforwardingtable.portmask", "PortMask"),
};

inline constexpr std::array link_speed_width_pairs{
    hex(0, 8, "infiniband.linkspeedwidthpairstable.numtables", "NumTables"),
    octets(1, 32, "infiniband.linkspeedwidthpairstable.portmask", "PortMask"),
    hex(33, 1, "infiniband.linkspeedwidthpairstable.speedtwofive", "Speed 2.5 Gbps"),
    hex(34, 1, "infiniband.linkspeedwidthpairstable.speedfive", "Speed 5 Gbps"),
    hex(35, 1, "infiniband.linkspeedwidthpairstable.speedten", "Speed 10 Gbps"),
};

inline constexpr std::array sm_info{
    hex(0, 64, "infiniband.sminfo.guid", "GUID"),
    hex(8, 64, "infiniband.sminfo.sm_key", "SM_Key"),
    hex(16, 32, "infiniband.sminfo.actcount", "ActCount"),
    hex(20, 4, "infiniband.sminfo.priority", "Priority"),
    hex({20, 4}, 4, "infiniband.sminfo.smstate", "SMState", sm_states),
};

inline constexpr std::array vendor_diagnosis{
    hex(0, 16, "infiniband.vendordiag.nextindex", "NextIndex"),
    octets(2, 62, "infiniband.vendordiag.diagdata", "DiagData"),
};

inline constexpr std::array led_info{
    hex(0, 1, "infiniband.ledinfo.ledmask", "LedMask"),
};

inline constexpr std::array port_info_extended{
    hex(0, 32, "rdma.mad.portinfoextended.capabilitymask", "CapabilityMask"),
    hex(4, 16, "rdma.mad.portinfoextended.fecmodeactive", "FECModeActive"),
    hex(6, 16, "rdma.mad.portinfoextended.fdrfecmodesupported", "FDRFECModeSupported"),
    hex(8, 16, "rdma.mad.portinfoextended.fdrfecmodeenabled", "FDRFECModeEnabled"),
    hex(10, 16, "rdma.mad.portinfoextended.edrfecmodesupported", "EDRFECModeSupported"),
    hex(12, 16, "rdma.mad.portinfoextended.edrfecmodeenabled", "EDRFECModeEnabled"),
    hex(14, 16, "rdma.mad.portinfoextended.hdrfecmodesupported", "HDRFECModeSupported"),
    hex(16, 16, "rdma.mad.portinfoextended.hdrfecmodeenabled", "HDRFECModeEnabled"),
    hex(18, 16, "rdma.mad.portinfoextended.ndrfecmodesupported", "NDRFECModeSupported"),
    hex(20, 16, "rdma.mad.portinfoextended.ndrfecmodeenabled", "NDRFECModeEnabled"),
};

/// What ConnectX-3 says of FDR10.
inline constexpr std::array mellanox_port_info{
    hex(3, 8, "rdma.mad.mellanoxportinfo.statechangeenable", "StateChangeEnable"),
    hex(7, 8, "rdma.mad.mellanoxportinfo.linkspeedsupported", "LinkSpeedSupported"),
    hex(11, 8, "rdma.mad.mellanoxportinfo.linkspeedenabled", "LinkSpeedEnabled"),
    hex(15, 8, "rdma.mad.mellanoxportinfo.linkspeedactive", "LinkSpeedActive"),
};

}  // namespace wire::mad
