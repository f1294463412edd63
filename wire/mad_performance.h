#pragma once
#include <array>

#include "wire/mad_attribute.h"

/// Performance management. IBTA vol. 1, 16.1.3, and annex A10.
namespace wire::mad {

inline constexpr std::array port_counters{
    hex(1, 8, "infiniband.portcounters.portselect", "PortSelect"),
    hex(2, 16, "infiniband.portcounters.counterselect", "CounterSelect"),
    decimal(4, 16, "infiniband.portcounters.symbolerrorcounter", "SymbolErrorCounter"),
    decimal(6, 8, "infiniband.portcounters.linkerrorrecoverycounter", "LinkErrorRecoveryCounter"),
    decimal(7, 8, "infiniband.portcounters.linkdownedcounter", "LinkDownedCounter"),
    decimal(8, 16, "infiniband.portcounters.portrcverrors", "PortRcvErrors"),
    decimal(10, 16, "infiniband.portcounters.portrcvremotephysicalerrors", "PortRcvRemotePhysicalErrors"),
    decimal(12, 16, "infiniband.portcounters.portrcvswitchrelayerrors", "PortRcvSwitchRelayErrors"),
    decimal(14, 16, "infiniband.portcounters.portxmitdiscards", "PortXmitDiscards"),
    decimal(16, 8, "infiniband.portcounters.portxmitconstrainterrors", "PortXmitConstraintErrors"),
    decimal(17, 8, "infiniband.portcounters.portrcvconstrainterrors", "PortRcvConstraintErrors"),
    decimal(19, 4, "infiniband.portcounters.locallinkintegrityerrors", "LocalLinkIntegrityErrors"),
    decimal({19, 4}, 4, "infiniband.portcounters.excessivebufferoverrunerrors", "ExcessiveBufferOverrunErrors"),
    decimal(20, 16, "rdma.portcounters.qp1dropped", "QP1Dropped"),
    decimal(22, 16, "infiniband.portcounters.vl15dropped", "VL15Dropped"),
    decimal(24, 32, "infiniband.portcounters.portxmitdata", "PortXmitData"),
    decimal(28, 32, "infiniband.portcounters.portrcvdata", "PortRcvData"),
    decimal(32, 32, "infiniband.portcounters.portxmitpkts", "PortXmitPkts"),
    decimal(36, 32, "infiniband.portcounters.portrcvpkts", "PortRcvPkts"),
    decimal(40, 32, "rdma.portcounters.xmitwait", "PortXmitWait"),
};

inline constexpr std::array port_counters_extended{
    hex(1, 8, "infiniband.portcounters_ext.portselect", "PortSelect"),
    hex(2, 16, "infiniband.portcounters_ext.counterselect", "CounterSelect"),
    hex(4, 32, "rdma.portcounters_ext.counterselect2", "CounterSelect2"),
    decimal(8, 64, "infiniband.portcounters_ext.portxmitdata", "PortXmitData"),
    decimal(16, 64, "infiniband.portcounters_ext.portrcvdata", "PortRcvData"),
    decimal(24, 64, "infiniband.portcounters_ext.portxmitpkts", "PortXmitPkts"),
    decimal(32, 64, "infiniband.portcounters_ext.portrcvpkts", "PortRcvPkts"),
    decimal(40, 64, "infiniband.portcounters_ext.portunicastxmitpkts", "PortUnicastXmitPkts"),
    decimal(48, 64, "infiniband.portcounters_ext.portunicastrcvpkts", "PortUnicastRcvPkts"),
    decimal(56, 64, "infiniband.portcounters_ext.portmulticastxmitpkts", "PortMulticastXmitPkts"),
    decimal(64, 64, "infiniband.portcounters_ext.portmulticastrcvpkts", "PortMulticastRcvPkts"),
    decimal(72, 64, "rdma.portcounters_ext.symbolerrorcounter", "SymbolErrorCounter"),
    decimal(80, 64, "rdma.portcounters_ext.linkerrorrecoverycounter", "LinkErrorRecoveryCounter"),
    decimal(88, 64, "rdma.portcounters_ext.linkdownedcounter", "LinkDownedCounter"),
    decimal(96, 64, "rdma.portcounters_ext.portrcverrors", "PortRcvErrors"),
    decimal(104, 64, "rdma.portcounters_ext.portrcvremotephysicalerrors", "PortRcvRemotePhysicalErrors"),
    decimal(112, 64, "rdma.portcounters_ext.portrcvswitchrelayerrors", "PortRcvSwitchRelayErrors"),
    decimal(120, 64, "rdma.portcounters_ext.portxmitdiscards", "PortXmitDiscards"),
    decimal(128, 64, "rdma.portcounters_ext.portxmitconstrainterrors", "PortXmitConstraintErrors"),
    decimal(136, 64, "rdma.portcounters_ext.portrcvconstrainterrors", "PortRcvConstraintErrors"),
    decimal(144, 64, "rdma.portcounters_ext.locallinkintegrityerrors", "LocalLinkIntegrityErrors"),
    decimal(152, 64, "rdma.portcounters_ext.excessivebufferoverrunerrors", "ExcessiveBufferOverrunErrors"),
    decimal(160, 64, "rdma.portcounters_ext.vl15dropped", "VL15Dropped"),
    decimal(168, 64, "rdma.portcounters_ext.xmitwait", "PortXmitWait"),
    decimal(176, 64, "rdma.portcounters_ext.qp1dropped", "QP1Dropped"),
};

/// Which port an attribute is about, and which counters a Set changes.
inline constexpr std::array port_of_counters{
    hex(1, 8, "rdma.mad.portselect", "PortSelect"),
    hex(2, 16, "rdma.mad.counterselect", "CounterSelect"),
};
inline constexpr std::array receive_error_details{
    decimal(4, 16, "rdma.mad.portrcverrordetails.portlocalphysicalerrors", "PortLocalPhysicalErrors"),
    decimal(6, 16, "rdma.mad.portrcverrordetails.portmalformedpacketerrors", "PortMalformedPacketErrors"),
    decimal(8, 16, "rdma.mad.portrcverrordetails.portbufferoverrunerrors", "PortBufferOverrunErrors"),
    decimal(10, 16, "rdma.mad.portrcverrordetails.portdlidmappingerrors", "PortDLIDMappingErrors"),
    decimal(12, 16, "rdma.mad.portrcverrordetails.portvlmappingerrors", "PortVLMappingErrors"),
    decimal(14, 16, "rdma.mad.portrcverrordetails.portloopingerrors", "PortLoopingErrors"),
};
inline constexpr std::array transmit_discard_details{
    decimal(4, 16, "rdma.mad.portxmitdiscarddetails.portinactivediscards", "PortInactiveDiscards"),
    decimal(6, 16, "rdma.mad.portxmitdiscarddetails.portneighbormtudiscards", "PortNeighborMTUDiscards"),
    decimal(8, 16, "rdma.mad.portxmitdiscarddetails.portswlifetimelimitdiscards", "PortSwLifetimeLimitDiscards"),
    decimal(10, 16, "rdma.mad.portxmitdiscarddetails.portswhoqlifetimelimitdiscards", "PortSwHOQLifetimeLimitDiscards"),
};
inline constexpr std::array op_receive_counters{
    decimal(4, 32, "rdma.mad.portoprcvcounters.portoprcvpkts", "PortOpRcvPkts"),
    decimal(8, 32, "rdma.mad.portoprcvcounters.portoprcvdata", "PortOpRcvData"),
};
inline constexpr std::array flow_control_counters{
    decimal(4, 32, "rdma.mad.portflowctlcounters.portxmitflowpkts", "PortXmitFlowPkts"),
    decimal(8, 32, "rdma.mad.portflowctlcounters.portrcvflowpkts", "PortRcvFlowPkts"),
};
inline constexpr std::array receive_congestion{
    decimal(4, 32, "rdma.mad.portrcvconctrl.portpktrcvfecn", "PortPktRcvFECN"),
    decimal(8, 32, "rdma.mad.portrcvconctrl.portpktrcvbecn", "PortPktRcvBECN"),
};
inline constexpr std::array transmit_congestion{
    decimal(4, 32, "rdma.mad.portxmitconctrl.portxmittimecong", "PortXmitTimeCong"),
};

/// Counters of each service level or virtual lane: entries of a table.
inline constexpr std::array vl_op_packets{
    decimal(0, 16, "rdma.mad.portvlop.packets", "PortVLOpPackets"),
};
inline constexpr std::array vl_op_data{
    decimal(0, 32, "rdma.mad.portvlop.data", "PortVLOpData"),
};
inline constexpr std::array vl_flow_control_errors{
    decimal({0, 0}, 2, "rdma.mad.portvlxmitflowctlupdateerrors", "PortVLXmitFlowCtlUpdateErrors"),
    decimal({0, 2}, 2, "rdma.mad.portvlxmitflowctlupdateerrors", "PortVLXmitFlowCtlUpdateErrors"),
    decimal({0, 4}, 2, "rdma.mad.portvlxmitflowctlupdateerrors", "PortVLXmitFlowCtlUpdateErrors"),
    decimal({0, 6}, 2, "rdma.mad.portvlxmitflowctlupdateerrors", "PortVLXmitFlowCtlUpdateErrors"),
};
inline constexpr std::array vl_transmit_wait{
    decimal(0, 16, "rdma.mad.portvlxmitwait", "PortVLXmitWait"),
};
inline constexpr std::array vl_congestion{
    decimal(0, 16, "rdma.mad.swportvlcongestion", "SWPortVLCongestion"),
};
inline constexpr std::array sl_fecn{
    decimal(0, 32, "rdma.mad.portslrcvfecn", "PortSLRcvFECN"),
};
inline constexpr std::array sl_becn{
    decimal(0, 32, "rdma.mad.portslrcvbecn", "PortSLRcvBECN"),
};
inline constexpr std::array vl_time_congested{
    decimal(0, 32, "rdma.mad.portvlxmittimecong", "PortVLXmitTimeCong"),
};
inline constexpr std::array sl_transmit_data{
    decimal(0, 32, "rdma.mad.portxmitdatasl", "PortXmitDataSL"),
};
inline constexpr std::array sl_receive_data{
    decimal(0, 32, "rdma.mad.portrcvdatasl", "PortRcvDataSL"),
};
inline constexpr std::array sample_counter{
    decimal(0, 32, "rdma.mad.portsamplesresult.counter", "Counter"),
};
inline constexpr std::array lane_errors{
    decimal(0, 16, "rdma.mad.portextendedspeedscounters.errordetectionlane", "ErrorDetectionCounterLane"),
};

inline constexpr std::array samples_control{
    hex(0, 8, "rdma.mad.portsamples.opcode", "OpCode"),
    hex(1, 8, "rdma.mad.portselect", "PortSelect"),
    hex(2, 8, "rdma.mad.portsamples.tick", "Tick"),
    decimal({3, 5}, 3, "rdma.mad.portsamples.counterwidth", "CounterWidth"),
    decimal(10, 8, "rdma.mad.portsamples.mechanisms", "SampleMechanisms"),
    decimal({11, 6}, 2, "rdma.mad.portsamples.status", "SampleStatus"),
    hex(12, 64, "rdma.mad.portsamples.optionmask", "OptionMask"),
    hex(20, 64, "rdma.mad.portsamples.vendormask", "VendorMask"),
    decimal(28, 32, "rdma.mad.portsamples.start", "SampleStart"),
    decimal(32, 32, "rdma.mad.portsamples.interval", "SampleInterval"),
    hex(36, 16, "rdma.mad.portsamples.tag", "Tag"),
};
inline constexpr std::array sampled_counter{
    hex(0, 16, "rdma.mad.portsamples.counterselect", "CounterSelect"),
};
inline constexpr std::array samples_result{
    hex(0, 16, "rdma.mad.portsamples.tag", "Tag"),
    decimal({3, 6}, 2, "rdma.mad.portsamples.status", "SampleStatus"),
};
inline constexpr std::array extended_speeds_counters{
    hex(1, 8, "rdma.mad.portselect", "PortSelect"),
    hex(8, 64, "rdma.mad.portextendedspeedscounters.counterselect", "CounterSelect"),
    decimal(16, 16, "rdma.mad.portextendedspeedscounters.syncheadererrors", "SyncHeaderErrorCounter"),
    decimal(18, 16, "rdma.mad.portextendedspeedscounters.unknownblocks", "UnknownBlockCounter"),
};

}  // namespace wire::mad
