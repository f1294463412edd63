#include "dissect/output/listing.h"

#include <string_view>

#include "base/text_format.h"
#include "dissect/output/frame_fields.h"
#include "dissect/output/value_format.h"

namespace dissect::output {

using wire::FieldInfo;
using wire::Kind;

namespace {

std::string_view type_of(const FieldInfo& info) {
    if (&info == &frame_time_field) return "FT_ABSOLUTE_TIME";
    switch (info.kind) {
        case Kind::none: return "FT_NONE";
        case Kind::boolean: return "FT_BOOLEAN";
        case Kind::uint8: return "FT_UINT8";
        case Kind::uint16: return "FT_UINT16";
        case Kind::uint24: return "FT_UINT24";
        case Kind::uint32: return "FT_UINT32";
        case Kind::uint64: return "FT_UINT64";
        case Kind::bytes: return "FT_BYTES";
        case Kind::ipv4: return "FT_IPv4";
        case Kind::ipv6: return "FT_IPv6";
        case Kind::ether: return "FT_ETHER";
        case Kind::string: return "FT_STRING";
        case Kind::time: return "FT_RELATIVE_TIME";
    }
    return "";
}

/// The bits within the bytes that the field touches.
std::uint64_t mask_of(const FieldInfo& info) {
    const unsigned lead = info.bit_offset % 8u;
    const unsigned span = (lead + info.bit_width + 7u) / 8 * 8;
    const bool whole = info.bit_width == 0 || (lead == 0 && info.bit_width % 8 == 0);
    if (whole || span > 64 || info.bit_width >= 64) return 0;
    return ((std::uint64_t{1} << info.bit_width) - 1) << (span - lead - info.bit_width);
}

void append_base(std::string& out, const FieldInfo& info) {
    if (hex_digits(info.kind) != 0) {
        out += info.base == wire::Base::hex ? "BASE_HEX" : "BASE_DEC";
    } else if (info.kind == Kind::boolean && mask_of(info) != 0) {
        base::append_decimal(out, (info.bit_offset % 8u + info.bit_width + 7u) / 8 * std::uint64_t{8});
    }
}

void append_values(std::string& out, const FieldInfo& info) {
    constexpr std::size_t shown = 16;
    std::size_t count = 0;
    for (const auto& known : info.values) {
        if (count != 0) out += "; ";
        if (count++ == shown) {
            out += "...";
            break;
        }
        // The values of a text are its words.
        if (info.base == wire::Base::hex)
            base::append_hex(out, known.value, 1);
        else if (info.kind != Kind::string)
            base::append_decimal(out, known.value);
        if (info.kind != Kind::string) out += ' ';
        out += known.text;
    }
}

void append_field(std::string& out, const RegisteredField& field) {
    const FieldInfo& info = *field.info;
    out += "F\t";
    out += info.label;
    out += '\t';
    out += info.name;
    out += '\t';
    out += type_of(info);
    out += '\t';
    out += field.protocol;
    out += '\t';
    append_base(out, info);
    out += '\t';
    base::append_hex(out, mask_of(info), 1);
    out += '\t';
    append_values(out, info);
    out += '\n';
}

}  // namespace

std::string list_fields(const FieldRegistry& registry) {
    std::string out;
    for (const FieldInfo* protocol : registry.protocols()) {
        ((((out += "P\t") += protocol->label) += '\t') += protocol->name) += '\n';
        for (const RegisteredField& field : registry.fields()) {
            const bool is_protocol = field.heading && field.info->name == field.protocol;
            if (field.protocol == protocol->name && !is_protocol) append_field(out, field);
        }
    }
    return out;
}

}  // namespace dissect::output
