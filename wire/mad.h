#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "wire/infiniband.h"
#include "wire/management_kind.h"

namespace wire {

/// The common header of management datagrams. IBTA vol. 1, 13.4.3.
struct Mad {
    std::uint8_t base_version = 1;
    std::uint8_t management_class = 0;
    std::uint8_t class_version = 0;
    std::uint8_t method = 0;
    std::uint16_t status = 0;
    std::uint16_t class_specific = 0;
    std::uint64_t transaction_id = 0;
    std::uint16_t attribute_id = 0;
    std::uint32_t attribute_modifier = 0;
};

/// A management datagram is always as long as this, header and data. IBTA vol. 1, 13.4.2.
inline constexpr unsigned mad_octets = 256;

/// Queue pairs 0 (subnet management) and 1 (general services) accept management datagrams only. IBTA vol. 1, 13.5.1.
constexpr bool is_management_qp(std::uint32_t qp) { return qp <= 1; }

/// IBTA vol. 1, 13.4.4, as are the others below.
inline constexpr std::uint8_t subnet_management = 0x01;
inline constexpr std::uint8_t subnet_administration = 0x03;
inline constexpr std::uint8_t performance_management = 0x04;
inline constexpr std::uint8_t device_management = 0x06;
inline constexpr std::uint8_t communication_management = 0x07;
inline constexpr std::uint8_t congestion_management = 0x21;
inline constexpr std::uint8_t directed_subnet_management = 0x81;

constexpr ManagementKind management_kind(std::uint8_t management_class) {
    switch (management_class) {
        case subnet_management:
        case directed_subnet_management: return ManagementKind::subnet;
        case subnet_administration: return ManagementKind::subnet_administration;
        case performance_management: return ManagementKind::performance;
        case communication_management: return ManagementKind::connection;
        default: break;
    }
    const bool vendor = (management_class >= 0x09 && management_class <= 0x0f) ||
                        (management_class >= 0x30 && management_class <= 0x4f);
    if (vendor) return ManagementKind::vendor;
    return management_class >= 0x10 && management_class <= 0x2f ? ManagementKind::application : ManagementKind::other;
}

namespace detail {
constexpr std::string_view management_class_name(std::uint8_t management_class) {
    switch (management_class) {
        case 0x01: return "Subnet Management (LID routed)";
        case 0x03: return "Subnet Administration";
        case 0x04: return "Performance Management";
        case 0x05: return "Baseboard Management";
        case 0x06: return "Device Management";
        case 0x07: return "Communication Management";
        case 0x08: return "SNMP Tunneling";
        case 0x10: return "Device Administration";
        case 0x11: return "Boot Management";
        case 0x12: return "BIS";
        case 0x21: return "Congestion Management";
        case 0x81: return "Subnet Management (directed route)";
        default: break;
    }
    switch (management_kind(management_class)) {
        case ManagementKind::vendor: return management_class < 0x30 ? "Vendor" : "Vendor with OUI";
        case ManagementKind::application: return "Application";
        default: return {};
    }
}
constexpr std::size_t management_class_count() {
    std::size_t count = 0;
    for (unsigned number = 0; number < 256; ++number)
        count += !management_class_name(static_cast<std::uint8_t>(number)).empty();
    return count;
}
}  // namespace detail

inline constexpr auto management_class_names = [] {
    std::array<ValueName, detail::management_class_count()> names{};
    std::size_t i = 0;
    for (unsigned number = 0; number < 256; ++number)
        if (const auto name = detail::management_class_name(static_cast<std::uint8_t>(number)); !name.empty())
            names[i++] = {number, name};
    return names;
}();

/// IBTA vol. 1, 13.4.5 and 15.2.2.
inline constexpr std::array<ValueName, 15> mad_method_names{{
    {0x01, "Get()"},
    {0x02, "Set()"},
    {0x03, "Send()"},
    {0x05, "Trap()"},
    {0x06, "Report()"},
    {0x07, "TrapRepress()"},
    {0x12, "GetTable()"},
    {0x13, "GetTraceTable()"},
    {0x14, "GetMulti()"},
    {0x15, "Delete()"},
    {0x81, "GetResp()"},
    {0x86, "ReportResp()"},
    {0x92, "GetTableResp()"},
    {0x94, "GetMultiResp()"},
    {0x95, "DeleteResp()"},
}};

template <>
inline constexpr auto layout_of<Mad> = layout(
    "infiniband.mad", "Management Datagram",
    bits<&Mad::base_version, 8>("infiniband.mad.baseversion", "Base Version").hex(),
    bits<&Mad::management_class, 8>("infiniband.mad.mgmtclass", "Management Class").hex().named(management_class_names),
    bits<&Mad::class_version, 8>("infiniband.mad.classversion", "Class Version").hex(),
    bits<&Mad::method, 8>("infiniband.mad.method", "Method").hex().named(mad_method_names),
    bits<&Mad::status, 16>("infiniband.mad.status", "Status").hex(),
    bits<&Mad::class_specific, 16>("infiniband.mad.classspecific", "Class Specific").hex(),
    bits<&Mad::transaction_id, 64>("infiniband.mad.transactionid", "Transaction ID").hex(),
    bits<&Mad::attribute_id, 16>("infiniband.mad.attributeid", "Attribute ID").hex(),
    reserved<16>(),
    bits<&Mad::attribute_modifier, 32>("infiniband.mad.attributemodifier", "Attribute Modifier").hex());
static_assert(size_of<Mad> == 24);

inline constexpr auto mad_fields = fields_with<Mad>(std::array{reserved_octets(18, 2)});

/// An attribute's name; what an identifier means depends on the class. Empty where it is not known.
std::string_view mad_attribute_name(std::uint8_t management_class, std::uint16_t attribute);

/// Whether a method asks: Get, GetTable or GetMulti. Its data say at most what is looked for.
constexpr bool mad_method_asks(std::uint8_t method) { return method == 0x01 || method == 0x12 || method == 0x14; }

/// What a class's methods begin with: `Subn` of SubnGet(). Empty where the class is not known.
constexpr std::string_view mad_method_prefix(std::uint8_t management_class) {
    switch (management_class) {
        case subnet_management:
        case directed_subnet_management: return "Subn";
        case subnet_administration: return "SubnAdm";
        case performance_management: return "Perf";
        case 0x05: return "BM";
        case device_management: return "DevMgt";
        case 0x08: return "Snmp";
        case congestion_management: return "CC";
        default: break;
    }
    switch (management_kind(management_class)) {
        case ManagementKind::vendor: return "Vendor";
        case ManagementKind::application: return "Application";
        default: return {};
    }
}

/// Why a request failed, in words; empty where it did not. In a datagram on a directed route the first bit of the status
/// says something else. IBTA vol. 1, 13.4.7 (common) and 15.2.2 (subnet administration).
std::string_view mad_status_text(std::uint8_t management_class, std::uint16_t status);

}  // namespace wire
