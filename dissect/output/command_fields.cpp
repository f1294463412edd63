#include "dissect/output/command_fields.h"

namespace dissect::output {

using wire::FieldInfo;
using wire::Kind;
using wire::Value;

namespace {

constexpr FieldInfo frame_number(std::string_view name, std::string_view label) {
    return {name, label, 0, 0, Kind::uint64};
}
constexpr FieldInfo words(std::string_view name, std::string_view label) { return {name, label, 0, 0, Kind::string}; }
constexpr FieldInfo duration(std::string_view name, std::string_view label) { return {name, label, 0, 0, Kind::time}; }

bool take(Value& value, std::uint64_t number) {
    value.number = number;
    return true;
}
bool take_known(Value& value, std::uint64_t number) { return take(value, number) && number != 0; }
template <class Number>
bool take_known(Value& value, const std::optional<Number>& number) {
    return number && take(value, *number);
}
bool take_words(Value& value, std::string_view text) {
    value.text = text;
    return !text.empty();
}
template <std::size_t Part>
bool take_part(const UpperMessage& message, Value& value) {
    return message.facts.parts && take(value, message.facts.parts->ns[Part]);
}
bool is_rpc_reply(const UpperMessage& m) {
    return m.dissection.has(LayerId::rpcordma) && m.facts.role == CommandRole::response && m.facts.parts;
}
bool is_scsi_response(const UpperMessage& m) {
    return m.dissection.has(LayerId::scsi_status) && m.facts.role == CommandRole::response && m.facts.parts;
}
bool is_smb_response(const UpperMessage& m) {
    return m.facts.protocol == "smb" && m.facts.role == CommandRole::response && m.facts.parts;
}
bool answers_fabrics(const UpperMessage& message) {
    const LayerRef* layer = message.dissection.find(LayerId::nvme_completion);
    return layer != nullptr && NvmeContext::from_variant(layer->variant).is_fabrics();
}

constexpr ReadField<UpperMessage> connection_table[] = {
    {words("rdma.ulp", "Upper layer"), [](const UpperMessage& m, Value& v) { return take_words(v, m.facts.protocol); }},
    {words("rdma.ulp.by", "Recognized by"),
     [](const UpperMessage& m, Value& v) { return take_words(v, m.facts.evidence); }},
    {{"nvme-rdma.cmd.qid", "Cmd Qid", 0, 0, Kind::uint16, wire::Base::hex},
     [](const UpperMessage& m, Value& v) { return take_known(v, m.facts.queue); }},
    {frame_number("nvme.cmd_pkt", "Cmd in"),
     [](const UpperMessage& m, Value& v) {
         return m.dissection.has(LayerId::nvme_completion) && !answers_fabrics(m) &&
                take_known(v, m.facts.request_frame);
     }},
    {frame_number("rpc.repframe", "This is a reply to a request in frame"),
     [](const UpperMessage& m, Value& v) { return is_rpc_reply(m) && take_known(v, m.facts.request_frame); }},
    {duration("rpc.time", "Time from request"),
     [](const UpperMessage& m, Value& v) { return is_rpc_reply(m) && take(v, m.facts.parts->latency_ns()); }},
    {frame_number("iscsi.request_frame", "Request in"),
     [](const UpperMessage& m, Value& v) {
         return m.dissection.has(LayerId::iscsi) && is_scsi_response(m) && take_known(v, m.facts.request_frame);
     }},
    {duration("iscsi.time", "Time from request"),
     [](const UpperMessage& m, Value& v) {
         return m.dissection.has(LayerId::iscsi) && is_scsi_response(m) && take(v, m.facts.parts->latency_ns());
     }},
    {frame_number("scsi.request_frame", "Request in"),
     [](const UpperMessage& m, Value& v) { return is_scsi_response(m) && take_known(v, m.facts.request_frame); }},
    {duration("scsi.time", "Time from request"),
     [](const UpperMessage& m, Value& v) { return is_scsi_response(m) && take(v, m.facts.parts->latency_ns()); }},
    {frame_number("nvme.fabrics.cmd_pkt", "Fabric Cmd in"),
     [](const UpperMessage& m, Value& v) { return answers_fabrics(m) && take_known(v, m.facts.request_frame); }},
    {frame_number("smb2.response_to", "Response to"),
     [](const UpperMessage& m, Value& v) { return is_smb_response(m) && take_known(v, m.facts.request_frame); }},
    {duration("smb2.time", "Time from request"),
     [](const UpperMessage& m, Value& v) { return is_smb_response(m) && take(v, m.facts.parts->latency_ns()); }},
};

constexpr ReadField<UpperMessage> command_table[] = {
    {words("rdma.io.role", "Role"),
     [](const UpperMessage& m, Value& v) { return take_words(v, name_of(m.facts.role)); }},
    {words("rdma.io.id", "Identifier"), [](const UpperMessage& m, Value& v) { return take_words(v, m.facts.id); }},
    {words("rdma.io.kind", "Kind"), [](const UpperMessage& m, Value& v) { return take_words(v, m.facts.kind); }},
    {words("rdma.io.target", "Target"), [](const UpperMessage& m, Value& v) { return take_words(v, m.facts.target); }},
    {{"rdma.io.bytes", "Bytes", 0, 0, Kind::uint64},
     [](const UpperMessage& m, Value& v) { return take_known(v, m.facts.bytes); }},
    {frame_number("rdma.io.request_in", "Request in frame"),
     [](const UpperMessage& m, Value& v) {
         return m.facts.role != CommandRole::request && take_known(v, m.facts.request_frame);
     }},
    {frame_number("rdma.io.data_in_first", "Data begins in frame"),
     [](const UpperMessage& m, Value& v) { return take_known(v, m.facts.data_first_frame); }},
    {frame_number("rdma.io.response_in", "Response in frame"),
     [](const UpperMessage& m, Value& v) {
         return m.facts.role != CommandRole::response && take_known(v, m.facts.response_frame);
     }},
    {words("rdma.io.status", "Status"), [](const UpperMessage& m, Value& v) { return take_words(v, m.facts.status); }},
    {words("rdma.io.error", "Class of error"),
     [](const UpperMessage& m, Value& v) { return take_words(v, m.facts.error); }},
    {duration("rdma.io.latency", "Latency"),
     [](const UpperMessage& m, Value& v) { return m.facts.parts && take(v, m.facts.parts->latency_ns()); }},
    {duration("rdma.io.request", "Request"), take_part<CommandParts::request>},
    {duration("rdma.io.target_before", "Target, before the data"), take_part<CommandParts::target_before>},
    {duration("rdma.io.data", "Data"), take_part<CommandParts::data>},
    {duration("rdma.io.target_after", "Target, after the data"), take_part<CommandParts::target_after>},
    {duration("rdma.io.response", "Response"), take_part<CommandParts::response>},
    {duration("rdma.io.request_ack", "Of it: acknowledgement of the request"),
     [](const UpperMessage& m, Value& v) { return m.facts.parts && take_known(v, m.facts.request_ack_ns); }},
    {duration("rdma.io.repair_own", "Of it: repair of its own packets"),
     [](const UpperMessage& m, Value& v) { return m.facts.parts && take(v, m.facts.repair_own_ns); }},
    {duration("rdma.io.repair_behind", "Of it: waiting for the repair of others"),
     [](const UpperMessage& m, Value& v) { return m.facts.parts && take(v, m.facts.repair_behind_ns); }},
    {{"rdma.io.open", "Open with it", 0, 0, Kind::uint32},
     [](const UpperMessage& m, Value& v) { return take_known(v, std::uint64_t{m.facts.open}); }},
    {{"rdma.io.limit", "Open at most", 0, 0, Kind::uint32},
     [](const UpperMessage& m, Value& v) { return take_known(v, m.facts.limit); }},
};

void visit_fields(std::span<const ReadField<UpperMessage>> table, const UpperMessage& message, Visitor& visitor) {
    for (const auto& row : table) {
        Value value;
        if (row.read(message, value)) visitor.field(row.info, value, {});
    }
}

}  // namespace

constinit const FieldInfo command_heading{"rdma.io", "RDMA command", 0, 0, Kind::uint64};

std::span<const ReadField<UpperMessage>> connection_fields() { return connection_table; }
std::span<const ReadField<UpperMessage>> command_fields() { return command_table; }

void describe_command(const UpperMessage& message, Visitor& visitor) {
    visitor.open(unit_heading, {}, {});
    visit_fields(connection_table, message, visitor);
    if (message.facts.number != 0) {
        visitor.open(command_heading, {message.facts.number, {}, {}}, {});
        visit_fields(command_table, message, visitor);
        visitor.close();
    }
    visitor.close();
}

}  // namespace dissect::output
