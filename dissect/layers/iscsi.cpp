#include "wire/iscsi.h"

#include <string_view>

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"
#include "wire/scsi.h"
#include "wire/scsi_names.h"

// Names, labels and texts are Wireshark's.
namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::IscsiOpcode;
using wire::Kind;

constexpr wire::ValueName iser_opcodes[] = {
    {1, "iSCSI Control-Type PDU"}, {2, "iSER Hello Message"}, {3, "iSER HelloReply Message"}};

constexpr wire::FieldInfo iser_fields[] = {
    {"iser.flags", "Flags", 0, 8, Kind::uint8, Base::hex},
    {"iser.flags.opcode", "Opcode", 0, 4, Kind::uint8, Base::hex, false, iser_opcodes},
    {"iser.flags.wsv", "WSV", 4, 1, Kind::boolean},
    {"iser.flags.rsv", "RSV", 5, 1, Kind::boolean},
    {"iser.write_stag", "Write STag", 32, 32, Kind::uint32, Base::hex},
    {"iser.write_base_offset", "Write Base Offset", 64, 64, Kind::uint64, Base::hex},
    {"iser.read_stag", "Read STag", 128, 32, Kind::uint32, Base::hex},
    {"iser.read_base_offset", "Read Base Offset", 160, 64, Kind::uint64, Base::hex},
};

void describe_iser(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.open(iser_fields[0]);
    for (std::size_t i = 1; i < 4; ++i) tree.field(iser_fields[i]);
    tree.close();
    for (std::size_t i = 4; i < std::size(iser_fields); ++i) tree.field(iser_fields[i]);
}

// Offsets count from the PDU's first byte. RFC 7143, 11.
constexpr wire::FieldInfo iscsi_fields[] = {
    {"iscsi.opcode", "Opcode", 2, 6, Kind::uint8, Base::hex, false, wire::iscsi_opcodes},
    {"iscsi.I", "I", 1, 1, Kind::boolean},
    {"iscsi.flags", "Flags", 8, 8, Kind::uint8, Base::hex},
    {"iscsi.scsicommand.F", "F", 8, 1, Kind::boolean},
    {"iscsi.scsicommand.R", "R", 9, 1, Kind::boolean},
    {"iscsi.scsicommand.W", "W", 10, 1, Kind::boolean},
    {"iscsi.scsicommand.attr", "Attr", 13, 3, Kind::uint8, Base::hex, false, wire::iscsi_attributes},
    {"iscsi.scsiresponse.o", "o", 11, 1, Kind::boolean},
    {"iscsi.scsiresponse.u", "u", 12, 1, Kind::boolean},
    {"iscsi.scsiresponse.O", "O", 13, 1, Kind::boolean},
    {"iscsi.scsiresponse.U", "U", 14, 1, Kind::boolean},
    {"iscsi.scsiresponse.response", "Response", 16, 8, Kind::uint8, Base::hex, false, wire::iscsi_responses},
    {"iscsi.scsiresponse.status", "Status", 24, 8, Kind::uint8, Base::hex, false, wire::scsi_statuses},
    {"iscsi.login.T", "T", 8, 1, Kind::boolean},
    {"iscsi.login.C", "C", 9, 1, Kind::boolean},
    {"iscsi.login.csg", "CSG", 12, 2, Kind::uint8, Base::hex, false, wire::iscsi_login_stages},
    {"iscsi.login.nsg", "NSG", 14, 2, Kind::uint8, Base::hex, false, wire::iscsi_login_stages},
    {"iscsi.text.F", "F", 8, 1, Kind::boolean},
    {"iscsi.text.C", "C", 9, 1, Kind::boolean},
    {"iscsi.versionmax", "VersionMax", 16, 8, Kind::uint8, Base::hex},
    {"iscsi.versionmin", "VersionMin", 24, 8, Kind::uint8, Base::hex},
    {"iscsi.versionactive", "VersionActive", 24, 8, Kind::uint8, Base::hex},
    {"iscsi.taskmanfun.function", "Function", 9, 7, Kind::uint8, Base::hex, false, wire::iscsi_task_functions},
    {"iscsi.taskmanfun.response", "Response", 16, 8, Kind::uint8, Base::hex, false, wire::iscsi_task_responses},
    {"iscsi.logout.reason", "Reason", 9, 7, Kind::uint8, Base::hex, false, wire::iscsi_logout_reasons},
    {"iscsi.logout.response", "Response", 16, 8, Kind::uint8, Base::hex, false, wire::iscsi_logout_responses},
    {"iscsi.reject.reason", "Reason", 16, 8, Kind::uint8, Base::hex, false, wire::iscsi_reject_reasons},
    {"iscsi.totalahslength", "TotalAHSLength", 32, 8, Kind::uint8},
    {"iscsi.datasegmentlength", "DataSegmentLength", 40, 24, Kind::uint32},
    {"iscsi.isid", "ISID", 64, 48, Kind::bytes},
    {"iscsi.isid.t", "ISID_t", 64, 2, Kind::uint8, Base::hex},
    {"iscsi.isid.a", "ISID_a", 66, 6, Kind::uint8, Base::hex},
    {"iscsi.isid.b", "ISID_b", 72, 16, Kind::uint16, Base::hex},
    {"iscsi.isid.c", "ISID_c", 88, 8, Kind::uint8, Base::hex},
    {"iscsi.isid.d", "ISID_d", 96, 16, Kind::uint16, Base::hex},
    {"iscsi.tsih", "TSIH", 112, 16, Kind::uint16, Base::hex},
    {"iscsi.initiatortasktag", "InitiatorTaskTag", 128, 32, Kind::uint32, Base::hex},
    {"iscsi.targettransfertag", "TargetTransferTag", 160, 32, Kind::uint32, Base::hex},
    {"iscsi.cid", "CID", 160, 16, Kind::uint16, Base::hex},
    {"iscsi.scsicommand.expecteddatatransferlength", "ExpectedDataTransferLength", 160, 32, Kind::uint32},
    {"iscsi.taskmanfun.referencedtasktag", "ReferencedTaskTag", 160, 32, Kind::uint32, Base::hex},
    {"iscsi.cmdsn", "CmdSN", 192, 32, Kind::uint32},
    {"iscsi.expstatsn", "ExpStatSN", 224, 32, Kind::uint32},
    {"iscsi.refcmdsn", "RefCmdSN", 256, 32, Kind::uint32},
    {"iscsi.statsn", "StatSN", 192, 32, Kind::uint32},
    {"iscsi.expcmdsn", "ExpCmdSN", 224, 32, Kind::uint32},
    {"iscsi.maxcmdsn", "MaxCmdSN", 256, 32, Kind::uint32},
    {"iscsi.datasn", "DataSN", 288, 32, Kind::uint32},
    {"iscsi.bufferOffset", "BufferOffset", 320, 32, Kind::uint32},
    {"iscsi.login.status", "Status", 288, 16, Kind::uint16, Base::hex, false, wire::iscsi_login_statuses},
    {"iscsi.asyncevent", "AsyncEvent", 288, 8, Kind::uint8, Base::hex, false, wire::iscsi_events},
    {"iscsi.expdatasn", "ExpDataSN", 288, 32, Kind::uint32, Base::hex},
    {"iscsi.time2wait", "Time2Wait", 320, 16, Kind::uint16, Base::hex},
    {"iscsi.time2retain", "Time2Retain", 336, 16, Kind::uint16, Base::hex},
    {"iscsi.scsiresponse.bidireadresidualcount", "BidiReadResidualCount", 320, 32, Kind::uint32},
    {"iscsi.scsiresponse.residualcount", "ResidualCount", 352, 32, Kind::uint32},
};
constexpr wire::FieldInfo iscsi_computed[] = {
    floating("iscsi.keyvalue", "KeyValue", Kind::string),
    floating("iscsi.immediatedata", "ImmediateData", Kind::bytes),
    floating("iscsi.pingdata", "PingData", Kind::bytes),
    floating("iscsi.scsiresponse.senselength", "SenseLength", Kind::uint16),
    floating("scsi.lun", "LUN", Kind::uint16, Base::hex),
    floating("scsi.lun.address_mode", "Address Mode", Kind::uint8, Base::hex),
};

/// Shows fields by their names, in that order.
class IscsiDescriber {
public:
    explicit IscsiDescriber(const Tree& tree) : tree_(tree) {}

    template <class... Names>
    void show(const Names&... names) const {
        (tree_.field(*names), ...);
    }
    void show_unit() const {
        if (tree_.size() < 16) return;
        constexpr std::uint32_t at = 8;
        tree_.number(pick(iscsi_computed, "scsi.lun.address_mode"), base::load_u8(tree_.at(at)) >> 6, at, 1);
        tree_.number(pick(iscsi_computed, "scsi.lun"), base::load_be16(tree_.at(at)) & 0x3fffu, at, 2);
    }
    void show_keys() const {
        const base::Bytes data = segment();
        std::string_view text{reinterpret_cast<const char*>(data.data()), data.size()};
        std::uint32_t at = wire::iscsi_header_bytes;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\0'), text.size());
            if (end != 0)
                tree_.text(pick(iscsi_computed, "iscsi.keyvalue"), text.substr(0, end), at,
                           static_cast<std::uint32_t>(end));
            const std::size_t used = std::min(end + 1, text.size());
            text.remove_prefix(used);
            at += static_cast<std::uint32_t>(used);
        }
    }
    void show_data(const wire::FieldInfo& info) const {
        const auto size = static_cast<std::uint32_t>(segment().size());
        if (size != 0) tree_.octets(info, wire::iscsi_header_bytes, size);
    }
    /// The data after the header, as far as they were captured.
    base::Bytes segment() const {
        if (tree_.size() <= wire::iscsi_header_bytes) return {};
        const std::size_t length = base::load_be24(tree_.at(5));
        return tree_.octets().subspan(wire::iscsi_header_bytes,
                                      std::min<std::size_t>(length, tree_.size() - wire::iscsi_header_bytes));
    }

private:
    const Tree& tree_;
};

#define FIELD(name) (&pick(iscsi_fields, name))

void describe_common(const IscsiDescriber& pdu) {
    pdu.show(FIELD("iscsi.totalahslength"), FIELD("iscsi.datasegmentlength"));
}
void describe_session(const IscsiDescriber& pdu) {
    pdu.show(FIELD("iscsi.isid"), FIELD("iscsi.isid.t"), FIELD("iscsi.isid.a"), FIELD("iscsi.isid.b"),
             FIELD("iscsi.isid.c"), FIELD("iscsi.isid.d"), FIELD("iscsi.tsih"), FIELD("iscsi.initiatortasktag"));
}
void describe_asking(const IscsiDescriber& pdu) { pdu.show(FIELD("iscsi.cmdsn"), FIELD("iscsi.expstatsn")); }
void describe_answering(const IscsiDescriber& pdu) {
    pdu.show(FIELD("iscsi.statsn"), FIELD("iscsi.expcmdsn"), FIELD("iscsi.maxcmdsn"));
}

void describe_login(const IscsiDescriber& pdu, bool answers) {
    pdu.show(FIELD("iscsi.login.T"), FIELD("iscsi.login.C"), FIELD("iscsi.login.csg"), FIELD("iscsi.login.nsg"),
             FIELD("iscsi.versionmax"), answers ? FIELD("iscsi.versionactive") : FIELD("iscsi.versionmin"));
    describe_common(pdu);
    describe_session(pdu);
    if (answers) {
        describe_answering(pdu);
        pdu.show(FIELD("iscsi.login.status"));
    } else {
        pdu.show(FIELD("iscsi.cid"));
        describe_asking(pdu);
    }
    pdu.show_keys();
}

void describe_command(const IscsiDescriber& pdu) {
    pdu.show(FIELD("iscsi.flags"), FIELD("iscsi.scsicommand.F"), FIELD("iscsi.scsicommand.R"),
             FIELD("iscsi.scsicommand.W"), FIELD("iscsi.scsicommand.attr"));
    describe_common(pdu);
    pdu.show_unit();
    pdu.show(FIELD("iscsi.initiatortasktag"), FIELD("iscsi.scsicommand.expecteddatatransferlength"));
    describe_asking(pdu);
    pdu.show_data(pick(iscsi_computed, "iscsi.immediatedata"));
}

void describe_response(const IscsiDescriber& pdu, const Tree& tree) {
    pdu.show(FIELD("iscsi.flags"), FIELD("iscsi.scsiresponse.o"), FIELD("iscsi.scsiresponse.u"),
             FIELD("iscsi.scsiresponse.O"), FIELD("iscsi.scsiresponse.U"), FIELD("iscsi.scsiresponse.response"),
             FIELD("iscsi.scsiresponse.status"));
    describe_common(pdu);
    pdu.show(FIELD("iscsi.initiatortasktag"));
    describe_answering(pdu);
    pdu.show(FIELD("iscsi.expdatasn"), FIELD("iscsi.scsiresponse.bidireadresidualcount"),
             FIELD("iscsi.scsiresponse.residualcount"));
    const base::Bytes data = pdu.segment();
    if (data.size() >= 2)
        tree.number(pick(iscsi_computed, "iscsi.scsiresponse.senselength"), base::load_be16(data.data()),
                    wire::iscsi_header_bytes, 2);
}

void describe_text(const IscsiDescriber& pdu, bool answers) {
    pdu.show(FIELD("iscsi.text.F"), FIELD("iscsi.text.C"));
    describe_common(pdu);
    pdu.show(FIELD("iscsi.initiatortasktag"), FIELD("iscsi.targettransfertag"));
    answers ? describe_answering(pdu) : describe_asking(pdu);
    pdu.show_keys();
}

void describe_iscsi(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    if (tree.size() == 0) return;
    const IscsiDescriber pdu(tree);
    const auto opcode = static_cast<IscsiOpcode>(base::load_u8(tree.at(0)) & 0x3f);
    const bool answers = (static_cast<unsigned>(opcode) & 0x20) != 0;
    pdu.show(FIELD("iscsi.opcode"));
    if (!answers && opcode != IscsiOpcode::login) pdu.show(FIELD("iscsi.I"));
    switch (opcode) {
        case IscsiOpcode::scsi_command: return describe_command(pdu);
        case IscsiOpcode::scsi_response: return describe_response(pdu, tree);
        case IscsiOpcode::login:
        case IscsiOpcode::login_response: return describe_login(pdu, answers);
        case IscsiOpcode::text:
        case IscsiOpcode::text_response: return describe_text(pdu, answers);
        case IscsiOpcode::task_management:
            pdu.show(FIELD("iscsi.taskmanfun.function"));
            describe_common(pdu);
            pdu.show_unit();
            pdu.show(FIELD("iscsi.initiatortasktag"), FIELD("iscsi.taskmanfun.referencedtasktag"));
            describe_asking(pdu);
            pdu.show(FIELD("iscsi.refcmdsn"));
            return;
        case IscsiOpcode::task_management_response: pdu.show(FIELD("iscsi.taskmanfun.response")); break;
        case IscsiOpcode::logout:
            pdu.show(FIELD("iscsi.logout.reason"));
            describe_common(pdu);
            pdu.show(FIELD("iscsi.initiatortasktag"), FIELD("iscsi.cid"));
            return describe_asking(pdu);
        case IscsiOpcode::logout_response:
            pdu.show(FIELD("iscsi.logout.response"));
            describe_common(pdu);
            pdu.show(FIELD("iscsi.initiatortasktag"));
            describe_answering(pdu);
            pdu.show(FIELD("iscsi.time2wait"), FIELD("iscsi.time2retain"));
            return;
        case IscsiOpcode::reject: pdu.show(FIELD("iscsi.reject.reason")); break;
        case IscsiOpcode::asynchronous:
            describe_common(pdu);
            pdu.show_unit();
            describe_answering(pdu);
            pdu.show(FIELD("iscsi.asyncevent"));
            return;
        case IscsiOpcode::data_out:
            describe_common(pdu);
            pdu.show_unit();
            pdu.show(FIELD("iscsi.initiatortasktag"), FIELD("iscsi.targettransfertag"), FIELD("iscsi.expstatsn"),
                     FIELD("iscsi.datasn"), FIELD("iscsi.bufferOffset"));
            return;
        case IscsiOpcode::nop_out:
        case IscsiOpcode::nop_in:
            describe_common(pdu);
            pdu.show(FIELD("iscsi.initiatortasktag"), FIELD("iscsi.targettransfertag"));
            answers ? describe_answering(pdu) : describe_asking(pdu);
            return pdu.show_data(pick(iscsi_computed, "iscsi.pingdata"));
        default: break;
    }
    describe_common(pdu);
    pdu.show(FIELD("iscsi.initiatortasktag"));
    answers ? describe_answering(pdu) : describe_asking(pdu);
}

#undef FIELD

LayerId parse_iser(Context& context) {
    const std::uint32_t first = context.offset;
    if (context.take(LayerId::iser, wire::iser_header_bytes) == nullptr) return LayerId::none;
    const bool has_pdu = base::load_u8(context.at(first)) >> 4 == wire::iser_control_pdu;
    return has_pdu && context.remaining() != 0 ? LayerId::iscsi : LayerId::none;
}

/// The PDU with its data; SCSI's parts of it are layers of their own, within it.
LayerId parse_iscsi(Context& context) {
    const std::uint32_t first = context.offset;
    const std::uint32_t captured = context.available();
    const std::uint32_t size = context.remaining();
    if (size < wire::iscsi_header_bytes || captured == 0)
        return context.stop_short(LayerId::iscsi, wire::iscsi_header_bytes);
    context.record(LayerId::iscsi, first, captured, size);
    const auto opcode = static_cast<IscsiOpcode>(base::load_u8(context.at(first)) & 0x3f);
    constexpr std::uint32_t cdb_at = 32, status_at = 3, sense_at = wire::iscsi_header_bytes + 2;
    if (opcode == IscsiOpcode::scsi_command && captured > cdb_at)
        context.record(LayerId::scsi_cdb, first + cdb_at, std::min(captured - cdb_at, wire::scsi_cdb_bytes),
                       wire::scsi_cdb_bytes);
    if (opcode == IscsiOpcode::scsi_response && captured > status_at)
        context.record(LayerId::scsi_status, first + status_at, 1, 1);
    const bool has_sense = opcode == IscsiOpcode::scsi_response && captured > sense_at &&
                           base::load_u8(context.at(first + status_at)) == wire::scsi_check_condition;
    if (has_sense) context.record(LayerId::scsi_sense, first + sense_at, captured - sense_at, size - sense_at);
    if (captured < size && captured < wire::iscsi_header_bytes)
        return context.stop_short(LayerId::iscsi, wire::iscsi_header_bytes);
    context.offset += captured;
    return LayerId::none;
}

// ---- SCSI ----

constexpr wire::FieldInfo cdb_fields[] = {
    {"scsi_sbc.opcode", "Opcode", 0, 8, Kind::uint8, Base::hex, false, wire::scsi_block_opcodes},
    {"scsi_sbc.sa", "Service Action", 11, 5, Kind::uint8, Base::hex},
    {"scsi.mpi.service_action", "Service Action", 11, 5, Kind::uint8, Base::hex},
    {"scsi_sbc.rdprotect", "RDPROTECT", 8, 3, Kind::uint8, Base::hex},
    {"scsi_sbc.wrprotect", "WRPROTECT", 8, 3, Kind::uint8, Base::hex},
    {"scsi_sbc.dpo", "DPO", 11, 1, Kind::boolean},
    {"scsi_sbc.fua", "FUA", 12, 1, Kind::boolean},
    {"scsi_sbc.fua_nv", "FUA_NV", 14, 1, Kind::boolean},
    {"scsi_sbc.rdwr6.lba", "Logical Block Address (LBA)", 11, 21, Kind::uint24},
    {"scsi_sbc.rdwr6.xferlen", "Transfer Length", 32, 8, Kind::uint24},
    {"scsi_sbc.rdwr10.lba", "Logical Block Address (LBA)", 16, 32, Kind::uint32},
    {"scsi_sbc.group", "Group", 51, 5, Kind::uint8, Base::hex},
    {"scsi_sbc.rdwr10.xferlen", "Transfer Length", 56, 16, Kind::uint16},
    {"scsi_sbc.rdwr12.xferlen", "Transfer Length", 48, 32, Kind::uint32},
    {"scsi_sbc.rdwr16.lba", "Logical Block Address (LBA)", 16, 64, Kind::bytes},
    {"scsi.inquiry.evpd.pagecode", "EVPD Page Code", 16, 8, Kind::uint8, Base::hex},
    {"scsi.cdb.alloclen16", "Allocation Length", 24, 16, Kind::uint16},
    {"scsi.mode.spc.pagecode", "SPC-2 Page Code", 18, 6, Kind::uint8, Base::hex},
    {"scsi.mode.sbc.pagecode", "SBC-2 Page Code", 18, 6, Kind::uint8, Base::hex},
    {"scsi.cdb.alloclen", "Allocation Length", 32, 8, Kind::uint8},
    {"scsi.cdb.alloclen32", "Allocation Length", 48, 32, Kind::uint32},
};
constexpr wire::FieldInfo cdb_computed[] = {
    floating("rdma.scsi.lba", "Logical Block Address", Kind::uint64),
    floating("rdma.scsi.blocks", "Blocks", Kind::uint32),
    floating("rdma.scsi.command", "Command", Kind::string),
    floating("scsi.cdb.control", "Control", Kind::uint8, Base::hex),
};

#define CDB(name) tree.field(pick(cdb_fields, name))

void describe_transfer(const Tree& tree, bool writes) {
    writes ? CDB("scsi_sbc.wrprotect") : CDB("scsi_sbc.rdprotect");
    CDB("scsi_sbc.dpo");
    CDB("scsi_sbc.fua");
    CDB("scsi_sbc.fua_nv");
}

void describe_control(const Tree& tree, std::uint32_t at) {
    if (at < tree.size()) tree.number(pick(cdb_computed, "scsi.cdb.control"), base::load_u8(tree.at(at)), at, 1);
}

/// All pages are of every device, the others are taken for a disk's.
void describe_page(const Tree& tree) {
    constexpr std::uint8_t all_pages = 0x3f;
    const bool is_common = tree.size() > 2 && (base::load_u8(tree.at(2)) & 0x3f) == all_pages;
    is_common ? CDB("scsi.mode.spc.pagecode") : CDB("scsi.mode.sbc.pagecode");
}

void describe_cdb(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    if (tree.size() == 0) return;
    CDB("scsi_sbc.opcode");
    const wire::ScsiCommand command = wire::parse_scsi_cdb(tree.octets());
    const wire::ScsiName name = wire::scsi_command_name(command.opcode, command.service_action);
    if (!name.text.empty()) tree.text(pick(cdb_computed, "rdma.scsi.command"), name.text, 0, 1);
    switch (command.opcode) {
        case 0x08:  // READ(6), WRITE(6)
        case 0x0a:
            CDB("scsi_sbc.rdwr6.lba");
            CDB("scsi_sbc.rdwr6.xferlen");
            break;
        case 0x28:  // READ(10), WRITE(10)
        case 0x2a:
            describe_transfer(tree, command.opcode == 0x2a);
            CDB("scsi_sbc.rdwr10.lba");
            CDB("scsi_sbc.group");
            CDB("scsi_sbc.rdwr10.xferlen");
            describe_control(tree, 9);
            break;
        case 0xa8:  // READ(12), WRITE(12)
        case 0xaa:
            describe_transfer(tree, command.opcode == 0xaa);
            CDB("scsi_sbc.rdwr10.lba");
            CDB("scsi_sbc.rdwr12.xferlen");
            describe_control(tree, 11);
            break;
        case 0x88:  // READ(16), WRITE(16)
        case 0x8a:
            describe_transfer(tree, command.opcode == 0x8a);
            CDB("scsi_sbc.rdwr16.lba");
            describe_control(tree, 15);
            break;
        case 0x12:  // INQUIRY
            if (tree.size() > 1 && (base::load_u8(tree.at(1)) & 1) != 0) CDB("scsi.inquiry.evpd.pagecode");
            CDB("scsi.cdb.alloclen16");
            break;
        case 0x1a:  // MODE SENSE(6)
            describe_page(tree);
            CDB("scsi.cdb.alloclen");
            describe_control(tree, 5);
            break;
        case 0x00: describe_control(tree, 5); break;  // TEST UNIT READY
        case 0xa0:                                    // REPORT LUNS
            CDB("scsi.cdb.alloclen32");
            describe_control(tree, 11);
            break;
        case 0xa3:  // MAINTENANCE IN
            CDB("scsi.mpi.service_action");
            CDB("scsi.cdb.alloclen32");
            describe_control(tree, 11);
            break;
        case 0x9e:  // SERVICE ACTION IN(16)
            CDB("scsi_sbc.sa");
            describe_control(tree, 15);
            break;
        default: break;
    }
    if (command.first_block) tree.number(pick(cdb_computed, "rdma.scsi.lba"), *command.first_block, 0, 0);
    if (command.block_count) tree.number(pick(cdb_computed, "rdma.scsi.blocks"), *command.block_count, 0, 0);
}

#undef CDB

constexpr wire::FieldInfo status_fields[] = {
    {"scsi.status", "Status", 0, 8, Kind::uint8, Base::hex, false, wire::scsi_statuses},
};

constexpr wire::FieldInfo sense_computed[] = {
    floating("scsi.sns.errtype", "SNS Error Type", Kind::uint8, Base::hex, wire::scsi_sense_types),
    floating("scsi.sns.filemark", "Filemark", Kind::boolean),
    floating("scsi.sns.eom", "EOM", Kind::boolean),
    floating("scsi.sns.ili", "ILI", Kind::boolean),
    floating("scsi.sns.key", "Sense Key", Kind::uint8, Base::hex, wire::scsi_sense_keys),
    floating("scsi.sns.info", "Sense Info", Kind::uint32, Base::hex),
    floating("scsi.sns.addlen", "Additional Sense Length", Kind::uint8),
    floating("scsi.sns.command_specific_information", "Command-Specific Information", Kind::bytes),
    floating("scsi.sns.ascascq", "Additional Sense Code+Qualifier", Kind::uint16, Base::hex),
    floating("scsi.sns.asc", "Additional Sense Code", Kind::uint8, Base::hex),
    floating("scsi.sns.ascq", "Additional Sense Code Qualifier", Kind::uint8, Base::hex),
    floating("scsi.sns.fru", "Field Replaceable Unit Code", Kind::uint8, Base::hex),
    floating("rdma.scsi.sense", "Sense", Kind::string),
};

void describe_codes(const Tree& tree, const wire::ScsiSense& sense, std::uint32_t at) {
    if (at + 2 > tree.size()) return;
    tree.number(pick(sense_computed, "scsi.sns.ascascq"), std::uint64_t{sense.code} << 8 | sense.qualifier, at, 2);
    tree.number(pick(sense_computed, "scsi.sns.asc"), sense.code, at, 1);
    tree.number(pick(sense_computed, "scsi.sns.ascq"), sense.qualifier, at + 1, 1);
    const std::string_view text = wire::scsi_sense_text(sense.code, sense.qualifier);
    if (!text.empty()) tree.text(pick(sense_computed, "rdma.scsi.sense"), text, at, 2);
}

void describe_sense(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const auto sense = wire::parse_scsi_sense(tree.octets());
    if (!sense) return;
    tree.number(pick(sense_computed, "scsi.sns.errtype"), sense->response_code, 0, 1);
    const bool described = sense->response_code >= 0x72;
    if (described) {
        tree.number(pick(sense_computed, "scsi.sns.key"), sense->key, 1, 1);
        return describe_codes(tree, *sense, 2);
    }
    const std::uint8_t flags = base::load_u8(tree.at(2));
    tree.number(pick(sense_computed, "scsi.sns.filemark"), flags >> 7, 2, 1);
    tree.number(pick(sense_computed, "scsi.sns.eom"), flags >> 6 & 1, 2, 1);
    tree.number(pick(sense_computed, "scsi.sns.ili"), flags >> 5 & 1, 2, 1);
    tree.number(pick(sense_computed, "scsi.sns.key"), sense->key, 2, 1);
    if (tree.size() < 14) return;
    tree.number(pick(sense_computed, "scsi.sns.info"), base::load_be32(tree.at(3)), 3, 4);
    tree.number(pick(sense_computed, "scsi.sns.addlen"), base::load_u8(tree.at(7)), 7, 1);
    tree.octets(pick(sense_computed, "scsi.sns.command_specific_information"), 8, 4);
    describe_codes(tree, *sense, 12);
    if (tree.size() > 14) tree.number(pick(sense_computed, "scsi.sns.fru"), base::load_u8(tree.at(14)), 14, 1);
}

/// Is recorded by the layer around it.
template <LayerId Id>
LayerId parse_part(Context& context) {
    context.take(Id, context.available());
    return LayerId::none;
}

}  // namespace

constinit const LayerRow iser_layer{"iser", &protocol::iser, {}, parse_iser, describe_iser, iser_fields};
constinit const LayerRow iscsi_layer{"iscsi",      &protocol::iscsi, {}, parse_iscsi, describe_iscsi,
                                     iscsi_fields, iscsi_computed};
constinit const LayerRow scsi_cdb_layer{"scsi",       &protocol::scsi, {},          parse_part<LayerId::scsi_cdb>,
                                        describe_cdb, cdb_fields,      cdb_computed};
constinit const LayerRow scsi_status_layer{"scsi_status", &protocol::scsi, {}, parse_part<LayerId::scsi_status>,
                                           nullptr,       status_fields};
constinit const LayerRow scsi_sense_layer{
    "scsi_sense", &protocol::scsi, {}, parse_part<LayerId::scsi_sense>, describe_sense, {}, sense_computed};

}  // namespace dissect::layers
