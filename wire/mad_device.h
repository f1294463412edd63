#pragma once
#include <array>

#include "wire/mad_attribute.h"

/// Device management: the I/O controllers of a storage target, as SRP's initiators look for them. IBTA vol. 1, 16.3.3.
namespace wire::mad {

inline constexpr std::array io_unit_info{
    decimal(0, 16, "rdma.mad.io.changeid", "ChangeID"),
    decimal(2, 8, "rdma.mad.io.maxcontrollers", "MaxControllers"),
    octets(4, 128, "rdma.mad.io.controllerlist", "ControllerList"),
};
inline constexpr std::array io_controller_profile{
    hex(0, 64, "rdma.mad.io.guid", "GUID"),
    hex(8, 24, "rdma.mad.io.vendorid", "VendorID"),
    hex(12, 32, "rdma.mad.io.deviceid", "DeviceID"),
    hex(16, 16, "rdma.mad.io.deviceversion", "DeviceVersion"),
    hex(20, 24, "rdma.mad.io.subsystemvendorid", "SubsystemVendorID"),
    hex(24, 32, "rdma.mad.io.subsystemid", "SubsystemID"),
    hex(28, 16, "rdma.mad.io.class", "IOClass"),
    hex(30, 16, "rdma.mad.io.subclass", "IOSubclass"),
    hex(32, 16, "rdma.mad.io.protocol", "Protocol"),
    hex(34, 16, "rdma.mad.io.protocolversion", "ProtocolVersion"),
    decimal(40, 16, "rdma.mad.io.senddepth", "SendMessageQueueDepth"),
    decimal(43, 8, "rdma.mad.io.readdepth", "RDMAReadQueueDepth"),
    decimal(44, 32, "rdma.mad.io.sendsize", "SendMessageSize"),
    decimal(48, 32, "rdma.mad.io.transfersize", "RDMATransferSize"),
    hex(52, 8, "rdma.mad.io.capabilities", "ControllerOperationsCapabilityMask"),
    decimal(54, 8, "rdma.mad.io.serviceentries", "ServiceEntries"),
    text(64, 64, "rdma.mad.io.idstring", "IDString"),
};
inline constexpr std::array io_service_entry{
    text(0, 40, "rdma.mad.io.servicename", "ServiceName"),
    hex(40, 64, "rdma.mad.io.serviceid", "ServiceID"),
};

}  // namespace wire::mad
