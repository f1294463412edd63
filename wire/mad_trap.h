#pragma once
#include <array>

#include "wire/layout.h"
#include "wire/mad_attribute.h"

/// Notices, which traps, reports and repressed traps carry. IBTA vol. 1, 13.4.8 and 14.2.5.
namespace wire::mad {

inline constexpr std::array<ValueName, 6> notice_types{{{0, "fatal"}, {1, "urgent"}, {2, "security"}, {3, "subnet management"}, {4, "informational"}, {0x7f, "empty"}}};
inline constexpr std::array<ValueName, 4> producers{{{1, "channel adapter"}, {2, "switch"}, {3, "router"}, {4, "class manager"}}};
inline constexpr std::array<ValueName, 18> traps{{
    {64, "a GID came into service"},
    {65, "a GID went out of service"},
    {66, "a multicast group was created"},
    {67, "a multicast group was deleted"},
    {68, "paths with these components changed"},
    {69, "paths with these components changed back"},
    {128, "a link state changed"},
    {129, "local link integrity threshold reached"},
    {130, "excessive buffer overrun threshold reached"},
    {131, "flow control update watchdog expired"},
    {144, "capabilities, node description or link settings changed"},
    {145, "the system image GUID changed"},
    {256, "wrong M_Key"},
    {257, "wrong P_Key"},
    {258, "wrong Q_Key"},
    {259, "wrong P_Key at a switch port"},
    {0xffff, "any"},
    {0, "none"},
}};

inline constexpr std::array notice{
    hex(0, 1, "infiniband.notice.isgeneric", "IsGeneric"),
    hex({0, 1}, 7, "infiniband.notice.type", "Type", notice_types),
    hex(1, 24, "infiniband.notice.producertypevendorid", "ProducerTypeVendorID", producers),
    hex(4, 16, "infiniband.notice.trapnumberdeviceid", "TrapNumberDeviceID", traps),
    hex(6, 16, "infiniband.notice.issuerlid", "IssuerLID"),
    hex(8, 1, "infiniband.notice.noticetoggle", "NoticeToggle"),
    hex({8, 1}, 15, "infiniband.notice.noticecount", "NoticeCount"),
};
inline constexpr std::uint32_t notice_octets = 64;
/// Holds the details of a trap, whose fields are counted from the start of the notice.
inline constexpr std::array notice_details{
    octets(10, 54, "infiniband.notice.datadetails", "DataDetails"),
};

inline constexpr std::array trap_gid{
    gid(16, "infiniband.trap.gidaddr", "GIDADDR"),
};

inline constexpr std::array trap_path{
    hex(10, 64, "infiniband.trap.comp_mask", "COMP_MASK"),
    hex(18, 1, "infiniband.trap.wait_for_repath", "WAIT_FOR_REPATH"),
};

inline constexpr std::array trap_link_state{
    hex(10, 16, "infiniband.trap.lidaddr", "LIDADDR"),
};

inline constexpr std::array trap_port{
    hex(12, 16, "infiniband.trap.lidaddr", "LIDADDR"),
    hex(14, 8, "infiniband.trap.portno", "PORTNO"),
};

inline constexpr std::array trap_capabilities{
    hex(12, 16, "infiniband.trap.lidaddr", "LIDADDR"),
    hex({15, 7}, 1, "infiniband.trap.otherlocalchanges", "OtherLocalChanges"),
    hex(16, 32, "infiniband.trap.capabilitymask", "CAPABILITYMASK"),
    hex({21, 5}, 1, "infiniband.trap.linkspeecenabledchange", "LinkSpeecEnabledChange"),
    hex({21, 6}, 1, "infiniband.trap.linkwidthenabledchange", "LinkWidthEnabledChange"),
    hex({21, 7}, 1, "infiniband.trap.nodedescriptionchange", "NodeDescriptionChange"),
};

inline constexpr std::array trap_system_image{
    hex(12, 16, "infiniband.trap.lidaddr", "LIDADDR"),
    hex(16, 64, "infiniband.trap.systemimageguid", "SYSTEMIMAGEGUID"),
};

inline constexpr std::array trap_m_key{
    hex(12, 16, "infiniband.trap.lidaddr", "LIDADDR"),
    hex(14, 16, "infiniband.trap.drslid", "DRSLID"),
    hex(16, 8, "infiniband.trap.method", "METHOD"),
    hex(18, 16, "infiniband.trap.attributeid", "ATTRIBUTEID"),
    hex(20, 32, "infiniband.trap.attributemodifier", "ATTRIBUTEMODIFIER"),
    hex(24, 64, "infiniband.trap.mkey", "MKEY"),
    hex(33, 1, "infiniband.trap.drnotice", "DRNotice"),
    hex({33, 1}, 1, "infiniband.trap.drpathtruncated", "DRPathTruncated"),
    hex({33, 2}, 6, "infiniband.trap.drhopcount", "DRHopCount"),
    octets(34, 30, "infiniband.trap.drnoticereturnpath", "DRNoticeReturnPath"),
};

inline constexpr std::array trap_key{
    hex(12, 16, "infiniband.trap.lidaddr1", "LIDADDR1"),
    hex(14, 16, "infiniband.trap.lidaddr2", "LIDADDR2"),
    hex(16, 32, "infiniband.trap.key", "KEY"),
    hex(20, 4, "infiniband.trap.sl", "SL"),
    hex(21, 24, "infiniband.trap.qp1", "QP1"),
    hex(25, 24, "infiniband.trap.qp2", "QP2"),
    gid(28, "infiniband.trap.gidaddr1", "GIDADDR1"),
    gid(44, "infiniband.trap.gidaddr2", "GIDADDR2"),
};

inline constexpr std::array trap_switch_p_key{
    hex(10, 16, "rdma.trap.datavalid", "DataValid"),
    hex(12, 16, "infiniband.trap.lidaddr1", "LIDADDR1"),
    hex(14, 16, "infiniband.trap.lidaddr2", "LIDADDR2"),
    hex(16, 16, "infiniband.trap.pkey", "PKEY"),
    hex(18, 4, "infiniband.trap.sl", "SL"),
    hex(19, 24, "infiniband.trap.qp1", "QP1"),
    hex(23, 24, "infiniband.trap.qp2", "QP2"),
    gid(26, "infiniband.trap.gidaddr1", "GIDADDR1"),
    gid(42, "infiniband.trap.gidaddr2", "GIDADDR2"),
    hex(58, 16, "rdma.trap.swlidaddr", "SWLIDADDR"),
    hex(60, 8, "infiniband.trap.portno", "PORTNO"),
};

/// All of these, for the registry.
inline constexpr std::array<std::span<const FieldInfo>, 10> trap_groups{
    notice_details, trap_gid, trap_path, trap_link_state, trap_port, trap_capabilities, trap_system_image, trap_m_key, trap_key, trap_switch_p_key};

/// What the first octets of a notice say. A notice that is not generic is a vendor's.
constexpr bool is_generic_notice(base::Bytes octets) { return read_bits<0, 1>(octets.data()) != 0; }
constexpr std::uint16_t trap_number(base::Bytes octets) { return static_cast<std::uint16_t>(read_bits<4 * 8, 16>(octets.data())); }

/// The fields of a generic trap's details; empty where it has none.
constexpr std::span<const FieldInfo> trap_fields(std::uint16_t number) {
    switch (number) {
        case 64:
        case 65:
        case 66:
        case 67: return trap_gid;
        case 68:
        case 69: return trap_path;
        case 128: return trap_link_state;
        case 129:
        case 130:
        case 131: return trap_port;
        case 144: return trap_capabilities;
        case 145: return trap_system_image;
        case 256: return trap_m_key;
        case 257:
        case 258: return trap_key;
        case 259: return trap_switch_p_key;
        default: return {};
    }
}

}  // namespace wire::mad
