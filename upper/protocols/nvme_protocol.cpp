#include "upper/protocols/nvme_protocol.h"

#include <algorithm>
#include <utility>

#include "dissect/upper_message.h"
#include "wire/nvme.h"

namespace upper::protocols {

namespace {

using wire::NvmeFabricsType;
using wire::NvmeQueueType;

constexpr std::uint16_t nvme_ports[] = {4420, 8009};

/// Said::detail: opcode, type of a fabrics command, offset of a property, its length.
struct Detail {
    std::uint8_t opcode = 0;
    std::uint8_t fabrics_type = 0;
    std::uint8_t property = 0;
    bool is_long = false;

    constexpr std::uint32_t packed() const {
        return std::uint32_t{opcode} | std::uint32_t{fabrics_type} << 8 | std::uint32_t{property} << 16 |
               std::uint32_t{is_long} << 24;
    }
    static constexpr Detail unpacked(std::uint32_t word) {
        return {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
                static_cast<std::uint8_t>(word >> 16), (word >> 24 & 1) != 0};
    }
    constexpr bool is(NvmeFabricsType type) const {
        return opcode == wire::nvme_fabrics_opcode && fabrics_type == static_cast<std::uint8_t>(type);
    }
};

NvmeQueueType queue_type(const ConnectionFacts& facts) { return static_cast<NvmeQueueType>(facts.queue_type); }

void set_queue(ConnectionFacts& facts, std::uint16_t queue) {
    facts.queue = queue;
    facts.queue_type = static_cast<std::uint8_t>(queue == 0 ? NvmeQueueType::admin : NvmeQueueType::io);
}

/// Private data of other protocols have another record format, other sizes, or values in the reserved bytes.
bool read_private_data(base::Bytes data, ConnectionFacts& facts) {
    if (data.size() < wire::nvme_rdma_request_bytes) return false;
    const wire::NvmeRdmaRequest request = wire::parse_nvme_rdma_request(data.data());
    const base::Bytes reserved = data.subspan(10, wire::nvme_rdma_request_bytes - 10);
    const bool is_zero =
        std::all_of(reserved.begin(), reserved.end(), [](std::byte octet) { return octet == std::byte{0}; });
    const bool sizes = request.receive_queue_size != 0 && request.send_queue_size != 0 &&
                       request.send_queue_size <= request.receive_queue_size;
    if (request.record_format != 0 || !sizes || !is_zero) return false;
    set_queue(facts, request.queue);
    facts.limit = request.send_queue_size;
    return true;
}

Shape shape(base::Bytes head, std::uint64_t length) {
    if (length == wire::nvme_completion_bytes && head.size() >= 14) return Shape::response;
    if (length < wire::nvme_command_bytes) return Shape::none;
    return wire::looks_like_nvme_command(head.data(), head.size()) ? Shape::request : Shape::none;
}

/// Reads from commands what they show about their queue, if the capture has neither set-up nor Connect.
void guess_queue(const wire::NvmeCommand& command, ConnectionFacts& facts) {
    switch (command.opcode) {
        case 0x06:  // Identify
        case 0x0a:  // Get Features
        case 0x0c:  // Async Event Request
        case 0x18:  // Keep Alive
            facts.queue_type = static_cast<std::uint8_t>(NvmeQueueType::admin);
            return;
        case 0x01:    // Write
        case 0x02: {  // Read
            const bool names_one = command.name_space && *command.name_space != 0 && *command.name_space != 0xffffffff;
            const bool agrees = command.sgl && command.block_count && command.sgl->length >= 512 &&
                                command.sgl->length % *command.block_count == 0;
            if (names_one && agrees) facts.queue_type = static_cast<std::uint8_t>(NvmeQueueType::io);
            return;
        }
        default: return;
    }
}

void add_grant(Said& said, const wire::NvmeSgl& sgl, bool out) {
    if (sgl.length == 0 || said.grant_count == Said::max_grants) return;
    said.grants[said.grant_count++] = {sgl.key, sgl.address, sgl.length, out};
}

/// Reads the descriptors in the capsule after the entry. NVMe over Fabrics 1.1, 2.3.
void read_descriptors(base::Bytes head, const wire::NvmeSgl& segment, bool out, Said& said) {
    const std::uint64_t first = wire::nvme_command_bytes + std::min<std::uint64_t>(segment.address, head.size());
    const std::uint64_t count = segment.length / wire::nvme_sgl_bytes;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t at = first + i * wire::nvme_sgl_bytes;
        if (at + wire::nvme_sgl_bytes > head.size()) {
            said.grants_cut = true;
            return;
        }
        const wire::NvmeSgl sgl = wire::parse_nvme_sgl(head.data() + at);
        sum += sgl.length;
        if (sgl.type == wire::NvmeSgl::keyed_data_block) add_grant(said, sgl, out);
    }
    said.bytes = sum;
}

void read_data_pointer(base::Bytes head, std::uint64_t length, const wire::NvmeCommand& command, Said& said) {
    said.inline_bytes = length > wire::nvme_command_bytes ? length - wire::nvme_command_bytes : 0;
    if (!command.sgl) {
        said.grants_cut = said.inline_bytes == 0;
        if (said.inline_bytes != 0) said.bytes = said.inline_bytes;
        return;
    }
    // The low bits are the direction of the data. NVMe Base 2.0, figure 86. A fabrics command has the direction in the
    // low bits of its type.
    const std::uint8_t direction = command.fabrics_type.value_or(command.opcode) & 3;
    const bool out = direction == 1;
    switch (command.sgl->type) {
        case wire::NvmeSgl::keyed_data_block:
            said.bytes = command.sgl->length;
            add_grant(said, *command.sgl, out);
            break;
        case wire::NvmeSgl::last_segment:
            said.inline_bytes = 0;
            read_descriptors(head, *command.sgl, out, said);
            break;
        default: said.bytes = command.sgl->length;
    }
}

void parse_connect(base::Bytes head, ConnectionFacts& facts, Said& said) {
    said.wants_data = true;
    if (head.size() >= 44) set_queue(facts, wire::load_le16(head.data() + 42));
    if (head.size() >= 46) facts.limit = wire::load_le16(head.data() + 44);
}

void parse_request(base::Bytes head, std::uint64_t length, ConnectionFacts& facts, Said& said) {
    if (head.size() < wire::nvme_command_id_end || length < wire::nvme_command_bytes) return;
    const wire::NvmeCommand command = wire::parse_nvme_command(head.data(), head.size());
    if (command.opcode == wire::nvme_fabrics_opcode && !command.fabrics_type) return;
    Detail detail{command.opcode, command.fabrics_type.value_or(0), 0, false};
    if (queue_type(facts) == NvmeQueueType::unknown) guess_queue(command, facts);
    const bool is_property = detail.is(NvmeFabricsType::property_get) || detail.is(NvmeFabricsType::property_set);
    if (is_property && head.size() >= 48) {
        detail.property = static_cast<std::uint8_t>(wire::load_le32(head.data() + 44) & 0x3f);
        detail.is_long = (base::load_u8(head.data() + 40) & 7) == 1;
    }
    if (detail.is(NvmeFabricsType::connect)) parse_connect(head, facts, said);
    const wire::NvmeCommandName name = wire::nvme_command_name(queue_type(facts), detail.opcode, detail.fabrics_type);
    said.type = Said::Type::request;
    said.id = command.id;
    said.kind = name.kind.empty() ? "other" : name.kind;
    said.kind_text = name.text.empty() ? "Command" : name.text;
    said.detail = detail.packed();
    if (queue_type(facts) == NvmeQueueType::admin) {
        said.housekeeping = command.opcode == 0x0c || command.opcode == 0x18;
        said.waits_for_event = command.opcode == 0x0c;
    }
    if (command.name_space && *command.name_space != 0) said.target = *command.name_space;
    said.first_block = command.first_block;
    said.block_count = command.block_count;
    if (queue_type(facts) == NvmeQueueType::admin) {
        said.first_block.reset();
        said.block_count.reset();
    }
    if (is_property)
        said.bytes = 0;  // the value is in the entry itself; the descriptor is reserved
    else
        read_data_pointer(head, length, command, said);
}

void parse_response(base::Bytes head, std::uint64_t length, ConnectionFacts& facts, Said& said) {
    if (length != wire::nvme_completion_bytes || head.size() < wire::nvme_completion_bytes) return;
    const wire::NvmeCompletion completion = wire::parse_nvme_completion(head.data());
    // The field is reserved for fabrics, but the target of Linux puts the queue here.
    if (!facts.queue && completion.queue_id != 0) set_queue(facts, completion.queue_id);
    said.type = Said::Type::response;
    said.id = completion.id;
    said.status = completion.status & 0x7ff;
    said.queue_head = completion.queue_head;
}

void parse(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts& facts, Said& said) {
    if (from_initiator)
        parse_request(head, length, facts, said);
    else
        parse_response(head, length, facts, said);
}

std::string name_at(base::Bytes data, std::uint32_t first) {
    if (data.size() < first + wire::nvme_name_bytes) return {};
    const std::string_view field(reinterpret_cast<const char*>(data.data()) + first, wire::nvme_name_bytes);
    return std::string(field.substr(0, field.find('\0')));
}

void read_data(std::uint32_t detail, base::Bytes data, ConnectionFacts& facts) {
    if (!Detail::unpacked(detail).is(NvmeFabricsType::connect)) return;
    if (std::string name = name_at(data, wire::nvme_subsystem_name_offset); !name.empty())
        facts.target_name = std::move(name);
    if (std::string name = name_at(data, wire::nvme_host_name_offset); !name.empty())
        facts.initiator_name = std::move(name);
}

ErrorClass generic_error(std::uint8_t code) {
    switch (code) {
        case 0x04:  // Data Transfer Error
        case 0x05:  // Aborted by Power Loss
        case 0x06:  // Internal Error
            return ErrorClass::device;
        case 0x07:  // Abort Requested
        case 0x08:  // Aborted by SQ Deletion
        case 0x09:
        case 0x0a:  // of fused commands
        case 0x1b:  // Aborted by Preempt and Abort
            return ErrorClass::aborted;
        case 0x15:  // Operation Denied
        case 0x20:  // Namespace is Write Protected
        case 0x83:  // Reservation Conflict
            return ErrorClass::denied;
        case 0x1d:  // Sanitize in Progress
        case 0x21:  // Command Interrupted
        case 0x82:  // Namespace Not Ready
        case 0x84:  // Format in Progress
            return ErrorClass::busy;
        case 0x22:  // Transient Transport Error
            return ErrorClass::path;
        default: return ErrorClass::protocol;
    }
}

ErrorClass error_class(bool connect, std::uint8_t type, std::uint8_t code) {
    switch (type) {
        case 0: return code == 0 ? ErrorClass::none : generic_error(code);
        case 1:
            if (connect && code == 0x81) return ErrorClass::busy;
            if (connect && (code == 0x84 || code == 0x91)) return ErrorClass::denied;
            return code == 0x05 || code == 0x03 ? ErrorClass::busy : ErrorClass::protocol;
        case 2: return code == 0x86 ? ErrorClass::denied : ErrorClass::device;
        case 3: return code == 0x71 ? ErrorClass::aborted : ErrorClass::path;
        default: return ErrorClass::device;
    }
}

StatusMeaning status(std::uint32_t detail, std::uint32_t value) {
    const bool connect = Detail::unpacked(detail).is(NvmeFabricsType::connect);
    const auto type = static_cast<std::uint8_t>(value >> 8 & 7);
    const auto code = static_cast<std::uint8_t>(value);
    return {wire::nvme_status_name(type, code, connect), error_class(connect, type, code)};
}

/// Describes an entry: a command, or the completion of a command with this detail.
std::uint8_t variant(const ConnectionFacts& facts, std::uint32_t word) {
    using Answers = dissect::NvmeContext::Answers;
    const Detail detail = Detail::unpacked(word);
    dissect::NvmeContext context;
    context.queue = queue_type(facts);
    if (detail.opcode != wire::nvme_fabrics_opcode) return context.variant();
    context.answers = Answers::fabrics;
    if (detail.is(NvmeFabricsType::connect)) context.answers = Answers::connect;
    if (detail.is(NvmeFabricsType::property_set)) context.answers = Answers::property_set;
    if (detail.is(NvmeFabricsType::property_get)) {
        context.answers = Answers::property_get;
        context.property = detail.property;
        context.is_long_property = detail.is_long;
    }
    return context.variant();
}

}  // namespace

constinit const Protocol nvme{
    .name = "nvme",
    .heading = "NVMe",
    .id_word = "cid",
    .id_digits = 4,
    .target_word = "ns",
    .ports = nvme_ports,
    .read_private_data = read_private_data,
    .shape = shape,
    .parse = parse,
    .read_data = read_data,
    .status = status,
    .request_layer = dissect::LayerId::nvme_command,
    .response_layer = dissect::LayerId::nvme_completion,
    .data_layer = dissect::LayerId::nvme_connect_data,
    .private_data_layers = {dissect::LayerId::nvme_rdma_request, dissect::LayerId::nvme_rdma_reply,
                            dissect::LayerId::nvme_rdma_reject},
    .variant = variant,
};

}  // namespace upper::protocols
