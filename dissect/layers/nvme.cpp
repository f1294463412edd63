#include "wire/nvme.h"

#include <algorithm>
#include <string_view>

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/nvme_fields.h"
#include "dissect/layers/protocols.h"
#include "dissect/upper_message.h"

namespace dissect::inline layers {
namespace {

using namespace nvme_fields;

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
