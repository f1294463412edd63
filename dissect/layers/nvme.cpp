#include "wire/nvme.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"
#include "dissect/upper_message.h"

// Names, labels and the way values are printed are Wireshark's. Where Wireshark 4.0 has masks that contradict the
// specification, the specification's are used.
namespace dissect::inline layers {
namespace {

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

constexpr wire::ValueName property_offsets[] = {
    {0x00, "Controller Capabilities"},  {0x08, "Version"},
    {0x14, "Controller Configuration"}, {0x1c, "Controller Status"},
    {0x20, "NVM Subsystem Reset"},
};
constexpr wire::ValueName property_sizes[] = {{0, "4 bytes"}, {1, "8 bytes"}};
constexpr wire::ValueName shutdown_notices[] = {
    {0, "No Shutdown"}, {1, "Normal Shutdown"}, {2, "Abrupt Shutdown"}, {3, "Reserved"}};
constexpr wire::ValueName shutdown_states[] = {
    {0, "No Shutdown"}, {1, "Shutdown in Process"}, {2, "Shutdown Complete"}, {3, "Reserved"}};
constexpr wire::ValueName priority_classes[] = {{0, "Urgent"}, {1, "High"}, {2, "Medium"}, {3, "Low"}};
constexpr wire::ValueName sgl_types[] = {{0, "Data Block"},      {1, "Bit Bucket"},       {2, "Segment"},
                                         {3, "Last Segment"},    {4, "Keyed Data Block"}, {5, "Transport Data Block"},
                                         {15, "Vendor Specific"}};

/// Below the properties' headings: places count from the value's first byte.
constexpr std::array property_rows{
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

constexpr std::array command_rows{
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

constexpr std::array fabrics_rows{
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

constexpr std::array completion_rows{
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

constexpr std::array connect_data_rows{
    octets("nvme.fabrics.cmd.connect.data.hostid", "Host Identifier", 0, 16),
    number16("nvme.fabrics.cmd.connect.data.cntrlid", "Controller ID", {16, 2}),
    octets("nvme.fabrics.cmd.connect.data.rsvd0", "Reserved", 18, 238),
    text_field("nvme.fabrics.cmd.connect.data.subnqn", "Subsystem NQN"),
    text_field("nvme.fabrics.cmd.connect.data.hostnqn", "Host NQN"),
    octets("nvme.fabrics.cmd.connect.data.rsvd1", "Reserved", 768, 256),
};

constexpr std::array request_rows{
    number16("nvme-rdma.cm.req.recfmt", "Record Format", {0, 2}, Base::dec),
    number16("nvme-rdma.cm.req.qid", "Queue Id", {2, 2}, Base::dec),
    number16("nvme-rdma.cm.req.hrqsize", "RDMA QP Host Receive Queue Size", {4, 2}, Base::dec),
    number16("nvme-rdma.cm.req.hsqsize", "RDMA QP Host Send Queue Size", {6, 2}, Base::dec),
    number16("nvme-rdma.cm.req.cntlid", "Controller ID", {8, 2}),
    octets("nvme-rdma.cm.req.reserved", "Reserved", 10, 22),
};
constexpr std::array reply_rows{
    number16("nvme-rdma.cm.rsp.recfmt", "Record Format", {0, 2}, Base::dec),
    number16("nvme-rdma.cm.rsp.crqsize", "RDMA QP Controller Receive Queue Size", {2, 2}, Base::dec),
    octets("nvme-rdma.cm.rsp.reserved", "Reserved", 4, 28),
};
constexpr std::array reject_rows{
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

constexpr EntryTable properties{property_rows, declarations(property_rows)};
constexpr EntryTable commands{command_rows, declarations(command_rows)};
constexpr EntryTable fabrics{fabrics_rows, declarations(fabrics_rows)};
constexpr EntryTable completions{completion_rows, declarations(completion_rows)};
constexpr EntryTable connect_data{connect_data_rows, declarations(connect_data_rows)};
constexpr EntryTable requests{request_rows, declarations(request_rows)};
constexpr EntryTable replies{reply_rows, declarations(reply_rows)};
constexpr EntryTable rejects{reject_rows, declarations(reject_rows)};

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

/// Shows fields of one entry; those that were not captured are left out.
template <std::size_t N>
class Entry {
public:
    Entry(const Tree& tree, const EntryTable<N>& table, std::span<const wire::FieldInfo> infos)
        : tree_(tree), table_(table), infos_(infos) {}

    void show(std::size_t index) const { show(index, 0); }
    /// `plus`: is added to the number.
    void show(std::size_t index, std::uint64_t plus) const {
        const NvmePlace& place = table_.rows[index].place;
        if (place.octet + place.octets > tree_.size()) return;
        if (table_.rows[index].info.kind == Kind::bytes)
            tree_.octets(infos_[index], place.octet, place.octets);
        else
            tree_.number(infos_[index], wire::read_nvme(tree_.at(0), place) + plus, place.octet, place.octets);
    }
    void show_all(std::size_t first, std::size_t last) const {
        for (std::size_t i = first; i <= last; ++i) show(i);
    }
    /// The field at `first` as the heading of those up to `last`.
    void show_below(std::size_t first, std::size_t last) const {
        const NvmePlace& place = table_.rows[first].place;
        if (place.octet + place.octets > tree_.size()) return;
        const std::uint64_t number = place.octets == 0 || place.octets > 8 ? 0 : wire::read_nvme(tree_.at(0), place);
        open(first, number);
        show_all(first + 1, last);
        tree_.close();
    }
    void open(std::size_t index, std::uint64_t number = 0) const {
        const NvmePlace& place = table_.rows[index].place;
        tree_.open_number(infos_[index], number, place.octet, place.octets);
    }
    const Tree& tree() const { return tree_; }

private:
    const Tree& tree_;
    const EntryTable<N>& table_;
    std::span<const wire::FieldInfo> infos_;
};

constexpr auto command_fields = joined(commands.infos, fabrics.infos, properties.infos);
constexpr auto completion_fields = joined(completions.infos, properties.infos);
constexpr std::span command_infos = std::span{command_fields}.first<command_rows.size()>();
constexpr std::span fabrics_infos = std::span{command_fields}.subspan<command_rows.size(), fabrics_rows.size()>();
constexpr std::span command_property_infos = std::span{command_fields}.last<property_rows.size()>();
constexpr std::span completion_infos = std::span{completion_fields}.first<completion_rows.size()>();
constexpr std::span completion_property_infos = std::span{completion_fields}.last<property_rows.size()>();

#define AT(table, name) (std::integral_constant<std::size_t, (table).find(name)>::value)

/// Offsets of the properties that have fields of their own. NVMe Base 2.0, 3.1.3.
enum Property : std::uint32_t { property_cap = 0x00, property_vs = 0x08, property_cc = 0x14, property_csts = 0x1c };

/// The eight bytes of a property's value.
void describe_property(const Tree& value, std::uint32_t offset, bool is_long, std::span<const wire::FieldInfo> infos) {
    if (value.size() < 8) return;
    const Entry entry{value, properties, infos};
    value.open(infos[AT(properties, "nvme.fabrics.prop_get_set.data")], 0, 8);
    switch (offset) {
        case property_cap:
            entry.show_below(AT(properties, "nvme.fabrics.prop_get.ccap"),
                             AT(properties, "nvme.fabrics.prop_get.ccap.rsvd2"));
            break;
        case property_vs:
            entry.show_below(AT(properties, "nvme.fabrics.prop_get.vs"),
                             AT(properties, "nvme.fabrics.prop_get.vs.mjr"));
            break;
        case property_cc:
            entry.show_below(AT(properties, "nvme.fabrics.prop_get_set.cc"),
                             AT(properties, "nvme.fabrics.prop_get_set.cc.rsvd1"));
            break;
        case property_csts:
            entry.show_below(AT(properties, "nvme.fabrics.prop_get_set.csts"),
                             AT(properties, "nvme.fabrics.prop_get_set.csts.rsvd"));
            break;
        default:
            entry.show(is_long ? AT(properties, "nvme.fabrics.prop_get_set.data.8B")
                               : AT(properties, "nvme.fabrics.prop_get_set.data.4B"));
    }
    if (!is_long && offset != property_cap) entry.show(AT(properties, "nvme.fabrics.prop_get_set.data.rsvd"));
    value.close();
}

using Commands = Entry<command_rows.size()>;
using Fabrics = Entry<fabrics_rows.size()>;

/// The descriptor, below a heading that the caller opens.
void describe_sgl(const Commands& entry) {
    entry.show_all(AT(commands, "nvme.cmd.sgl.type"), AT(commands, "nvme.cmd.sgl1.addr"));
    const Tree& tree = entry.tree();
    if (tree.size() < 40) return;
    const wire::NvmeSgl sgl = wire::parse_nvme_sgl(tree.at(24));
    const bool keyed = sgl.type == wire::NvmeSgl::keyed_data_block;
    tree.number(command_infos[AT(commands, "nvme.cmd.sgl1.len")], sgl.length, 32, keyed ? 3 : 4);
    entry.show(keyed ? AT(commands, "nvme.cmd.sgl1.key") : AT(commands, "nvme.cmd.sgl1.rsvd"));
}

void describe_blocks(const Commands& entry) {
    entry.show(AT(commands, "nvme.cmd.slba"));
    entry.show(AT(commands, "nvme.cmd.nlb"), 1);
    entry.show(AT(commands, "nvme.cmd.rsvd2"));
    entry.show_below(AT(commands, "nvme.cmd.prinfo"), AT(commands, "nvme.cmd.prinfo.action"));
    entry.show_all(AT(commands, "nvme.cmd.fua"), AT(commands, "nvme.cmd.elbatm"));
    if (entry.tree().size() <= 52) return;
    entry.open(AT(commands, "nvme.cmd.dsm"));
    entry.show_all(AT(commands, "nvme.cmd.dsm.access_freq"), AT(commands, "nvme.cmd.dsm.incompressible"));
    entry.tree().close();
    entry.show(AT(commands, "nvme.cmd.rsvd3"));
}

/// Which of the words 10 to 15 Wireshark shows as they are, because it has no fields for them.
unsigned plain_words(NvmeContext context, std::uint8_t opcode) {
    constexpr unsigned word12 = 4, word13 = 8, word15 = 32, all = 63;
    if (context.queue != wire::NvmeQueueType::admin) return all;
    switch (opcode) {
        case 0x02: return word13 | word15;           // Get Log Page
        case 0x06:                                   // Identify
        case 0x09:                                   // Set Features
        case 0x0a: return word12 | word13 | word15;  // Get Features
        default: return all;
    }
}

void describe_plain_command(const Tree& tree, NvmeContext context) {
    const Commands entry{tree, commands, command_infos};
    entry.show_all(AT(commands, "nvme.cmd.opc"), AT(commands, "nvme.cmd.mptr"));
    if (tree.size() >= 40) {
        entry.open(AT(commands, "nvme.cmd.sgl1"));
        describe_sgl(entry);
        tree.close();
    }
    const std::uint8_t opcode = base::load_u8(tree.at(0));
    if (context.queue == wire::NvmeQueueType::io && (opcode == 0x01 || opcode == 0x02)) return describe_blocks(entry);
    const unsigned words = plain_words(context, opcode);
    for (unsigned i = 0; i < 6; ++i)
        if ((words >> i & 1) != 0) entry.show(AT(commands, "nvme.cmd.dword10") + i);
}

void describe_fabrics_sgl(const Fabrics& entry, std::size_t heading_index) {
    const Tree& tree = entry.tree();
    if (tree.size() < 40) return;
    entry.open(heading_index);
    describe_sgl(Commands{tree, commands, command_infos});
    tree.close();
}

void describe_connect(const Fabrics& entry) {
    entry.show(AT(fabrics, "nvme.fabrics.cmd.connect.rsvd1"));
    describe_fabrics_sgl(entry, AT(fabrics, "nvme.fabrics.cmd.connect.sgl1"));
    entry.show_all(AT(fabrics, "nvme.fabrics.cmd.connect.recfmt"), AT(fabrics, "nvme.fabrics.cmd.connect.sqsize"));
    entry.show_below(AT(fabrics, "nvme.fabrics.cmd.connect.cattr"), AT(fabrics, "nvme.fabrics.cmd.connect.cattr.rsvd"));
    entry.show_all(AT(fabrics, "nvme.fabrics.cmd.connect.rsvd2"), AT(fabrics, "nvme.fabrics.cmd.connect.rsvd3"));
}

void describe_property_command(const Fabrics& entry, bool sets) {
    const Tree& tree = entry.tree();
    entry.show(AT(fabrics, "nvme.fabrics.cmd.prop_get_set.rsvd0"));
    entry.show_below(AT(fabrics, "nvme.fabrics.cmd.prop_get_set.attrib"),
                     AT(fabrics, "nvme.fabrics.cmd.prop_get_set.attrib.rsvd"));
    entry.show_all(AT(fabrics, "nvme.fabrics.cmd.prop_get_set.rsvd1"),
                   AT(fabrics, "nvme.fabrics.cmd.prop_get_set.offset"));
    if (!sets) return entry.show(AT(fabrics, "nvme.fabrics.cmd.prop_get.rsvd2"));
    if (tree.size() < 56) return;
    const bool is_long = (base::load_u8(tree.at(40)) & 7) == 1;
    describe_property(tree.part(48, 8), wire::load_le32(tree.at(44)), is_long, command_property_infos);
    entry.show(AT(fabrics, "nvme.fabrics.cmd.prop_set.rsvd"));
}

void describe_fabrics_command(const Tree& tree) {
    const Fabrics entry{tree, fabrics, fabrics_infos};
    entry.open(AT(fabrics, "nvme.fabrics.cmd"));
    entry.show_all(AT(fabrics, "nvme.fabrics.cmd.opc"), AT(fabrics, "nvme.fabrics.cmd.fctype"));
    if (tree.size() > 4) {
        switch (static_cast<wire::NvmeFabricsType>(base::load_u8(tree.at(4)))) {
            case wire::NvmeFabricsType::connect: describe_connect(entry); break;
            case wire::NvmeFabricsType::property_get: describe_property_command(entry, false); break;
            case wire::NvmeFabricsType::property_set: describe_property_command(entry, true); break;
            case wire::NvmeFabricsType::authentication_send:
            case wire::NvmeFabricsType::authentication_receive:
                entry.show(AT(fabrics, "nvme.fabrics.cmd.auth.rsvd1"));
                describe_fabrics_sgl(entry, AT(fabrics, "nvme.fabrics.cmd.auth.sgl1"));
                entry.show_all(AT(fabrics, "nvme.fabrics.cmd.auth.rsvd2"), AT(fabrics, "nvme.fabrics.cmd.auth.rsvd3"));
                break;
            case wire::NvmeFabricsType::disconnect:
                entry.show_all(AT(fabrics, "nvme.fabrics.cmd.disconnect.rsvd0"),
                               AT(fabrics, "nvme.fabrics.cmd.disconnect.rsvd1"));
                break;
            default:
                entry.show_all(AT(fabrics, "nvme.fabrics.cmd.generic.rsvd1"),
                               AT(fabrics, "nvme.fabrics.cmd.generic.field"));
        }
    }
    tree.close();
}

void describe_nvme_command(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    if (tree.size() == 0) return;
    if (base::load_u8(tree.at(0)) == wire::nvme_fabrics_opcode) return describe_fabrics_command(tree);
    describe_plain_command(tree, NvmeContext::from_variant(view.layer.variant));
}

using Completions = Entry<completion_rows.size()>;

void describe_result(const Completions& entry, NvmeContext context) {
    switch (context.answers) {
        case NvmeContext::Answers::plain:
            entry.show_all(AT(completions, "nvme.cqe.dword0"), AT(completions, "nvme.cqe.dword1"));
            break;
        case NvmeContext::Answers::connect:
            entry.show_all(AT(completions, "nvme.fabrics.cqe.connect.cntrlid"),
                           AT(completions, "nvme.fabrics.cqe.connect.rsvd"));
            break;
        case NvmeContext::Answers::property_set: entry.show(AT(completions, "nvme.fabrics.cqe.prop_set.rsvd")); break;
        case NvmeContext::Answers::property_get:
            if (entry.tree().size() >= 8)
                describe_property(entry.tree().part(0, 8), context.property, context.is_long_property,
                                  completion_property_infos);
            break;
        case NvmeContext::Answers::fabrics: entry.show(AT(completions, "nvme.fabrics.cqe.sts")); break;
    }
}

void describe_status(const Completions& entry, NvmeContext context) {
    const Tree& tree = entry.tree();
    if (tree.size() < wire::nvme_completion_bytes) return;
    const std::size_t status = AT(completions, "nvme.cqe.status");
    entry.open(status, wire::read_nvme(tree.at(0), completion_rows[status].place));
    // A fabrics completion has no phase. NVMe over Fabrics 1.1, 2.2.
    entry.show(context.is_fabrics() ? AT(completions, "nvme.cqe.status.rsvd") : AT(completions, "nvme.cqe.status.p"));
    entry.show_all(AT(completions, "nvme.cqe.status.sc"), AT(completions, "nvme.cqe.status.dnr"));
    const wire::NvmeCompletion completion = wire::parse_nvme_completion(tree.at(0));
    const std::string_view name =
        wire::nvme_status_name(completion.type(), completion.code(), context.answers == NvmeContext::Answers::connect);
    if (!name.empty()) tree.text(completion_infos[AT(completions, "rdma.nvme.status")], name, 14, 2);
    tree.close();
}

void describe_completion(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const Completions entry{tree, completions, completion_infos};
    const NvmeContext context = NvmeContext::from_variant(view.layer.variant);
    if (context.is_fabrics()) entry.open(AT(completions, "nvme.fabrics.cqe"));
    describe_result(entry, context);
    entry.show_all(AT(completions, "nvme.cqe.sqhd"), AT(completions, "nvme.cqe.cid"));
    describe_status(entry, context);
    if (context.is_fabrics()) tree.close();
}

/// A name of up to 256 bytes, as far as it was captured.
void describe_name(const Tree& tree, const wire::FieldInfo& info, std::uint32_t first) {
    if (tree.size() <= first) return;
    const Tree part = tree.part(first, wire::nvme_name_bytes);
    const std::string_view field(reinterpret_cast<const char*>(part.at(0)), part.size());
    tree.text(info, field.substr(0, field.find('\0')), first, part.size());
}

void describe_connect_data(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const Entry entry{tree, connect_data, std::span<const wire::FieldInfo>{connect_data.infos}};
    entry.show_all(0, AT(connect_data, "nvme.fabrics.cmd.connect.data.rsvd0"));
    describe_name(tree, connect_data.infos[AT(connect_data, "nvme.fabrics.cmd.connect.data.subnqn")],
                  wire::nvme_subsystem_name_offset);
    describe_name(tree, connect_data.infos[AT(connect_data, "nvme.fabrics.cmd.connect.data.hostnqn")],
                  wire::nvme_host_name_offset);
    entry.show(AT(connect_data, "nvme.fabrics.cmd.connect.data.rsvd1"));
}

/// Private data: all its fields, in their order.
template <const auto& Table>
void describe_private_data(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    Entry{tree, Table, std::span<const wire::FieldInfo>{Table.infos}}.show_all(0, Table.rows.size() - 1);
}

#undef AT

/// An entry that the snap length cut is recorded as far as it goes.
template <LayerId Id, std::uint32_t Size>
LayerId parse_entry(Context& context) {
    if (context.remaining() < Size) return context.stop_short(Id, Size);
    const std::uint32_t captured = std::min(context.available(), Size);
    context.record(Id, context.offset, captured, Size);
    if (captured < Size) return context.stop_short(Id, Size);
    context.offset += Size;
    return LayerId::none;
}

/// Connect's data may follow in the capsule.
LayerId parse_nvme_command(Context& context) {
    const std::uint32_t first = context.offset;
    parse_entry<LayerId::nvme_command, wire::nvme_command_bytes>(context);
    if (context.offset == first) return LayerId::none;
    const bool connects = base::load_u8(context.at(first)) == wire::nvme_fabrics_opcode &&
                          base::load_u8(context.at(first + 4)) == static_cast<unsigned>(wire::NvmeFabricsType::connect);
    return connects && context.remaining() >= wire::nvme_connect_data_bytes ? LayerId::nvme_connect_data
                                                                            : LayerId::none;
}

}  // namespace

constinit const LayerRow nvme_command_layer{
    "nvme_command", &protocol::nvme, {}, parse_nvme_command, describe_nvme_command, {}, command_fields};
constinit const LayerRow nvme_completion_layer{"nvme_completion",
                                               &protocol::nvme,
                                               {},
                                               parse_entry<LayerId::nvme_completion, wire::nvme_completion_bytes>,
                                               describe_completion,
                                               {},
                                               completion_fields};
constinit const LayerRow nvme_connect_data_layer{"nvme_connect_data",
                                                 &protocol::nvme_rdma,
                                                 {},
                                                 parse_entry<LayerId::nvme_connect_data, wire::nvme_connect_data_bytes>,
                                                 describe_connect_data,
                                                 {},
                                                 connect_data.infos};
constinit const LayerRow nvme_rdma_request_layer{"nvme_rdma_request",
                                                 &protocol::nvme_rdma,
                                                 {},
                                                 parse_entry<LayerId::nvme_rdma_request, 32>,
                                                 describe_private_data<requests>,
                                                 {},
                                                 requests.infos};
constinit const LayerRow nvme_rdma_reply_layer{"nvme_rdma_reply",
                                               &protocol::nvme_rdma,
                                               {},
                                               parse_entry<LayerId::nvme_rdma_reply, 32>,
                                               describe_private_data<replies>,
                                               {},
                                               replies.infos};
constinit const LayerRow nvme_rdma_reject_layer{"nvme_rdma_reject",
                                                &protocol::nvme_rdma,
                                                {},
                                                parse_entry<LayerId::nvme_rdma_reject, 4>,
                                                describe_private_data<rejects>,
                                                {},
                                                rejects.infos};

}  // namespace dissect::layers
