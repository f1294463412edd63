#include "wire/mad.h"

namespace wire {
namespace {

constexpr ValueName common[] = {{0x0001, "ClassPortInfo"}, {0x0002, "Notice"}, {0x0003, "InformInfo"}};

constexpr ValueName subnet_management[] = {
    {0x0010, "NodeDescription"},        {0x0011, "NodeInfo"},
    {0x0012, "SwitchInfo"},             {0x0014, "GUIDInfo"},
    {0x0015, "PortInfo"},               {0x0016, "P_KeyTable"},
    {0x0017, "SLtoVLMappingTable"},     {0x0018, "VLArbitrationTable"},
    {0x0019, "LinearForwardingTable"},  {0x001a, "RandomForwardingTable"},
    {0x001b, "MulticastForwardingTable"}, {0x0020, "SMInfo"},
    {0x0030, "VendorDiag"},             {0x0031, "LedInfo"},
};

constexpr ValueName subnet_administration[] = {
    {0x0011, "NodeRecord"},              {0x0012, "PortInfoRecord"},
    {0x0013, "SLtoVLMappingTableRecord"}, {0x0014, "SwitchInfoRecord"},
    {0x0015, "LinearForwardingTableRecord"}, {0x0016, "RandomForwardingTableRecord"},
    {0x0017, "MulticastForwardingTableRecord"}, {0x0018, "SMInfoRecord"},
    {0x0020, "LinkRecord"},              {0x0030, "GuidInfoRecord"},
    {0x0031, "ServiceRecord"},           {0x0033, "P_KeyTableRecord"},
    {0x0035, "PathRecord"},              {0x0036, "VLArbitrationTableRecord"},
    {0x0038, "MCMemberRecord"},          {0x0039, "TraceRecord"},
    {0x003a, "MultiPathRecord"},         {0x003b, "ServiceAssociationRecord"},
    {0x00f3, "InformInfoRecord"},
};

constexpr ValueName performance[] = {
    {0x0010, "PortSamplesControl"}, {0x0011, "PortSamplesResult"}, {0x0012, "PortCounters"}, {0x001d, "PortCountersExtended"},
};

constexpr ValueName communication[] = {
    {0x0010, "ConnectRequest"},    {0x0011, "MsgRcptAck"},
    {0x0012, "ConnectReject"},     {0x0013, "ConnectReply"},
    {0x0014, "ReadyToUse"},        {0x0015, "DisconnectRequest"},
    {0x0016, "DisconnectReply"},   {0x0017, "ServiceIDResReq"},
    {0x0018, "ServiceIDResReqResp"}, {0x0019, "LoadAlternatePath"},
    {0x001a, "AlternatePathResponse"},
};

}  // namespace

std::string_view mad_attribute_name(std::uint8_t management_class, std::uint16_t attribute) {
    if (const std::string_view name = name_of(common, attribute); !name.empty()) return name;
    switch (management_class) {
        case 0x01:
        case 0x81: return name_of(subnet_management, attribute);
        case 0x03: return name_of(subnet_administration, attribute);
        case 0x04: return name_of(performance, attribute);
        case communication_management: return name_of(communication, attribute);
        default: return {};
    }
}

}  // namespace wire
