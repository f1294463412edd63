#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/field.h"
#include "wire/nvme.h"

/// Fields of NVMe over RDMA. Names, labels and the way values are printed are Wireshark's. Where Wireshark 4.0 has
/// masks that contradict the specification, the specification's are used.
namespace dissect::inline layers::nvme_fields {

using wire::Base;
using wire::Kind;
using wire::NvmePlace;

/// A field of a little-endian entry and where it stands.
struct EntryField {
    wire::FieldInfo info;
    NvmePlace place;
};

constexpr EntryField number8(std::string_view name, std::string_view label, NvmePlace place,
                             std::span<const wire::ValueName> values = {}) {
    return {{name, label, 0, 0, Kind::uint8, Base::hex, false, values}, place};
}
constexpr EntryField number16(std::string_view name, std::string_view label, NvmePlace place, Base base = Base::hex,
                              std::span<const wire::ValueName> values = {}) {
    return {{name, label, 0, 0, Kind::uint16, base, false, values}, place};
}
constexpr EntryField number32(std::string_view name, std::string_view label, NvmePlace place, Base base = Base::hex,
                              std::span<const wire::ValueName> values = {}) {
    return {{name, label, 0, 0, Kind::uint32, base, false, values}, place};
}
constexpr EntryField number64(std::string_view name, std::string_view label, NvmePlace place, Base base = Base::hex) {
    return {{name, label, 0, 0, Kind::uint64, base}, place};
}
constexpr EntryField flag(std::string_view name, std::string_view label, NvmePlace place) {
    return {{name, label, 0, 0, Kind::boolean}, place};
}
constexpr EntryField octets(std::string_view name, std::string_view label, std::uint16_t octet, std::uint16_t count) {
    return {{name, label, 0, 0, Kind::bytes}, {octet, count}};
}
constexpr EntryField heading(std::string_view name, std::string_view label) { return {{name, label}, {}}; }
constexpr EntryField text_field(std::string_view name, std::string_view label) {
    return {{name, label, 0, 0, Kind::string}, {}};
}

inline constexpr wire::ValueName property_offsets[] = {
    {0x00, "Controller Capabilities"},  {0x08, "Version"},
    {0x14, "Controller Configuration"}, {0x1c, "Controller Status"},
    {0x20, "NVM Subsystem Reset"},
};
inline constexpr wire::ValueName property_sizes[] = {{0, "4 bytes"}, {1, "8 bytes"}};
inline constexpr wire::ValueName shutdown_notices[] = {
    {0, "No Shutdown"}, {1, "Normal Shutdown"}, {2, "Abrupt Shutdown"}, {3, "Reserved"}};
inline constexpr wire::ValueName shutdown_states[] = {
    {0, "No Shutdown"}, {1, "Shutdown in Process"}, {2, "Shutdown Complete"}, {3, "Reserved"}};
inline constexpr wire::ValueName priority_classes[] = {{0, "Urgent"}, {1, "High"}, {2, "Medium"}, {3, "Low"}};
inline constexpr wire::ValueName sgl_types[] = {
    {0, "Data Block"},       {1, "Bit Bucket"},           {2, "Segment"},         {3, "Last Segment"},
    {4, "Keyed Data Block"}, {5, "Transport Data Block"}, {15, "Vendor Specific"}};

/// Below the properties' headings: places count from the value's first byte.
inline constexpr std::array property_rows{
    octets("nvme.fabrics.prop_get_set.data", "Property Data", 0, 8),
    // CAP
    number64("nvme.fabrics.prop_get.ccap", "Controller Capabilities", {0, 8}),
    number64("nvme.fabrics.prop_get.ccap.mqes", "Maximum Queue Entries Supported", {0, 8, 0, 16}, Base::dec),
    flag("nvme.fabrics.prop_get.ccap.cqr", "Contiguous Queues Required", {0, 8, 16, 1}),
    flag("nvme.fabrics.prop_get.ccap.ams.wrr",
         "Supports Arbitration Mechanism with Weighted Round Robin and Urgent Priority Class", {0, 8, 17, 1}),
    flag("nvme.fabrics.prop_get.ccap.ams.vs", "Supports Arbitration Mechanism Vendor Specific", {0, 8, 18, 1}),
    number64("nvme.fabrics.prop_get.ccap.rsvd0", "Reserved", {0, 8, 19, 5}),
    number64("nvme.fabrics.prop_get.ccap.to", "Timeout (to ready status)", {0, 8, 24, 8}, Base::dec),
    number64("nvme.fabrics.prop_get.ccap.dstrd", "Doorbell Stride", {0, 8, 32, 4}, Base::dec),
    flag("nvme.fabrics.prop_get.ccap.nssrs", "NVM Subsystem Reset Supported", {0, 8, 36, 1}),
    number64("nvme.fabrics.prop_get.ccap.css", "Command Sets Supported", {0, 8, 37, 8}, Base::dec),
    flag("nvme.fabrics.prop_get.ccap.bps", "Boot Partition Support", {0, 8, 45, 1}),
    number64("nvme.fabrics.prop_get.ccap.rsdv1", "Reserved", {0, 8, 46, 2}),
    number64("nvme.fabrics.prop_get.ccap.mpsmin", "Memory Page Size Minimum", {0, 8, 48, 4}, Base::dec),
    number64("nvme.fabrics.prop_get.ccap.mpsmax", "Memory Page Size Maximum", {0, 8, 52, 4}, Base::dec),
    flag("nvme.fabrics.prop_get.ccap.pmrs", "Persistent Memory Region Supported", {0, 8, 56, 1}),
    flag("nvme.fabrics.prop_get.ccap.cmbs", "Controller Memory Buffer Supported", {0, 8, 57, 1}),
    number64("nvme.fabrics.prop_get.ccap.rsvd2", "Reserved", {0, 8, 58, 6}),
    // VS
    number32("nvme.fabrics.prop_get.vs", "Version", {0, 4}),
    number32("nvme.fabrics.prop_get.vs.ter", "Tertiary Version", {0, 4, 0, 8}, Base::dec),
    number32("nvme.fabrics.prop_get.vs.mnr", "Minor Version", {0, 4, 8, 8}, Base::dec),
    number32("nvme.fabrics.prop_get.vs.mjr", "Major Version", {0, 4, 16, 16}, Base::dec),
    // CC
    number32("nvme.fabrics.prop_get_set.cc", "Controller Configuration", {0, 4}),
    number32("nvme.fabrics.prop_get_set.cc.en", "Enable", {0, 4, 0, 1}),
    number32("nvme.fabrics.prop_get_set.cc.rsvd0", "Reserved", {0, 4, 1, 3}),
    number32("nvme.fabrics.prop_get_set.cc.css", "IO Command Set Selected", {0, 4, 4, 3}),
    number32("nvme.fabrics.prop_get_set.cc.mps", "Memory Page Size", {0, 4, 7, 4}, Base::dec),
    number32("nvme.fabrics.prop_get_set.cc.ams", "Arbitration Mechanism Selected", {0, 4, 11, 3}),
    number32("nvme.fabrics.prop_get_set.cc.shn", "Shutdown Notification", {0, 4, 14, 2}, Base::hex, shutdown_notices),
    number32("nvme.fabrics.prop_get_set.cc.iosqes", "IO Submission Queue Entry Size", {0, 4, 16, 4}, Base::dec),
    number32("nvme.fabrics.prop_get_set.cc.iocqes", "IO Completion Queue Entry Size", {0, 4, 20, 4}, Base::dec),
    number32("nvme.fabrics.prop_get_set.cc.rsvd1", "Reserved", {0, 4, 24, 8}),
    // CSTS
    number32("nvme.fabrics.prop_get_set.csts", "Controller Status", {0, 4}),
    number32("nvme.fabrics.prop_get_set.csts.rdy", "Ready", {0, 4, 0, 1}),
    number32("nvme.fabrics.prop_get_set.csts.cfs", "Controller Fatal Status", {0, 4, 1, 1}),
    number32("nvme.fabrics.prop_get_set.csts.shst", "Shutdown Status", {0, 4, 2, 2}, Base::hex, shutdown_states),
    number32("nvme.fabrics.prop_get_set.csts.nssro", "NVM Subsystem Reset Occurred", {0, 4, 4, 1}),
    number32("nvme.fabrics.prop_get_set.csts.pp", "Processing Paused", {0, 4, 5, 1}),
    number32("nvme.fabrics.prop_get_set.csts.rsvd", "Reserved", {0, 4, 6, 26}),
    // others
    number32("nvme.fabrics.prop_get_set.data.4B", "Value", {0, 4}),
    number64("nvme.fabrics.prop_get_set.data.8B", "Value", {0, 8}),
    number32("nvme.fabrics.prop_get_set.data.rsvd", "Reserved", {4, 4}),
};

inline constexpr std::array command_rows{
    number8("nvme.cmd.opc", "Opcode", {0, 1}),
    number8("nvme.cmd.fuse_op", "Fuse Operation", {1, 1, 0, 2}),
    number8("nvme.cmd.rsvd", "Reserved", {1, 1, 2, 4}),
    number8("nvme.cmd.psdt", "PRP Or SGL", {1, 1, 6, 2}),
    number16("nvme.cmd.cid", "Command ID", {2, 2}),
    number32("nvme.cmd.nsid", "Namespace Id", {4, 4}),
    octets("nvme.cmd.rsvd1", "Reserved", 8, 8),
    number64("nvme.cmd.mptr", "Metadata Pointer", {16, 8}),
    // the descriptor
    heading("nvme.cmd.sgl1", "SGL1"),
    number8("nvme.cmd.sgl.type", "Descriptor Type", {39, 1, 4, 4}, sgl_types),
    number8("nvme.cmd.sgl.subtype", "Descriptor Sub Type", {39, 1, 0, 4}),
    number64("nvme.cmd.sgl1.addr", "Address", {24, 8}),
    number32("nvme.cmd.sgl1.len", "Length", {32, 4}, Base::dec),
    number32("nvme.cmd.sgl1.key", "Key", {35, 4}),
    octets("nvme.cmd.sgl1.rsvd", "Reserved", 36, 3),
    // what depends on the command
    number32("nvme.cmd.dword10", "DWORD10", {40, 4}),
    number32("nvme.cmd.dword11", "DWORD11", {44, 4}),
    number32("nvme.cmd.dword12", "DWORD12", {48, 4}),
    number32("nvme.cmd.dword13", "DWORD13", {52, 4}),
    number32("nvme.cmd.dword14", "DWORD14", {56, 4}),
    number32("nvme.cmd.dword15", "DWORD15", {60, 4}),
    number64("nvme.cmd.slba", "Start LBA", {40, 8}),
    number16("nvme.cmd.nlb", "Absolute Number of Logical Blocks", {48, 2}, Base::dec),
    number16("nvme.cmd.rsvd2", "Reserved", {50, 2, 0, 10}),
    number16("nvme.cmd.prinfo", "Protection info fields", {50, 2, 10, 1}),
    number16("nvme.cmd.prinfo.lbrtag", "check Logical block reference tag", {50, 2, 10, 1}),
    number16("nvme.cmd.prinfo.apptag", "check application tag field", {50, 2, 11, 1}),
    number16("nvme.cmd.prinfo.guard", "check guard field", {50, 2, 12, 1}),
    number16("nvme.cmd.prinfo.action", "action", {50, 2, 13, 1}),
    number16("nvme.cmd.fua", "Force Unit Access", {50, 2, 14, 1}),
    number16("nvme.cmd.lr", "Limited Retry", {50, 2, 15, 1}),
    number32("nvme.cmd.eilbrt", "Expected Initial Logical Block Reference Tag", {56, 4}),
    number16("nvme.cmd.elbat", "Expected Logical Block Application Tag Mask", {60, 2}),
    number16("nvme.cmd.elbatm", "Expected Logical Block Application Tag", {62, 2}),
    heading("nvme.cmd.dsm", "DSM Flags"),
    number8("nvme.cmd.dsm.access_freq", "Access frequency", {52, 1, 0, 4}),
    number8("nvme.cmd.dsm.access_lat", "Access latency", {52, 1, 4, 2}),
    number8("nvme.cmd.dsm.seq_req", "Sequential Request", {52, 1, 6, 1}),
    number8("nvme.cmd.dsm.incompressible", "Incompressible", {52, 1, 7, 1}),
    octets("nvme.cmd.rsvd3", "Reserved", 53, 3),
};

inline constexpr std::array fabrics_rows{
    heading("nvme.fabrics.cmd", "Cmd"),
    octets("nvme.fabrics.cmd.opc", "Opcode", 0, 1),
    number8("nvme.fabrics.cmd.rsvd", "Reserved", {1, 1}),
    number16("nvme.fabrics.cmd.cid", "Command Identifier", {2, 2}),
    number8("nvme.fabrics.cmd.fctype", "Fabric Command Type", {4, 1}, wire::nvme_fabrics_types),
    // Connect
    octets("nvme.fabrics.cmd.connect.rsvd1", "Reserved", 5, 19),
    heading("nvme.fabrics.cmd.connect.sgl1", "SGL1"),
    number16("nvme.fabrics.cmd.connect.recfmt", "Record Format", {40, 2}, Base::dec),
    number16("nvme.fabrics.cmd.connect.qid", "Queue ID", {42, 2}, Base::dec),
    number16("nvme.fabrics.cmd.connect.sqsize", "Submission Queue Size", {44, 2}, Base::dec),
    number8("nvme.fabrics.cmd.connect.cattr", "Connect Attributes", {46, 1}),
    number8("nvme.fabrics.cmd.connect.cattr.pc", "Priority Class", {46, 1, 0, 2}, priority_classes),
    number8("nvme.fabrics.cmd.connect.cattr.dfc", "Disable SQ Flow Control", {46, 1, 2, 1}),
    number8("nvme.fabrics.cmd.connect.cattr.dioq", "Support Deletion of IO Queues", {46, 1, 3, 1}),
    number8("nvme.fabrics.cmd.connect.cattr.rsvd", "Reserved", {46, 1, 4, 4}),
    octets("nvme.fabrics.cmd.connect.rsvd2", "Reserved", 47, 1),
    number32("nvme.fabrics.cmd.connect.kato", "Keep Alive Timeout", {48, 4}, Base::dec),
    octets("nvme.fabrics.cmd.connect.rsvd3", "Reserved", 52, 12),
    // Property Get, Property Set
    octets("nvme.fabrics.cmd.prop_get_set.rsvd0", "Reserved", 5, 35),
    number8("nvme.fabrics.cmd.prop_get_set.attrib", "Attributes", {40, 1, 0, 3}),
    number8("nvme.fabrics.cmd.prop_get_set.attrib.size", "Property Size", {40, 1, 0, 3}, property_sizes),
    number8("nvme.fabrics.cmd.prop_get_set.attrib.rsvd", "Reserved", {40, 1, 3, 5}),
    octets("nvme.fabrics.cmd.prop_get_set.rsvd1", "Reserved", 41, 3),
    number32("nvme.fabrics.cmd.prop_get_set.offset", "Offset", {44, 4}, Base::hex, property_offsets),
    octets("nvme.fabrics.cmd.prop_get.rsvd2", "Reserved", 48, 16),
    octets("nvme.fabrics.cmd.prop_set.rsvd", "Reserved", 56, 8),
    // Authentication
    octets("nvme.fabrics.cmd.auth.rsvd1", "Reserved", 5, 19),
    heading("nvme.fabrics.cmd.auth.sgl1", "SGL1"),
    number8("nvme.fabrics.cmd.auth.rsvd2", "Reserved", {40, 1}),
    number8("nvme.fabrics.cmd.auth.spsp0", "SP Specific 0", {41, 1}),
    number8("nvme.fabrics.cmd.auth.spsp1", "SP Specific 1", {42, 1}),
    number8("nvme.fabrics.cmd.auth.secp", "Security Protocol", {43, 1}),
    number32("nvme.fabrics.cmd.auth.al", "Allocation Length", {44, 4}, Base::dec),
    octets("nvme.fabrics.cmd.auth.rsvd3", "Reserved", 48, 16),
    // Disconnect
    octets("nvme.fabrics.cmd.disconnect.rsvd0", "Reserved", 5, 35),
    number16("nvme.fabrics.cmd.disconnect.recfmt", "Record Format", {40, 2}, Base::dec),
    octets("nvme.fabrics.cmd.disconnect.rsvd1", "Reserved", 42, 22),
    // others
    octets("nvme.fabrics.cmd.generic.rsvd1", "Reserved", 5, 35),
    octets("nvme.fabrics.cmd.generic.field", "Fabric Cmd specific field", 40, 24),
};

inline constexpr std::array completion_rows{
    heading("nvme.fabrics.cqe", "Cqe"),
    number64("nvme.fabrics.cqe.sts", "Cmd specific Status", {0, 8}),
    number16("nvme.fabrics.cqe.connect.cntrlid", "Controller ID", {0, 2}),
    number16("nvme.fabrics.cqe.connect.authreq", "Authentication Required", {2, 2}),
    octets("nvme.fabrics.cqe.connect.rsvd", "Reserved", 4, 4),
    octets("nvme.fabrics.cqe.prop_set.rsvd", "Reserved", 0, 8),
    number32("nvme.cqe.dword0", "DWORD0", {0, 4}),
    number32("nvme.cqe.dword1", "DWORD1", {4, 4}),
    number16("nvme.cqe.sqhd", "SQ Head Pointer", {8, 2}),
    number16("nvme.cqe.sqid", "SQ Identifier", {10, 2}),
    number16("nvme.cqe.cid", "Command Identifier", {12, 2}),
    number16("nvme.cqe.status", "Status Field", {14, 2}),
    number16("nvme.cqe.status.p", "Phase Tag", {14, 2, 0, 1}),
    number16("nvme.cqe.status.rsvd", "Reserved", {14, 2, 0, 1}),
    number16("nvme.cqe.status.sc", "Status Code", {14, 2, 1, 8}),
    number16("nvme.cqe.status.sct", "Status Code Type", {14, 2, 9, 3}, Base::hex, wire::nvme_status_types),
    number16("nvme.cqe.status.crd", "Command Retry Delay", {14, 2, 12, 2}),
    flag("nvme.cqe.status.m", "More Information in Log Page", {14, 2, 14, 1}),
    flag("nvme.cqe.status.dnr", "Do not Retry", {14, 2, 15, 1}),
    text_field("rdma.nvme.status", "Status"),
};

inline constexpr std::array connect_data_rows{
    octets("nvme.fabrics.cmd.connect.data.hostid", "Host Identifier", 0, 16),
    number16("nvme.fabrics.cmd.connect.data.cntrlid", "Controller ID", {16, 2}),
    octets("nvme.fabrics.cmd.connect.data.rsvd0", "Reserved", 18, 238),
    text_field("nvme.fabrics.cmd.connect.data.subnqn", "Subsystem NQN"),
    text_field("nvme.fabrics.cmd.connect.data.hostnqn", "Host NQN"),
    octets("nvme.fabrics.cmd.connect.data.rsvd1", "Reserved", 768, 256),
};

inline constexpr std::array request_rows{
    number16("nvme-rdma.cm.req.recfmt", "Record Format", {0, 2}, Base::dec),
    number16("nvme-rdma.cm.req.qid", "Queue Id", {2, 2}, Base::dec),
    number16("nvme-rdma.cm.req.hrqsize", "RDMA QP Host Receive Queue Size", {4, 2}, Base::dec),
    number16("nvme-rdma.cm.req.hsqsize", "RDMA QP Host Send Queue Size", {6, 2}, Base::dec),
    number16("nvme-rdma.cm.req.cntlid", "Controller ID", {8, 2}),
    octets("nvme-rdma.cm.req.reserved", "Reserved", 10, 22),
};
inline constexpr std::array reply_rows{
    number16("nvme-rdma.cm.rsp.recfmt", "Record Format", {0, 2}, Base::dec),
    number16("nvme-rdma.cm.rsp.crqsize", "RDMA QP Controller Receive Queue Size", {2, 2}, Base::dec),
    octets("nvme-rdma.cm.rsp.reserved", "Reserved", 4, 28),
};
inline constexpr std::array reject_rows{
    number16("nvme-rdma.cm.rej.recfmt", "Record Format", {0, 2}, Base::dec),
    number16("nvme-rdma.cm.rej.status", "Status", {2, 2}, Base::hex, wire::nvme_rdma_reject_codes),
};

/// What the registry lists. A declaration that is visited must be the very one that a row lists.
template <std::size_t N>
constexpr std::array<wire::FieldInfo, N> declarations(const std::array<EntryField, N>& rows) {
    std::array<wire::FieldInfo, N> infos{};
    for (std::size_t i = 0; i < N; ++i) infos[i] = rows[i].info;
    return infos;
}

/// The rows of an entry, with the declarations that are visited.
template <std::size_t N>
struct EntryTable {
    const std::array<EntryField, N>& rows;
    std::array<wire::FieldInfo, N> infos;

    consteval std::size_t find(std::string_view name) const {
        std::size_t at = 0;
        while (rows[at].info.name != name) ++at;  // beyond the table's end it does not compile
        return at;
    }
};
template <std::size_t N>
EntryTable(const std::array<EntryField, N>&, std::array<wire::FieldInfo, N>) -> EntryTable<N>;

inline constexpr EntryTable properties{property_rows, declarations(property_rows)};
inline constexpr EntryTable commands{command_rows, declarations(command_rows)};
inline constexpr EntryTable fabrics{fabrics_rows, declarations(fabrics_rows)};
inline constexpr EntryTable completions{completion_rows, declarations(completion_rows)};
inline constexpr EntryTable connect_data{connect_data_rows, declarations(connect_data_rows)};
inline constexpr EntryTable requests{request_rows, declarations(request_rows)};
inline constexpr EntryTable replies{reply_rows, declarations(reply_rows)};
inline constexpr EntryTable rejects{reject_rows, declarations(reject_rows)};

/// What a layer's row lists of several tables.
template <std::size_t... N>
constexpr auto joined(const std::array<wire::FieldInfo, N>&... tables) {
    std::array<wire::FieldInfo, (N + ...)> all{};
    std::size_t at = 0;
    const auto add = [&](const auto& table) {
        for (const wire::FieldInfo& info : table) all[at++] = info;
    };
    (add(tables), ...);
    return all;
}

inline constexpr auto command_fields = joined(commands.infos, fabrics.infos, properties.infos);
inline constexpr auto completion_fields = joined(completions.infos, properties.infos);
inline constexpr std::span command_infos = std::span{command_fields}.first<command_rows.size()>();
inline constexpr std::span fabrics_infos =
    std::span{command_fields}.subspan<command_rows.size(), fabrics_rows.size()>();
inline constexpr std::span command_property_infos = std::span{command_fields}.last<property_rows.size()>();
inline constexpr std::span completion_infos = std::span{completion_fields}.first<completion_rows.size()>();
inline constexpr std::span completion_property_infos = std::span{completion_fields}.last<property_rows.size()>();

}  // namespace dissect::layers::nvme_fields
