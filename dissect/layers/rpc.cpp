#include "wire/rpc.h"

#include <array>

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"
#include "dissect/upper_message.h"
#include "wire/nfs.h"
#include "wire/rpc_rdma.h"

// Names, labels and texts are Wireshark's.
namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::Kind;

constexpr wire::FieldInfo rpc_fields[] = {
    floating("rpc.xid", "XID", Kind::uint32, Base::hex),
    floating("rpc.msgtyp", "Message Type", Kind::uint32, Base::dec, wire::rpc_message_types),
    floating("rpc.version", "RPC Version", Kind::uint32),
    floating("rpc.program", "Program", Kind::uint32, Base::dec, wire::rpc_programs),
    floating("rpc.programversion", "Program Version", Kind::uint32),
    floating("rpc.procedure", "Procedure", Kind::uint32),
    floating("rpc.replystat", "Reply State", Kind::uint32, Base::dec, wire::rpc_reply_states),
    floating("rpc.state_accept", "Accept State", Kind::uint32, Base::dec, wire::rpc_accept_states),
    floating("rpc.state_reject", "Reject State", Kind::uint32, Base::dec, wire::rpc_reject_states),
    floating("rpc.state_auth", "Auth State", Kind::uint32, Base::dec, wire::rpc_auth_states),
    floating("rpc.auth.flavor", "Flavor", Kind::uint32, Base::dec, wire::rpc_auth_flavors),
    floating("rpc.auth.length", "Length", Kind::uint32),
    floating("rpc.auth.stamp", "Stamp", Kind::uint32, Base::hex),
    floating("rpc.auth.machinename", "Machine Name", Kind::string),
    floating("rpc.auth.uid", "UID", Kind::uint32),
    floating("rpc.auth.gid", "GID", Kind::uint32),
    floating("rpc.authgss.version", "GSS Version", Kind::uint32),
    floating("rpc.authgss.procedure", "GSS Procedure", Kind::uint32),
    floating("rpc.authgss.seqnum", "GSS Sequence Number", Kind::uint32),
    floating("rpc.authgss.service", "GSS Service", Kind::uint32),
};

/// Reads numbers and shows them.
class RpcDescriber {
public:
    explicit RpcDescriber(const Tree& tree) : tree_(tree), xdr_(tree.octets()) {}

    bool ended() const { return xdr_.ended(); }
    std::uint32_t number(const wire::FieldInfo& info) {
        const std::uint32_t at = xdr_.offset();
        const std::uint32_t value = xdr_.u32();
        if (!xdr_.ended()) tree_.number(info, value, at, 4);
        return value;
    }
    void computed(const wire::FieldInfo& info, std::uint32_t value) const { tree_.number(info, value, 0, 0); }

    /// A credential or a verifier.
    void authentication() {
        const std::uint32_t flavor = number(pick(rpc_fields, "rpc.auth.flavor"));
        const std::uint32_t size = number(pick(rpc_fields, "rpc.auth.length"));
        if (xdr_.ended()) return;
        const std::uint32_t end = xdr_.offset() + std::min((size + 3) & ~3u, xdr_.left());
        constexpr std::uint32_t unix_style = 1;
        if (flavor == unix_style && size != 0) unix_credential();
        if (flavor == wire::rpc_auth_gss && size >= 16) {
            number(pick(rpc_fields, "rpc.authgss.version"));
            number(pick(rpc_fields, "rpc.authgss.procedure"));
            number(pick(rpc_fields, "rpc.authgss.seqnum"));
            number(pick(rpc_fields, "rpc.authgss.service"));
        }
        if (xdr_.ended() || xdr_.offset() > end) return xdr_.end();
        xdr_.skip(end - xdr_.offset());
    }

private:
    void unix_credential() {
        number(pick(rpc_fields, "rpc.auth.stamp"));
        const std::uint32_t at = xdr_.offset();
        const base::Bytes name = xdr_.opaque();
        if (xdr_.ended()) return;
        const std::string_view text{reinterpret_cast<const char*>(name.data()), name.size()};
        tree_.text(pick(rpc_fields, "rpc.auth.machinename"), text, at, xdr_.offset() - at);
        number(pick(rpc_fields, "rpc.auth.uid"));
        number(pick(rpc_fields, "rpc.auth.gid"));
    }

    const Tree& tree_;
    wire::XdrReader xdr_;
};

struct RpcCalled {
    std::uint32_t program = 0;
    RpcContext context = {};
};

/// What a reply answers: the layer that follows knows.
std::optional<RpcCalled> called_of(const Dissection& dissection) {
    constexpr std::array programs{std::pair{LayerId::nfs, 100003u}, std::pair{LayerId::nfs_acl, 100227u},
                                  std::pair{LayerId::mount, 100005u}, std::pair{LayerId::nlm, 100021u}};
    for (const auto& [id, program] : programs) {
        const LayerRef* layer = dissection.find(id);
        if (layer != nullptr) return RpcCalled{program, RpcContext::from_variant(layer->variant)};
    }
    return std::nullopt;
}

void describe_reply(RpcDescriber& rpc, const Dissection& dissection) {
    if (const auto called = called_of(dissection)) {
        rpc.computed(pick(rpc_fields, "rpc.program"), called->program);
        rpc.computed(pick(rpc_fields, "rpc.programversion"), called->context.version);
        rpc.computed(pick(rpc_fields, "rpc.procedure"), called->context.procedure);
    }
    const std::uint32_t state = rpc.number(pick(rpc_fields, "rpc.replystat"));
    if (rpc.ended()) return;
    if (state == 0) {
        rpc.authentication();
        rpc.number(pick(rpc_fields, "rpc.state_accept"));
        return;
    }
    const std::uint32_t reason = rpc.number(pick(rpc_fields, "rpc.state_reject"));
    if (reason == 1) rpc.number(pick(rpc_fields, "rpc.state_auth"));
}

void describe_rpc(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    RpcDescriber rpc(tree);
    rpc.number(pick(rpc_fields, "rpc.xid"));
    const std::uint32_t type = rpc.number(pick(rpc_fields, "rpc.msgtyp"));
    if (rpc.ended()) return;
    if (type != 0) return describe_reply(rpc, view.dissection);
    rpc.number(pick(rpc_fields, "rpc.version"));
    rpc.number(pick(rpc_fields, "rpc.program"));
    rpc.number(pick(rpc_fields, "rpc.programversion"));
    rpc.number(pick(rpc_fields, "rpc.procedure"));
    rpc.authentication();
    rpc.authentication();
}

/// The header; which program it is of depends on the call, and is found elsewhere.
LayerId parse_rpc_header(Context& context) {
    const std::uint32_t available = context.available();
    constexpr std::uint32_t least = 8;
    if (available < least) return context.stop_short(LayerId::rpc, least);
    const wire::RpcHeader header = wire::parse_rpc({context.at(context.offset), available});
    const std::uint32_t size = header.has_body ? header.body_at : available;
    context.record(LayerId::rpc, context.offset, size, size);
    context.offset += size;
    const bool ends_here = header.has_body || header.has_status;
    if (!ends_here && context.remaining() != 0) return context.stop_short(LayerId::rpc, 4);
    return LayerId::none;
}

// ---- the programs ----

constexpr wire::FieldInfo nfs_fields[] = {
#define X(id, name, label, kind, base, values) floating(name, label, Kind::kind, Base::base, values),
    RDMASCOPE_NFS_FIELDS(X)
#undef X
};

class NfsDescriber final : public wire::NfsVisitor {
public:
    NfsDescriber(const Tree& tree, std::span<const wire::FieldInfo> fields) : tree_(tree), fields_(fields) {}

    void open(wire::NfsField heading, std::uint64_t value, std::string_view, std::uint32_t at) override {
        tree_.open_number(info_of_field(heading), value, at, 4);
    }
    void close() override { tree_.close(); }
    void number(wire::NfsField field, std::uint64_t value, std::uint32_t at, std::uint32_t length) override {
        tree_.number(info_of_field(field), value, at, length);
    }
    void octets(wire::NfsField field, base::Bytes value, std::uint32_t at) override {
        tree_.octets(info_of_field(field), at, static_cast<std::uint32_t>(value.size()));
    }
    void text(wire::NfsField field, std::string_view value, std::uint32_t at) override {
        tree_.text(info_of_field(field), value, at, 4);
    }

private:
    const wire::FieldInfo& info_of_field(wire::NfsField field) const {
        return fields_[static_cast<std::size_t>(field)];
    }
    const Tree& tree_;
    std::span<const wire::FieldInfo> fields_;
};

/// How many of the message's items were moved: the header before the message says it.
void add_reductions(const LayerView& view, wire::RpcBody& body) {
    const LayerRef* header_layer = view.dissection.find(LayerId::rpcordma);
    const LayerRef* rpc_layer = view.dissection.find(LayerId::rpc);
    if (rpc_layer != nullptr) body.stream_at = rpc_layer->offset;
    if (header_layer == nullptr) return;
    const wire::RpcRdmaHeader header =
        wire::parse_rpc_rdma(view.bytes.subspan(header_layer->offset, header_layer->length), nullptr);
    body.reduced_items = body.is_call ? header.read_items : header.full_writes;
    if (body.is_call && header.read_items == 1) body.reduced_position = header.read_position;
}

template <wire::RpcProgram Program>
void describe_program(const LayerView& view, Visitor& visitor) {
    // Places count from the message's beginning.
    const base::Bytes bytes = view.bytes.first(view.layer.offset + view.layer.length);
    const Tree tree{bytes, 0, visitor};
    const RpcContext context = RpcContext::from_variant(view.layer.variant);
    wire::RpcBody body{Program, context.version, context.procedure, context.is_call, 0, 0, 0};
    if (Program == wire::RpcProgram::nfs && context.version == 1) body.program = wire::RpcProgram::nfs_callback;
    add_reductions(view, body);
    NfsDescriber describer(tree, nfs_fields);
    wire::read_rpc_body(body, bytes, view.layer.offset, &describer);
}

/// Is not part of a frame's way through the layers: what is here depends on an earlier message.
template <LayerId Id>
LayerId parse_program(Context& context) {
    context.take(Id, context.available());
    return LayerId::none;
}

}  // namespace

constinit const LayerRow rpc_layer{"rpc", &protocol::rpc, {}, parse_rpc_header, describe_rpc, {}, rpc_fields};
constinit const LayerRow nfs_layer{
    "nfs", &protocol::nfs, {}, parse_program<LayerId::nfs>, describe_program<wire::RpcProgram::nfs>, {}, nfs_fields};
constinit const LayerRow nfs_acl_layer{
    "nfsacl", &protocol::nfs_acl, {}, parse_program<LayerId::nfs_acl>, describe_program<wire::RpcProgram::nfs_acl>,
    {},       nfs_fields};
constinit const LayerRow mount_layer{
    "mount", &protocol::mount, {}, parse_program<LayerId::mount>, describe_program<wire::RpcProgram::mount>,
    {},      nfs_fields};
constinit const LayerRow nlm_layer{
    "nlm", &protocol::nlm, {}, parse_program<LayerId::nlm>, describe_program<wire::RpcProgram::lock>, {}, nfs_fields};

}  // namespace dissect::layers
