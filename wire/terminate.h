#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "wire/ddp.h"
#include "wire/layout.h"
#include "wire/rdmap.h"

/// The Terminate message of RDMAP: what went wrong, and the headers of the segment it went wrong with. RFC 5040 section
/// 4.8; codes by layer in its Figure 9, RFC 5041 section 7 and RFC 5044 section 8, RFC 6581 section 8, RFC 7306
/// section 8.2.
namespace wire {

enum class TerminateLayer : std::uint8_t { rdma = 0, ddp = 1, llp = 2 };

struct TerminateControl {
    std::uint8_t layer = 0;
    std::uint8_t type = 0;
    std::uint8_t code = 0;
    bool length_valid = false;  ///< M: the DDP segment length follows
    bool ddp_header = false;    ///< D: the terminated DDP header follows
    bool rdma_header = false;   ///< R: the terminated Read Request's RDMA header follows
    std::uint16_t reserved = 0;
};

inline constexpr ValueName terminate_layers[] = {{0, "RDMA"}, {1, "DDP"}, {2, "LLP"}};
inline constexpr ValueName terminate_rdma_types[] = {
    {0, "Local Catastrophic Error"}, {1, "Remote Protection Error"}, {2, "Remote Operation Error"}};
inline constexpr ValueName terminate_ddp_types[] = {{0, "Local Catastrophic Error"},
                                                    {1, "Tagged Buffer Error"},
                                                    {2, "Untagged Buffer Error"},
                                                    {3, "Lower layer's own"}};
inline constexpr ValueName terminate_llp_types[] = {{0, "MPA Error"}};
inline constexpr ValueName terminate_rdma_codes[] = {
    {0, "Invalid STag"},
    {1, "Base or bounds violation"},
    {2, "Access rights violation"},
    {3, "STag not associated with RDMAP Stream"},
    {4, "TO wrap"},
    {5, "Invalid RDMAP version"},
    {6, "Unexpected OpCode"},
    {7, "Catastrophic error, localized to RDMAP Stream"},
    {8, "Catastrophic error, global"},
    {9, "STag cannot be Invalidated"},
    {0xff, "Unspecified Error"},
};
inline constexpr ValueName terminate_tagged_codes[] = {{0, "Invalid STag"},
                                                       {1, "Base or bounds violation"},
                                                       {2, "STag not associated with DDP Stream"},
                                                       {3, "TO wrap"},
                                                       {4, "Invalid DDP version"}};
inline constexpr ValueName terminate_untagged_codes[] = {
    {1, "Invalid QN"}, {2, "Invalid MSN - no buffer available"},         {3, "Invalid MSN - MSN range is not valid"},
    {4, "Invalid MO"}, {5, "DDP Message too long for available buffer"}, {6, "Invalid DDP version"},
};
inline constexpr ValueName terminate_mpa_codes[] = {
    {1, "TCP connection closed, terminated, or lost"},
    {2, "Received MPA CRC does not match"},
    {3, "MPA Marker and ULPDU Length do not match"},
    {4, "Invalid MPA Request Frame or MPA Response Frame"},
    {5, "Local catastrophic error"},
    {6, "Insufficient IRD resources"},
    {7, "No matching ready-to-receive option"},
};

template <>
inline constexpr auto layout_of<TerminateControl> =
    layout("iwarp_rdma.term_ctrl", "Terminate Control",
           bits<&TerminateControl::layer, 4>("iwarp_rdma.term_layer", "Layer").hex().named(terminate_layers),
           bits<&TerminateControl::type, 4>("iwarp_rdma.term_etype", "Error Types").hex(),
           bits<&TerminateControl::code, 8>("iwarp_rdma.term_errcode", "Error Code").hex(),
           bits<&TerminateControl::length_valid, 1>("iwarp_rdma.term_hdrct_m", "M bit"),
           bits<&TerminateControl::ddp_header, 1>("iwarp_rdma.hdrct_d", "D bit"),
           bits<&TerminateControl::rdma_header, 1>("iwarp_rdma.hdrct_r", "R bit"),
           bits<&TerminateControl::reserved, 13>("iwarp_rdma.term_rsvd", "Reserved").hex());

/// Error type and code have different names in each layer.
inline constexpr FieldInfo terminate_type_fields[] = {
    {"iwarp_rdma.term_etype_rdma", "Error Types for RDMA layer", 4, 4, Kind::uint8, Base::hex, false,
     terminate_rdma_types},
    {"iwarp_rdma.term_etype_ddp", "Error Types for DDP layer", 4, 4, Kind::uint8, Base::hex, false,
     terminate_ddp_types},
    {"iwarp_rdma.term_etype_llp", "Error Types for LLP layer", 4, 4, Kind::uint8, Base::hex, false,
     terminate_llp_types},
};
inline constexpr FieldInfo terminate_code_fields[] = {
    {"iwarp_rdma.term_errcode_rdma", "Error Code for RDMA layer", 8, 8, Kind::uint8, Base::hex, false,
     terminate_rdma_codes},
    {"iwarp_rdma.term_errcode_ddp_tagged", "Error Code for DDP Tagged Buffer", 8, 8, Kind::uint8, Base::hex, false,
     terminate_tagged_codes},
    {"iwarp_rdma.term_errcode_ddp_untagged", "Error Code for DDP Untagged Buffer", 8, 8, Kind::uint8, Base::hex, false,
     terminate_untagged_codes},
    {"iwarp_rdma.term_errcode_llp", "Error Code for LLP layer", 8, 8, Kind::uint8, Base::hex, false,
     terminate_mpa_codes},
};

/// The field that shows error type and code of this layer; the general field if the layer has no field of its own.
constexpr const FieldInfo& terminate_type_field(std::uint8_t layer) {
    return layer < 3 ? terminate_type_fields[layer] : field_table<TerminateControl>[1];
}
constexpr const FieldInfo& terminate_code_field(std::uint8_t layer, std::uint8_t type) {
    if (layer == 0 && (type == 1 || type == 2)) return terminate_code_fields[0];
    if (layer == 1 && (type == 1 || type == 2)) return terminate_code_fields[type];
    if (layer == 2 && type == 0) return terminate_code_fields[3];
    return field_table<TerminateControl>[2];
}
/// The field's words for a code; empty where it has none.
constexpr std::string_view terminate_code_name(std::uint8_t layer, std::uint8_t type, std::uint8_t code) {
    if (type == 0 && layer < 2) return "Local Catastrophic Error";
    return name_of(terminate_code_field(layer, type).values, code);
}

/// Where the parts of a Terminate lie, counted from its control field. A part that is not there has size 0.
struct TerminateParts {
    struct Part {
        std::uint16_t offset = 0;
        std::uint16_t size = 0;
    };
    TerminateControl control;   ///< in the order of the specification
    bool byte_swapped = false;  ///< its bit fields were at the opposite ends of their octets
    Part segment_length;
    Part ddp_header;  ///< also size 0 if its first octet, which contains its length, is missing
    Part rdma_header;
    std::uint16_t wanted = 4;  ///< octets of the control field and of all announced parts
};

inline constexpr std::size_t terminate_control_size = 4;

/// Whether the specifications define this code. RDMAP's two types share one table of names.
constexpr bool terminate_known(std::uint8_t layer, std::uint8_t type, std::uint8_t code) {
    if (layer < 2 && type == 0) return code == 0;
    if (layer == 0 && type == 1) return code <= 4 || code == 9 || code == 0xff;
    if (layer == 0 && type == 2) return (code >= 5 && code <= 9) || code == 0xff;
    return layer < 3 && !terminate_code_name(layer, type, code).empty();
}

/// Linux siw on little-endian machines fills octets from the opposite end: M, D and R are bits 0, 1 and 2 instead of 7,
/// 6 and 5, and layer and type have changed places. If none of the three bits is set, the control field counts as
/// swapped if only the swapped reading is a known error code.
constexpr bool terminate_is_swapped(const std::byte* control) {
    const auto flags = base::load_u8(control + 2);
    if (base::load_u8(control + 3) != 0 || (flags & 0xf8) != 0) return false;
    if (flags != 0) return true;
    const auto high = static_cast<std::uint8_t>(base::load_u8(control) >> 4);
    const auto low = static_cast<std::uint8_t>(base::load_u8(control) & 15);
    return !terminate_known(high, low, base::load_u8(control + 1)) && terminate_known(low, high, base::load_u8(control + 1));
}

/// Finds the parts of a Terminate message; nullopt where even the control field is not there. Parts that go beyond
/// `bytes` are left out, and `wanted` exceeds its size. RFC 5040 section 4.8.
constexpr std::optional<TerminateParts> parse_terminate(base::Bytes bytes) {
    const auto control = parse<TerminateControl>(bytes);
    if (!control) return std::nullopt;
    TerminateParts parts{*control, terminate_is_swapped(bytes.data()), {}, {}, {}, 4};
    if (parts.byte_swapped) {
        const auto flags = base::load_u8(bytes.data() + 2);
        parts.control.length_valid = (flags & 1) != 0;
        parts.control.ddp_header = (flags & 2) != 0;
        parts.control.rdma_header = (flags & 4) != 0;
        parts.control.reserved = 0;
        std::swap(parts.control.layer, parts.control.type);
    }
    const auto claim = [&](TerminateParts::Part& part, std::size_t size) {
        if (parts.wanted + size <= bytes.size()) part = {parts.wanted, static_cast<std::uint16_t>(size)};
        parts.wanted = static_cast<std::uint16_t>(parts.wanted + size);
    };
    // The length field is present with its header, even if M says that the length is not valid.
    if (parts.control.length_valid || parts.control.ddp_header) claim(parts.segment_length, 2);
    if (parts.control.ddp_header) {
        const bool known = parts.wanted < bytes.size();
        claim(parts.ddp_header, known ? ddp_header_size(bytes[parts.wanted]) : ddp_tagged_size);
    }
    if (parts.control.rdma_header) claim(parts.rdma_header, size_of<RdmapReadRequest>);
    return parts;
}

inline constexpr std::size_t terminate_longest = 4 + 2 + ddp_untagged_size + size_of<RdmapReadRequest>;

/// Writes a Terminate as RFC 5040 defines it and returns its size in octets; `out` holds `terminate_longest`.
/// `ddp_header` and `rdma_header` are the headers of the segment at fault, or empty.
constexpr std::size_t emit_terminate(base::MutableBytes out, TerminateControl control, std::uint16_t segment_length,
                                     base::Bytes ddp_header, base::Bytes rdma_header) {
    control.ddp_header = !ddp_header.empty();
    control.length_valid = control.ddp_header;
    control.rdma_header = !rdma_header.empty();
    emit<TerminateControl>(out.first<4>(), control);
    std::size_t at = terminate_control_size;
    if (control.ddp_header) {
        base::store_be16(out.data() + at, segment_length);
        at += 2;
    }
    for (const base::Bytes part : {ddp_header, rdma_header})
        for (const std::byte octet : part) out[at++] = octet;
    return at;
}

}  // namespace wire
