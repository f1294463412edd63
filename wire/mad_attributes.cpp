#include "wire/mad_attributes.h"

#include <algorithm>

#include "wire/mad.h"

namespace wire::mad {

namespace {

/// IBTA vol. 1, 12.6. Each message has a layout of its own.
constexpr std::array connection_attributes{
    Attribute{0x10, "ConnectRequest"},
    Attribute{0x11, "MsgRcptAck"},
    Attribute{0x12, "ConnectReject"},
    Attribute{0x13, "ConnectReply"},
    Attribute{0x14, "ReadyToUse"},
    Attribute{0x15, "DisconnectRequest"},
    Attribute{0x16, "DisconnectReply"},
    Attribute{0x17, "ServiceIDResReq"},
    Attribute{0x18, "ServiceIDResReqResp"},
    Attribute{0x19, "LoadAlternatePath"},
    Attribute{0x1a, "AlternatePathResponse"},
};

/// IBTA vol. 1, 16.2.3: their data are those of the system that is managed.
constexpr std::array baseboard_attributes{
    Attribute{0x10, "BKeyInfo"},
    Attribute{0x20, "WriteVPD"},
    Attribute{0x21, "ReadVPD"},
    Attribute{0x22, "ResetIBML"},
    Attribute{0x23, "SetModulePMControl"},
    Attribute{0x24, "GetModulePMControl"},
    Attribute{0x25, "SetUnitPMControl"},
    Attribute{0x26, "GetUnitPMControl"},
    Attribute{0x27, "SetIOCPMControl"},
    Attribute{0x28, "GetIOCPMControl"},
    Attribute{0x29, "SetModuleState"},
    Attribute{0x2a, "SetModuleAttention"},
    Attribute{0x2b, "GetModuleStatus"},
    Attribute{0x2c, "IB2IBML"},
    Attribute{0x2d, "IB2CME"},
    Attribute{0x2e, "IB2MME"},
    Attribute{0x2f, "OEM"},
};

/// IBTA vol. 1, 16.4.
constexpr std::array snmp_attributes{Attribute{0x10, "CommunityInfo"}, Attribute{0x11, "PDUInfo"}};

}  // namespace

std::span<const Attribute> attributes_of(std::uint8_t management_class) {
    switch (management_class) {
        case subnet_management:
        case directed_subnet_management: return subnet_attributes;
        case subnet_administration: return subnet_administration_attributes;
        case performance_management: return performance_attributes;
        case 0x05: return baseboard_attributes;
        case device_management: return device_attributes;
        case communication_management: return connection_attributes;
        case 0x08: return snmp_attributes;
        case congestion_management: return congestion_attributes;
        default: return {};
    }
}

const Attribute* find_attribute(std::uint8_t management_class, std::uint16_t id) {
    for (const std::span<const Attribute> attributes : {attributes_of(management_class), std::span<const Attribute>(common_attributes)}) {
        const auto found = std::ranges::find(attributes, id, &Attribute::id);
        if (found != attributes.end()) return &*found;
    }
    return nullptr;
}

}  // namespace wire::mad
