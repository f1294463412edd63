#pragma once
#include <array>

#include "wire/mad_attribute.h"

/// Congestion control. IBTA vol. 1, annex A10.4.
namespace wire::mad {

inline constexpr std::array congestion_info{
    hex(0, 16, "rdma.mad.congestion.info", "CongestionInfo"),
    decimal(2, 8, "rdma.mad.congestion.tablecap", "ControlTableCap"),
};
inline constexpr std::array congestion_key_info{
    hex(0, 64, "rdma.mad.congestion.newkey", "CC_Key"),
    decimal(8, 1, "rdma.mad.congestion.keyprotect", "CC_KeyProtectBit"),
    decimal(10, 16, "rdma.mad.congestion.keylease", "CC_KeyLeasePeriod"),
    decimal(12, 16, "rdma.mad.congestion.keyviolations", "CC_KeyViolations"),
};
inline constexpr std::array<ValueName, 2> congestion_log_types{{{1, "switch"}, {2, "channel adapter"}}};
/// Its data begin where those of other attributes have the key; what follows depends on LogType.
inline constexpr std::array congestion_log{
    decimal(0, 8, "rdma.mad.congestion.logtype", "LogType", congestion_log_types),
    hex(1, 8, "rdma.mad.congestion.flags", "CongestionFlags"),
    decimal(2, 16, "rdma.mad.congestion.events", "LogEventsCounter"),
};
inline constexpr std::array switch_congestion_setting{
    hex(0, 32, "rdma.mad.congestion.controlmap", "Control_Map"),
    octets(4, 32, "rdma.mad.congestion.victimmask", "Victim_Mask"),
    octets(36, 32, "rdma.mad.congestion.creditmask", "Credit_Mask"),
    hex(68, 4, "rdma.mad.congestion.threshold", "Threshold"),
    decimal(69, 8, "rdma.mad.congestion.packetsize", "Packet_Size"),
    hex(70, 4, "rdma.mad.congestion.creditthreshold", "CS_Threshold"),
    hex(72, 16, "rdma.mad.congestion.returndelay", "CS_ReturnDelay"),
    decimal(74, 16, "rdma.mad.congestion.markingrate", "Marking_Rate"),
};
inline constexpr std::array switch_port_congestion_entry{
    decimal(0, 1, "rdma.mad.congestion.valid", "Valid"),
    decimal({0, 1}, 1, "rdma.mad.congestion.controltype", "Control_Type"),
    hex({0, 4}, 4, "rdma.mad.congestion.threshold", "Threshold"),
    decimal(1, 8, "rdma.mad.congestion.packetsize", "Packet_Size"),
    decimal(2, 16, "rdma.mad.congestion.markingrate", "Cong_Parm_Marking_Rate"),
};
inline constexpr std::array adapter_congestion_setting{
    hex(0, 16, "rdma.mad.congestion.portcontrol", "Port_Control"),
    hex(2, 16, "rdma.mad.congestion.controlmap", "Control_Map"),
};
inline constexpr std::array adapter_congestion_entry{
    decimal(0, 16, "rdma.mad.congestion.timer", "CCTI_Timer"),
    decimal(2, 8, "rdma.mad.congestion.increase", "CCTI_Increase"),
    decimal(3, 8, "rdma.mad.congestion.trigger", "Trigger_Threshold"),
    decimal(4, 8, "rdma.mad.congestion.min", "CCTI_Min"),
};
inline constexpr std::array congestion_table{
    decimal(0, 16, "rdma.mad.congestion.limit", "CCTI_Limit"),
};
inline constexpr std::array congestion_table_entry{
    decimal(0, 2, "rdma.mad.congestion.shift", "CCT_Shift"),
    decimal({0, 2}, 14, "rdma.mad.congestion.multiplier", "CCT_Multiplier"),
};
inline constexpr std::array congestion_time{
    decimal(0, 32, "rdma.mad.congestion.timestamp", "TimeStamp"),
};

}  // namespace wire::mad
