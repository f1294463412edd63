#include "upper/protocols/rpc_protocol.h"

#include <algorithm>

#include "dissect/upper_message.h"
#include "wire/nfs.h"
#include "wire/rpc.h"
#include "wire/rpc_rdma.h"

namespace upper::protocols {

namespace {

using wire::RpcProgram;
using wire::RpcRdmaHeader;
using wire::RpcRdmaType;

/// The ports of NFS over RDMA, of NFS over TCP, and of Gluster's daemon and its first bricks.
constexpr std::uint16_t rpc_ports[] = {20049, 2049, 24007, 24008};

constexpr std::uint32_t most_credits = 4096;

/// Said::detail: the called procedure.
struct CalledProcedure {
    RpcProgram program = RpcProgram::other;
    std::uint32_t version = 0;
    std::uint32_t procedure = 0;
    std::uint32_t gss_service = 0;
    bool known = false;

    constexpr std::uint32_t packed() const {
        return static_cast<std::uint32_t>(program) | (version & 0xff) << 4 | (procedure & 0xff) << 12 |
               (gss_service & 3) << 20 | std::uint32_t{known} << 22;
    }
    static constexpr CalledProcedure unpacked(std::uint32_t word) {
        return {static_cast<RpcProgram>(word & 15), word >> 4 & 0xff, word >> 12 & 0xff, word >> 20 & 3,
                (word >> 22 & 1) != 0};
    }
};

/// Said::status: the kind of a status number.
enum class StatusOf : std::uint8_t { program, accept, reject, authentication, transport };
constexpr unsigned status_shift = 24;
constexpr std::uint32_t status_word(StatusOf of, std::uint32_t number) {
    return static_cast<std::uint32_t>(of) << status_shift | (number & 0xffffff);
}

bool rpc_read_private_data(base::Bytes data, ConnectionFacts& facts) {
    static_cast<void>(facts);
    if (data.size() < wire::rpc_rdma_private_bytes) return false;
    const wire::RpcRdmaPrivate said = wire::parse_rpc_rdma_private(data.data());
    return said.magic == wire::rpc_rdma_private_magic && said.version == 1;
}

bool has_own_form(base::Bytes head) {
    if (head.size() < wire::rpc_rdma_fixed_bytes) return false;
    const std::uint32_t credits = base::load_be32(head.data() + 8);
    return base::load_be32(head.data() + 4) == wire::rpc_rdma_version && credits >= 1 && credits <= most_credits &&
           base::load_be32(head.data() + 12) <= static_cast<std::uint32_t>(RpcRdmaType::error);
}

/// A message that is moved by RDMA does not show its kind. The receiver of a call reads it; the sender of a reply
/// writes it.
Shape shape_of_moved(const RpcRdmaHeader& header) {
    if (!header.lists_end) return header.reads != 0 ? Shape::request : Shape::none;
    if (header.has_call_chunk) return Shape::request;
    return header.replies != 0 ? Shape::response : Shape::none;
}

Shape rpc_shape(base::Bytes head, std::uint64_t length) {
    constexpr std::uint64_t least = 28;
    if (length < least || !has_own_form(head)) return Shape::none;
    const RpcRdmaHeader header = wire::parse_rpc_rdma(head, nullptr);
    if (header.type == RpcRdmaType::no_message) return shape_of_moved(header);
    if (!header.carries_message()) return header.reads != 0 ? Shape::request : Shape::none;
    const base::Bytes message = head.subspan(header.message_at);
    const wire::RpcHeader rpc = wire::parse_rpc(message);
    constexpr std::uint32_t rpc_version = 2;
    if (!rpc.has_type || rpc.xid != header.xid) return Shape::none;
    if (!rpc.is_call) return Shape::response;
    return !rpc.has_program || rpc.rpc_version == rpc_version ? Shape::request : Shape::none;
}

/// Lists the ranges that a header grants.
class GrantCollector final : public wire::RpcRdmaVisitor {
public:
    explicit GrantCollector(Said& said) : said_(said) {}
    void chunk(wire::RpcRdmaSegment::List, std::uint32_t, std::uint32_t) override {}
    void list(wire::RpcRdmaSegment::List, std::uint32_t, std::uint32_t) override {}
    void segment(const wire::RpcRdmaSegment& segment) override {
        using List = wire::RpcRdmaSegment::List;
        if (segment.length == 0) return;
        if (said_.grant_count == Said::max_grants) {
            said_.grants_cut = true;
            return;
        }
        Grant grant{segment.key, segment.address, segment.length, segment.list == List::read};
        const bool is_call = segment.list == List::read && segment.position == 0 && !call_begun_;
        const bool is_reply = segment.list == List::reply && segment.index == 0;
        call_begun_ = call_begun_ || is_call;
        grant.holds_message = is_call || is_reply;
        said_.grants[said_.grant_count++] = grant;
    }

private:
    Said& said_;
    bool call_begun_ = false;
};

/// Describes the bytes after the RPC header.
wire::RpcBody body_of(const CalledProcedure& called, bool is_call) {
    return {called.program, called.version, called.procedure, is_call, 0, 0, 0};
}

void name_call(const CalledProcedure& called, const wire::NfsSummary& summary, Said& said) {
    wire::RpcName name{0, {}, {}};
    if (called.known) name = wire::rpc_procedure_name(called.program, called.version, called.procedure);
    if (summary.operation) {
        const wire::RpcName operation = called.program == RpcProgram::nfs_callback
                                            ? wire::nfs4_callback_name(*summary.operation)
                                            : wire::nfs4_operation_name(*summary.operation);
        if (!operation.text.empty()) name = operation;
    }
    said.kind = name.kind.empty() ? "other" : name.kind;
    said.kind_text = name.text.empty() ? "Call" : name.text;
    constexpr std::uint32_t sequence = 53;
    const bool renews = summary.operation == sequence && summary.operations == 1;
    said.housekeeping = renews || (called.known && called.procedure == 0);
}

/// Reads a call, from a SEND or from memory.
void take_call(base::Bytes bytes, std::uint32_t message_at, std::uint32_t reduced, std::uint32_t reduced_position,
               ConnectionFacts& facts, Said& said) {
    const base::Bytes message = bytes.subspan(message_at);
    const wire::RpcHeader rpc = wire::parse_rpc(message);
    CalledProcedure called;
    if (rpc.has_program) {
        called.program = wire::rpc_program(rpc.program);
        called.version = rpc.version;
    }
    if (rpc.has_procedure) {
        called.procedure = rpc.procedure;
        called.gss_service = rpc.gss_service;
        called.known = true;
    }
    wire::NfsSummary summary;
    std::uint32_t at = message_at + rpc.body_at;
    if (rpc.has_body && wire::find_gss_body(called.gss_service, bytes, at)) {
        wire::RpcBody body = body_of(called, true);
        body.reduced_items = reduced;
        body.reduced_position = reduced_position;
        body.stream_at = message_at;
        summary = wire::read_rpc_body(body, bytes, at, nullptr);
    }
    said.detail = called.packed();
    name_call(called, summary, said);
    said.target = summary.handle;
    said.first_block = summary.offset;
    said.bytes = summary.count;
    said.counts_moved = !summary.count;
    said.inline_bytes = summary.inline_bytes;
    if (!summary.path.empty()) facts.target_name = summary.path;
}

void take_reply(base::Bytes bytes, std::uint32_t message_at, std::uint32_t reduced, std::uint32_t detail,
                ConnectionFacts& facts, Said& said) {
    const wire::RpcHeader rpc = wire::parse_rpc(bytes.subspan(message_at));
    if (rpc.denied) {
        said.status = rpc.auth_state != 0 ? status_word(StatusOf::authentication, rpc.auth_state)
                                          : status_word(StatusOf::reject, rpc.reject_state + 1);
        return;
    }
    if (rpc.accept_state != 0) {
        said.status = status_word(StatusOf::accept, rpc.accept_state);
        return;
    }
    const CalledProcedure called = CalledProcedure::unpacked(detail);
    std::uint32_t at = message_at + rpc.body_at;
    if (!rpc.has_body || !called.known || !wire::find_gss_body(called.gss_service, bytes, at)) return;
    wire::RpcBody body = body_of(called, false);
    body.reduced_items = reduced;
    body.stream_at = message_at;
    const wire::NfsSummary summary = wire::read_rpc_body(body, bytes, at, nullptr);
    said.status = status_word(StatusOf::program, summary.status.value_or(0));
    said.inline_bytes = summary.inline_bytes;
    if (summary.target_high_slot) facts.slots = *summary.target_high_slot + 1;
    if (!summary.server.empty()) facts.target_name = summary.server;
}

/// A reply does not name its procedure, so its content is read when the call is known.
void rpc_parse_response(base::Bytes head, const RpcRdmaHeader& header, ConnectionFacts& facts, Said& said) {
    said.type = Said::Type::response;
    said.id = header.xid;
    if (!said.is_reverse) {
        facts.limit = header.credits;
        if (facts.slots) facts.limit = std::min(*facts.limit, *facts.slots);
    }
    if (header.type == RpcRdmaType::error) said.status = status_word(StatusOf::transport, header.error);
    if (header.type == RpcRdmaType::no_message) said.status_in_data = true;
    static_cast<void>(head);
}

void rpc_parse_request(base::Bytes head, const RpcRdmaHeader& header, ConnectionFacts& facts, Said& said) {
    said.type = Said::Type::request;
    said.id = header.xid;
    if (!said.is_reverse) facts.limit_asked = header.credits;
    GrantCollector grants(said);
    wire::parse_rpc_rdma(head, &grants);
    said.grants_cut = said.grants_cut || !header.lists_end;
    if (header.carries_message()) {
        const std::uint32_t position = header.read_items == 1 ? header.read_position : 0;
        return take_call(head, header.message_at, header.read_items, position, facts, said);
    }
    said.kind = "other";
    said.kind_text = "Call";
    said.counts_moved = true;
}

void rpc_parse(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts& facts, Said& said) {
    if (length < wire::rpc_rdma_fixed_bytes || !has_own_form(head)) return;
    const RpcRdmaHeader header = wire::parse_rpc_rdma(head, nullptr);
    if (header.type == RpcRdmaType::done) {
        said.type = Said::Type::other;
        return;
    }
    bool asks = from_initiator;
    if (header.type == RpcRdmaType::error) {
        asks = false;
    } else {
        const Shape known = rpc_shape(head, length);
        // If the capture does not show it, the side decides.
        if (known != Shape::none) asks = known == Shape::request;
        if (known == Shape::none && header.carries_message() && head.size() >= header.message_at + 8) return;
    }
    said.is_reverse = asks != from_initiator;
    if (asks)
        rpc_parse_request(head, header, facts, said);
    else
        rpc_parse_response(head, header, facts, said);
}

void rpc_complete_response(base::Bytes head, std::uint32_t detail, ConnectionFacts& facts, Said& said) {
    const RpcRdmaHeader header = wire::parse_rpc_rdma(head, nullptr);
    if (header.carries_message()) take_reply(head, header.message_at, header.full_writes, detail, facts, said);
}

void rpc_read_message(base::Bytes data, bool out, std::uint32_t detail, ConnectionFacts& facts, Said& said) {
    const wire::RpcHeader rpc = wire::parse_rpc(data);
    if (!rpc.has_type || rpc.is_call != out) return;
    if (out) {
        said.type = Said::Type::request;
        take_call(data, 0, 0, 0, facts, said);
        return;
    }
    said.type = Said::Type::response;
    take_reply(data, 0, 0, detail, facts, said);
}

ErrorClass nfs_error(std::uint32_t status) {
    switch (status) {
        case 0:
        case 2:      // NOENT
        case 17:     // EXIST
        case 66:     // NOTEMPTY
        case 10009:  // SAME
        case 10027:  // NOT_SAME
        case 10095:  // NOXATTR
            return ErrorClass::none;
        case 5:      // IO
        case 6:      // NXIO
        case 28:     // NOSPC
        case 69:     // DQUOT
        case 10006:  // SERVERFAULT
            return ErrorClass::device;
        case 70:     // STALE
        case 10019:  // MOVED
        case 10013:  // GRACE
            return ErrorClass::path;
        case 10008:  // JUKEBOX, DELAY
        case 10012:  // LOCKED
        case 10018:  // RESOURCE
        case 10058:  // LAYOUTTRYLATER
            return ErrorClass::busy;
        case 1:      // PERM
        case 13:     // ACCES
        case 30:     // ROFS
        case 10010:  // DENIED
        case 10015:  // SHARE_DENIED
        case 10016:  // WRONGSEC
            return ErrorClass::denied;
        default: return ErrorClass::protocol;
    }
}

ErrorClass lock_error(std::uint32_t status) {
    switch (status) {
        case 0:
        case 3: return ErrorClass::none;  // granted, blocked: an answer follows
        case 4:
        case 7: return ErrorClass::path;    // grace period, stale handle
        case 2: return ErrorClass::device;  // no resources
        case 1:
        case 5:
        case 6: return ErrorClass::denied;
        default: return ErrorClass::protocol;
    }
}

StatusMeaning program_status(const CalledProcedure& called, std::uint32_t number) {
    if (called.procedure == 0) return {"success", ErrorClass::none};  // NULL, or an unknown procedure
    switch (called.program) {
        case RpcProgram::nfs:
            return {called.version == 4 ? wire::name_of(wire::nfs4_status_names, number)
                                        : wire::name_of(wire::nfs3_status_names, number),
                    nfs_error(number)};
        case RpcProgram::nfs_callback: return {wire::name_of(wire::nfs4_status_names, number), nfs_error(number)};
        case RpcProgram::nfs_acl: return {wire::name_of(wire::nfs3_status_names, number), nfs_error(number)};
        case RpcProgram::mount: return {wire::name_of(wire::mount_status_names, number), nfs_error(number)};
        case RpcProgram::lock: return {wire::name_of(wire::lock_status_names, number), lock_error(number)};
        default: return {number == 0 ? "success" : std::string_view{}, ErrorClass::none};
    }
}

StatusMeaning rpc_status(std::uint32_t detail, std::uint32_t value) {
    const std::uint32_t number = value & 0xffffff;
    switch (static_cast<StatusOf>(value >> status_shift)) {
        case StatusOf::program: return program_status(CalledProcedure::unpacked(detail), number);
        case StatusOf::accept: return {wire::name_of(wire::rpc_accept_states, number), ErrorClass::protocol};
        case StatusOf::reject: return {wire::name_of(wire::rpc_reject_states, number - 1), ErrorClass::protocol};
        case StatusOf::authentication: return {wire::name_of(wire::rpc_auth_states, number), ErrorClass::denied};
        case StatusOf::transport: return {wire::name_of(wire::rpc_rdma_errors, number), ErrorClass::protocol};
    }
    return {};
}

std::string_view rpc_heading_of(std::uint32_t detail) {
    const CalledProcedure called = CalledProcedure::unpacked(detail);
    return wire::rpc_heading(called.program, called.version);
}

dissect::LayerId rpc_layer_of(RpcProgram program) {
    switch (program) {
        case RpcProgram::nfs:
        case RpcProgram::nfs_callback: return dissect::LayerId::nfs;
        case RpcProgram::nfs_acl: return dissect::LayerId::nfs_acl;
        case RpcProgram::mount: return dissect::LayerId::mount;
        case RpcProgram::lock: return dissect::LayerId::nlm;
        default: return dissect::LayerId::none;
    }
}

/// Adds the layers of the program. The header of a reply does not name the program.
void rpc_add_layers(base::Bytes head, std::uint32_t detail, dissect::Dissection& out) {
    const dissect::LayerRef* rpc_layer = out.find(dissect::LayerId::rpc);
    const CalledProcedure called = CalledProcedure::unpacked(detail);
    if (rpc_layer == nullptr || !called.known || rpc_layer->offset > head.size()) return;
    const wire::RpcHeader rpc = wire::parse_rpc(head.subspan(rpc_layer->offset));
    const dissect::LayerId id = rpc_layer_of(called.program);
    std::uint32_t at = rpc_layer->offset + rpc.body_at;
    const bool is_known = rpc.has_body && id != dissect::LayerId::none && called.procedure < 32 &&
                          wire::find_gss_body(called.gss_service, head, at) &&
                          out.layer_count < dissect::Dissection::max_layers;
    if (!is_known) return;
    const auto size = static_cast<std::uint32_t>(head.size()) - at;
    dissect::RpcContext context{called.procedure, called.version, rpc.is_call};
    if (called.program == RpcProgram::nfs_callback) context.version = 0;
    out.layers[out.layer_count] = {id, context.variant(), out.layer_count, at, size, size};
    ++out.layer_count;
    out.present.insert(id);
}

}  // namespace

constinit const Protocol rpc{
    .name = "rpc",
    .heading = "RPC",
    .id_word = "xid",
    .id_digits = 8,
    .target_word = "fh",
    .target_digits = 8,
    .block_word = "offset",
    .ports = rpc_ports,
    .ids_outlive_connection = true,
    .read_private_data = rpc_read_private_data,
    .shape = rpc_shape,
    .parse = rpc_parse,
    .status = rpc_status,
    .complete_response = rpc_complete_response,
    .read_message = rpc_read_message,
    .heading_of = rpc_heading_of,
    .request_layer = dissect::LayerId::rpcordma,
    .response_layer = dissect::LayerId::rpcordma,
    .data_layer = dissect::LayerId::rpc,
    .private_data_layers = {dissect::LayerId::rpcordma_private, dissect::LayerId::rpcordma_private,
                            dissect::LayerId::rpcordma_private},
    .add_layers = rpc_add_layers,
};

}  // namespace upper::protocols
