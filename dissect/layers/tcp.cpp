#include "wire/tcp.h"

#include <array>

#include "dissect/layer_table.h"
#include "dissect/layers/crc_status.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;
using wire::Tcp;

/// Variant of a TCP layer whose length on the wire nothing tells.
constexpr std::uint8_t length_unknown = 1;

void summarise_tcp(Context& context, wire::View<Tcp> header) {
    TcpSummary& tcp = context.out.tcp;
    tcp.sequence = header.get<&Tcp::sequence>();
    tcp.acknowledgment = header.get<&Tcp::acknowledgment>();
    tcp.window = header.get<&Tcp::window>();
    tcp.flags = base::load_u8(header.data() + 13);
    tcp.stray_reset = false;
    tcp.payload_offset = context.offset;
    tcp.payload_captured = context.available();
    tcp.payload_length = context.end_unknown() ? tcp.payload_captured : context.remaining();
}

LayerId parse_tcp(Context& context) {
    const std::uint32_t start = context.offset;
    const std::byte* p = context.take(LayerId::tcp, octets_of<Tcp>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<Tcp>::unchecked(p);
    context.out.source_port = header.get<&Tcp::source_port>();
    context.out.destination_port = header.get<&Tcp::destination_port>();
    summarise_tcp(context, header);
    const std::uint32_t size = header.get<&Tcp::header_words>() * 4u;
    if (size < octets_of<Tcp>) [[unlikely]]
        return context.stop(Outcome::malformed, Reason::bad_header_length, LayerId::tcp, start + 12, octets_of<Tcp>);
    const std::uint32_t options = size - octets_of<Tcp>;
    LayerRef& layer = context.out.layers[context.out.layer_count - 1u];
    layer.wire_length = size;
    if (context.end_unknown()) [[unlikely]]
        layer.variant = length_unknown;
    if (context.available() < options) [[unlikely]] {
        layer.length += context.available();
        context.stop_short(LayerId::tcp, options);
        context.out.tcp.payload_length -= std::min(options, context.out.tcp.payload_length);
        context.out.tcp.payload_offset += context.available();
        context.out.tcp.payload_captured = 0;
        return LayerId::none;
    }
    layer.length = size;
    context.offset += options;
    context.out.tcp.payload_offset += options;
    context.out.tcp.payload_captured -= options;
    context.out.tcp.payload_length -= options;
    return context.stop_after(LayerId::tcp);
}

constexpr wire::FieldInfo tcp_computed[] = {
    hidden(floating("tcp.port", "Source or destination port", Kind::uint16)),
    floating("tcp.len", "Segment length", Kind::uint32),
    floating("tcp.hdr_len", "Header length", Kind::uint8),
    {"tcp.flags", "Flags", 100, 12, Kind::uint16, Base::hex},
    floating("tcp.flags.str", "Flags", Kind::string),
    crc_status_field("tcp.checksum.status", "Checksum status"),
    floating("tcp.payload", "Payload", Kind::bytes),
    floating("tcp.options", "Options", Kind::bytes),
    floating("tcp.option_kind", "Kind", Kind::uint8, Base::dec, wire::tcp_options),
    floating("tcp.option_len", "Length", Kind::uint8),
    floating("tcp.options.eol", "End of options", Kind::bytes),
    floating("tcp.options.nop", "No operation", Kind::bytes),
    floating("tcp.options.mss", "Maximum segment size", Kind::bytes),
    floating("tcp.options.mss_val", "MSS", Kind::uint16),
    floating("tcp.options.wscale", "Window scale", Kind::bytes),
    floating("tcp.options.wscale.shift", "Shift count", Kind::uint8),
    floating("tcp.options.wscale.multiplier", "Multiplier", Kind::uint16),
    floating("tcp.options.sack_perm", "SACK permitted", Kind::bytes),
    floating("tcp.options.sack", "SACK", Kind::bytes),
    floating("rdma.tcp.sack_le_raw", "Left edge (raw)", Kind::uint32),
    floating("rdma.tcp.sack_re_raw", "Right edge (raw)", Kind::uint32),
    floating("tcp.options.sack.count", "Blocks", Kind::uint8),
    floating("tcp.options.timestamp", "Timestamps", Kind::bytes),
    floating("tcp.options.timestamp.tsval", "Timestamp", Kind::uint32),
    floating("tcp.options.timestamp.tsecr", "Timestamp echo reply", Kind::uint32),
    floating("tcp.options.user_to", "User timeout", Kind::bytes),
    floating("tcp.options.user_to_granularity", "Granularity", Kind::boolean),
    floating("tcp.options.user_to_val", "User timeout", Kind::uint16),
    floating("tcp.options.experimental", "Experimental", Kind::bytes),
    floating("tcp.options.experimental.exid", "Experiment identifier", Kind::uint16, Base::hex),
    floating("tcp.options.experimental.data", "Data", Kind::bytes),
    floating("tcp.options.unknown", "Unknown", Kind::bytes),
    floating("tcp.options.unknown.payload", "Payload", Kind::bytes),
};

const wire::FieldInfo& tcp_option_heading(std::uint8_t kind) {
    switch (kind) {
        case wire::tcp_option::end: return pick(tcp_computed, "tcp.options.eol");
        case wire::tcp_option::no_operation: return pick(tcp_computed, "tcp.options.nop");
        case wire::tcp_option::mss: return pick(tcp_computed, "tcp.options.mss");
        case wire::tcp_option::window_scale: return pick(tcp_computed, "tcp.options.wscale");
        case wire::tcp_option::sack_permitted: return pick(tcp_computed, "tcp.options.sack_perm");
        case wire::tcp_option::sack: return pick(tcp_computed, "tcp.options.sack");
        case wire::tcp_option::timestamp: return pick(tcp_computed, "tcp.options.timestamp");
        case wire::tcp_option::user_timeout: return pick(tcp_computed, "tcp.options.user_to");
        case wire::tcp_option::experimental1:
        case wire::tcp_option::experimental2: return pick(tcp_computed, "tcp.options.experimental");
        default: return pick(tcp_computed, "tcp.options.unknown");
    }
}

void describe_sack(const Tree& option) {
    for (std::uint32_t at = 2; at + 8 <= option.size(); at += 8) {
        option.number(pick(tcp_computed, "rdma.tcp.sack_le_raw"), base::load_be32(option.at(at)), at, 4);
        option.number(pick(tcp_computed, "rdma.tcp.sack_re_raw"), base::load_be32(option.at(at + 4)), at + 4, 4);
    }
    option.number(pick(tcp_computed, "tcp.options.sack.count"), (option.size() - 2) / 8, 1, 1);
}

void describe_window_scale(const Tree& option) {
    const std::uint8_t shift = base::load_u8(option.at(2));
    option.number(pick(tcp_computed, "tcp.options.wscale.shift"), shift, 2, 1);
    option.number(pick(tcp_computed, "tcp.options.wscale.multiplier"),
                  std::uint64_t{1} << std::min<unsigned>(shift, 14), 2, 1);
}

/// The value of an option that has its specified length.
void describe_tcp_option(const Tree& option, std::uint8_t kind) {
    const std::uint32_t size = option.size();
    if (kind == wire::tcp_option::mss && size == 4) {
        option.number(pick(tcp_computed, "tcp.options.mss_val"), base::load_be16(option.at(2)), 2, 2);
    } else if (kind == wire::tcp_option::window_scale && size == 3) {
        describe_window_scale(option);
    } else if (kind == wire::tcp_option::sack) {
        describe_sack(option);
    } else if (kind == wire::tcp_option::timestamp && size == 10) {
        option.number(pick(tcp_computed, "tcp.options.timestamp.tsval"), base::load_be32(option.at(2)), 2, 4);
        option.number(pick(tcp_computed, "tcp.options.timestamp.tsecr"), base::load_be32(option.at(6)), 6, 4);
    } else if (kind == wire::tcp_option::user_timeout && size == 4) {
        const std::uint16_t value = base::load_be16(option.at(2));
        option.number(pick(tcp_computed, "tcp.options.user_to_granularity"), value >> 15, 2, 2);
        option.number(pick(tcp_computed, "tcp.options.user_to_val"), value & 0x7fffu, 2, 2);
    } else if ((kind == wire::tcp_option::experimental1 || kind == wire::tcp_option::experimental2) && size >= 4) {
        option.number(pick(tcp_computed, "tcp.options.experimental.exid"), base::load_be16(option.at(2)), 2, 2);
        if (size > 4) option.octets(pick(tcp_computed, "tcp.options.experimental.data"), 4, size - 4);
    } else if (&tcp_option_heading(kind) == &pick(tcp_computed, "tcp.options.unknown") && size > 2) {
        option.octets(pick(tcp_computed, "tcp.options.unknown.payload"), 2, size - 2);
    }
}

void describe_tcp_options(const Tree& options) {
    if (options.size() == 0) return;
    options.open(pick(tcp_computed, "tcp.options"), 0, options.size());
    for (std::uint32_t at = 0; at < options.size();) {
        const std::uint8_t kind = base::load_u8(options.at(at));
        const bool has_length = kind > wire::tcp_option::no_operation;
        if (has_length && at + 2 > options.size()) break;
        const std::uint32_t length = has_length ? base::load_u8(options.at(at + 1)) : 1;
        if (has_length && length < 2) break;
        const Tree option = options.part(at, length);
        option.open(tcp_option_heading(kind), 0, option.size());
        option.number(pick(tcp_computed, "tcp.option_kind"), kind, 0, 1);
        if (has_length) option.number(pick(tcp_computed, "tcp.option_len"), length, 1, 1);
        if (has_length && option.size() == length) describe_tcp_option(option, kind);
        option.close();
        at += length;
    }
    options.close();
}

/// Twelve places, a letter where the flag is set, a middle dot (two bytes of UTF-8) where it is not.
std::string_view flags_text(std::uint16_t flags, std::array<char, 24>& buffer) {
    constexpr std::string_view letters = "RRRACEUAPRSF";
    std::size_t size = 0;
    for (unsigned i = 0; i < letters.size(); ++i) {
        if ((flags >> (11 - i) & 1) != 0) {
            buffer[size++] = letters[i];
        } else {
            buffer[size++] = '\xc2';
            buffer[size++] = '\xb7';
        }
    }
    return {buffer.data(), size};
}

void describe_flags(const Tree& tree) {
    std::array<char, 24> buffer{};
    tree.open(pick(tcp_computed, "tcp.flags"));
    tree.fields<&Tcp::reserved_flags, &Tcp::accurate_ecn, &Tcp::cwr, &Tcp::ece, &Tcp::urg, &Tcp::ack, &Tcp::psh,
                &Tcp::rst, &Tcp::syn, &Tcp::fin>();
    tree.text(pick(tcp_computed, "tcp.flags.str"), flags_text(base::load_be16(tree.at(12)) & 0xfff, buffer), 12, 2);
    tree.close();
}

void describe_tcp(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.fields<&Tcp::source_port, &Tcp::destination_port>();
    tree.number(pick(tcp_computed, "tcp.port"), base::load_be16(tree.at(0)), 0, 2);
    tree.number(pick(tcp_computed, "tcp.port"), base::load_be16(tree.at(2)), 2, 2);
    if (tree.size() < octets_of<Tcp>) return tree.field<&Tcp::sequence>();  // quoted by an ICMP error
    const bool own = view.layer.depth < view.dissection.own_layers;
    const LayerRef* const last = own ? view.dissection.find(LayerId::tcp) : view.dissection.find_quoted(LayerId::tcp);
    const bool innermost = last != nullptr && last->depth == view.layer.depth;
    const TcpSummary& summary = view.dissection.tcp;
    if (innermost && view.layer.variant != length_unknown)
        tree.number(pick(tcp_computed, "tcp.len"), summary.payload_length, 12, 1);
    tree.fields<&Tcp::sequence, &Tcp::acknowledgment>();
    tree.number(pick(tcp_computed, "tcp.hdr_len"), view.layer.wire_length, 12, 1);
    describe_flags(tree);
    tree.fields<&Tcp::window, &Tcp::checksum>();
    tree.number(pick(tcp_computed, "tcp.checksum.status"), 2, 16, 2);  // not verified
    tree.field<&Tcp::urgent_pointer>();
    describe_tcp_options(tree.part(octets_of<Tcp>, tree.size()));
    if (innermost && summary.payload_captured != 0)
        Tree{view.bytes, 0, visitor}.octets(pick(tcp_computed, "tcp.payload"), summary.payload_offset,
                                            summary.payload_captured);
}

}  // namespace

constinit const LayerRow tcp_layer{"tcp",        &protocol::tcp,         {},          parse_tcp,
                                   describe_tcp, wire::field_table<Tcp>, tcp_computed};

}  // namespace dissect::layers
