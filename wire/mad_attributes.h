#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "wire/mad_attribute.h"
#include "wire/mad_attribute_id.h"
#include "wire/mad_class_port_info.h"
#include "wire/mad_congestion.h"
#include "wire/mad_device.h"
#include "wire/mad_performance.h"
#include "wire/mad_subnet.h"
#include "wire/mad_subnet_administration.h"
#include "wire/mad_trap.h"

/// The attributes of each management class.
namespace wire::mad {

/// Of all classes. IBTA vol. 1, 13.4.8.
inline constexpr std::array common_attributes{
    Attribute{attribute_id::class_port_info, "ClassPortInfo", {{{0, class_port_info}}}},
    Attribute{attribute_id::notice, "Notice", {{{0, notice}}}},
    Attribute{0x03, "InformInfo", {{{0, inform_info}}}},
};

/// IBTA vol. 1, 14.2.5.
inline constexpr std::array subnet_attributes{
    Attribute{subnet_attribute_id::node_description, "NodeDescription", {{{0, node_description}}}},
    Attribute{subnet_attribute_id::node_info, "NodeInfo", {{{0, node_info}}}},
    Attribute{0x12, "SwitchInfo", {{{0, switch_info}}}},
    Attribute{subnet_attribute_id::guid_info, "GUIDInfo", {{{0, guid_block, 8, 8}}}},
    Attribute{subnet_attribute_id::port_info, "PortInfo", {{{0, port_info}}}},
    Attribute{0x16, "P_KeyTable", {{{0, p_key_block}, {0, p_key_entry, 2, 32}}}},
    Attribute{0x17, "SLtoVLMappingTable", {{{0, sl_to_vl_entry, 1, 8}}}},
    Attribute{0x18, "VLArbitrationTable", {{{0, vl_arbitration_entry, 2, 32}}}},
    Attribute{subnet_attribute_id::linear_forwarding_table, "LinearForwardingTable", {{{0, linear_forwarding_entry, 1, 64}}}},
    Attribute{0x1a, "RandomForwardingTable", {{{0, random_forwarding_entry, 4, 16}}}},
    Attribute{0x1b, "MulticastForwardingTable", {{{0, multicast_forwarding_entry, 2, 32}}}},
    Attribute{0x1c, "LinkSpeedWidthPairsTable", {{{0, link_speed_width_pairs}}}},
    Attribute{0x1d, "VendorSpecificMadsTable"},
    Attribute{0x1e, "HierarchyInfo"},
    Attribute{subnet_attribute_id::sm_info, "SMInfo", {{{0, sm_info}}}},
    Attribute{0x30, "VendorDiag", {{{0, vendor_diagnosis}}}},
    Attribute{0x31, "LedInfo", {{{0, led_info}}}},
    Attribute{0x32, "CableInfo"},
    Attribute{0x33, "PortInfoExtended", {{{0, port_info_extended}}}},
    Attribute{0xff90, "MellanoxExtendedPortInfo", {{{0, mellanox_port_info}}}},
};

/// IBTA vol. 1, 15.2.5.
inline constexpr std::array subnet_administration_attributes{
    Attribute{record_attribute_id::node, "NodeRecord", {{{0, record_lid}, {4, node_info}, {44, node_description}}}},
    Attribute{record_attribute_id::port_info, "PortInfoRecord", {{{0, endport_record_id}, {4, port_info}}}},
    Attribute{0x13, "SLtoVLMappingTableRecord", {{{0, sl_to_vl_record_id}, {8, sl_to_vl_entry, 1, 8}}}},
    Attribute{0x14, "SwitchInfoRecord", {{{0, record_lid}, {4, switch_info}}}},
    Attribute{0x15, "LinearForwardingTableRecord", {{{0, block_of_16_record_id}, {8, linear_forwarding_entry, 1, 64}}}},
    Attribute{0x16, "RandomForwardingTableRecord", {{{0, block_of_16_record_id}, {8, random_forwarding_entry, 4, 16}}}},
    Attribute{0x17, "MulticastForwardingTableRecord", {{{0, multicast_record_id}, {8, multicast_forwarding_entry, 2, 32}}}},
    Attribute{record_attribute_id::sm_info, "SMInfoRecord", {{{0, record_lid}, {4, sm_info}}}},
    Attribute{0x19, "LinkSpeedWidthPairsTableRecord", {{{0, link_speed_width_pairs}}}},
    Attribute{0x20, "LinkRecord", {{{0, link_record}}}},
    Attribute{record_attribute_id::guid_info, "GuidInfoRecord", {{{0, block_of_8_record_id}, {8, guid_block, 8, 8}}}},
    Attribute{0x31, "ServiceRecord", {{{0, service_record}}}},
    Attribute{0x33, "P_KeyTableRecord", {{{0, p_key_record_id}, {8, p_key_block}, {8, p_key_entry, 2, 32}}}},
    Attribute{record_attribute_id::path, "PathRecord", {{{0, path_record}}}},
    Attribute{0x36, "VLArbitrationTableRecord", {{{0, vl_arbitration_record_id}, {8, vl_arbitration_entry, 2, 32}}}},
    Attribute{0x38, "MCMemberRecord", {{{0, multicast_member_record}}}},
    Attribute{0x39, "TraceRecord", {{{0, trace_record}}}},
    Attribute{record_attribute_id::multipath, "MultiPathRecord",
              {{{0, multipath_record}, {multipath_gids_octet, multipath_gid, 16}}}},
    Attribute{0x3b, "ServiceAssociationRecord", {{{0, service_association_record}}}},
    Attribute{0xf3, "InformInfoRecord", {{{0, inform_info_record_id}, {24, inform_info}}}},
};

/// IBTA vol. 1, 16.1.3 and A10.
inline constexpr std::array performance_attributes{
    Attribute{0x10, "PortSamplesControl", {{{0, samples_control}, {38, sampled_counter, 2, 15}}}},
    Attribute{0x11, "PortSamplesResult", {{{0, samples_result}, {4, sample_counter, 4, 15}}}},
    Attribute{performance_attribute_id::port_counters, "PortCounters", {{{0, port_counters}}}},
    Attribute{0x15, "PortRcvErrorDetails", {{{0, port_of_counters}, {0, receive_error_details}}}},
    Attribute{0x16, "PortXmitDiscardDetails", {{{0, port_of_counters}, {0, transmit_discard_details}}}},
    Attribute{0x17, "PortOpRcvCounters", {{{0, port_of_counters}, {0, op_receive_counters}}}},
    Attribute{0x18, "PortFlowCtlCounters", {{{0, port_of_counters}, {0, flow_control_counters}}}},
    Attribute{0x19, "PortVLOpPackets", {{{0, port_of_counters}, {4, vl_op_packets, 2, 16}}}},
    Attribute{0x1a, "PortVLOpData", {{{0, port_of_counters}, {4, vl_op_data, 4, 16}}}},
    Attribute{0x1b, "PortVLXmitFlowCtlUpdateErrors", {{{0, port_of_counters}, {4, vl_flow_control_errors, 1, 4}}}},
    Attribute{0x1c, "PortVLXmitWaitCounters", {{{0, port_of_counters}, {4, vl_transmit_wait, 2, 16}}}},
    Attribute{performance_attribute_id::port_counters_extended, "PortCountersExtended", {{{0, port_counters_extended}}}},
    Attribute{0x1f, "PortExtendedSpeedsCounters", {{{0, extended_speeds_counters}, {20, lane_errors, 2, 12}}}},
    Attribute{0x30, "SwPortVLCongestion", {{{0, port_of_counters}, {4, vl_congestion, 2, 16}}}},
    Attribute{0x31, "PortRcvConCtrl", {{{0, port_of_counters}, {0, receive_congestion}}}},
    Attribute{0x32, "PortSLRcvFECN", {{{0, port_of_counters}, {4, sl_fecn, 4, 16}}}},
    Attribute{0x33, "PortSLRcvBECN", {{{0, port_of_counters}, {4, sl_becn, 4, 16}}}},
    Attribute{0x34, "PortXmitConCtrl", {{{0, port_of_counters}, {0, transmit_congestion}}}},
    Attribute{0x35, "PortVLXmitTimeCong", {{{0, port_of_counters}, {4, vl_time_congested, 4, 15}}}},
    Attribute{0x36, "PortXmitDataSL", {{{0, port_of_counters}, {4, sl_transmit_data, 4, 16}}}},
    Attribute{0x37, "PortRcvDataSL", {{{0, port_of_counters}, {4, sl_receive_data, 4, 16}}}},
};

/// IBTA vol. 1, 16.3.3.
inline constexpr std::array device_attributes{
    Attribute{0x10, "IOUnitInfo", {{{0, io_unit_info}}}},
    Attribute{0x11, "IOControllerProfile", {{{0, io_controller_profile}}}},
    Attribute{0x12, "ServiceEntries", {{{0, io_service_entry, 48, 4}}}},
    Attribute{0x20, "DiagnosticTimeout"},
    Attribute{0x21, "PrepareToTest"},
    Attribute{0x22, "TestDeviceOnce"},
    Attribute{0x23, "TestDeviceLoop"},
    Attribute{0x24, "DiagCode"},
};

/// IBTA vol. 1, A10.4.
inline constexpr std::array congestion_attributes{
    Attribute{0x11, "CongestionInfo", {{{0, congestion_info}}}},
    Attribute{0x12, "CongestionKeyInfo", {{{0, congestion_key_info}}}},
    Attribute{0x13, "CongestionLog", {{{0, congestion_log}}}},
    Attribute{0x14, "SwitchCongestionSetting", {{{0, switch_congestion_setting}}}},
    Attribute{0x15, "SwitchPortCongestionSetting", {{{0, switch_port_congestion_entry, 4, 32}}}},
    Attribute{0x16, "CACongestionSetting", {{{0, adapter_congestion_setting}, {4, adapter_congestion_entry, 8, 16}}}},
    Attribute{0x17, "CongestionControlTable", {{{0, congestion_table}, {4, congestion_table_entry, 2, 64}}}},
    Attribute{0x18, "TimeStamp", {{{0, congestion_time}}}},
};

/// The attributes that a management class has besides those of all classes.
std::span<const Attribute> attributes_of(std::uint8_t management_class);
/// Null where no attribute of the class has this number, or none that is known.
const Attribute* find_attribute(std::uint8_t management_class, std::uint16_t id);

}  // namespace wire::mad
