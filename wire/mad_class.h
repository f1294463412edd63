#pragma once
#include <array>
#include <cstdint>

#include "wire/layout.h"
#include "wire/mad.h"
#include "wire/mad_attribute.h"

/// What stands between the common header of a management datagram and its attribute. Places count from the datagram's
/// first octet.
namespace wire::mad {

/// The attribute's first octet in the classes of subnet, performance, device and congestion management.
inline constexpr std::uint32_t class_data_octet = 64;

/// Subnet management. IBTA vol. 1, 14.2.1.
inline constexpr std::uint32_t subnet_data_octets = 64;
inline constexpr std::array subnet_fields{hex(24, 64, "infiniband.smplid.mkey", "M_Key")};
/// The same on a directed route, which is a list of ports, one for each hop.
inline constexpr std::array directed_fields{
    as(Kind::uint64, hex(4, 1, "infiniband.smpdirected.d", "D (Direction Bit)")),
    hex({4, 1}, 15, "infiniband.smpdirected.smpstatus", "Status"),
    hex(6, 8, "infiniband.smpdirected.hoppointer", "Hop Pointer"),
    hex(7, 8, "infiniband.smpdirected.hopcount", "Hop Count"),
    hex(24, 64, "infiniband.smplid.mkey", "M_Key"),
    hex(32, 16, "infiniband.smpdirected.drslid", "DrSLID"),
    hex(34, 16, "infiniband.smpdirected.drdlid", "DrDLID"),
};
/// The paths come after the attribute.
inline constexpr std::array directed_paths{
    octets(128, 64, "infiniband.smpdirected.initialpath", "Initial Path"),
    octets(192, 64, "infiniband.smpdirected.returnpath", "Return Path"),
};

/// Congestion control. IBTA vol. 1, A10.4. A log begins earlier than other attributes.
inline constexpr std::array congestion_fields{hex(24, 64, "rdma.mad.congestion.key", "CC_Key")};
inline constexpr std::uint16_t congestion_log_id = 0x13;
inline constexpr std::uint32_t congestion_log_octet = 32;

/// The Reliable Multi-Packet Protocol, which tables of Subnet Administration need. IBTA vol. 1, 13.6.
enum class RmppType : std::uint8_t { none, data, ack, stop, abort };
inline constexpr std::array<ValueName, 5> rmpp_types{{{0, "none"}, {1, "DATA"}, {2, "ACK"}, {3, "STOP"}, {4, "ABORT"}}};
inline constexpr std::array<ValueName, 12> rmpp_statuses{{
    {0, "normal"},
    {1, "no resources"},
    {118, "took too long"},
    {119, "inconsistent last segment and length"},
    {120, "inconsistent first segment and number"},
    {121, "type not valid"},
    {122, "window too small"},
    {123, "segment number too big"},
    {124, "status not valid"},
    {125, "version not supported"},
    {126, "too many retries"},
    {127, "unspecified"},
}};
inline constexpr std::uint32_t rmpp_octet = 24;
inline constexpr std::uint32_t rmpp_octets = 12;
inline constexpr std::uint32_t rmpp_type_octet = rmpp_octet + 1;
inline constexpr std::uint32_t rmpp_flags_octet = rmpp_octet + 2;
inline constexpr std::uint32_t rmpp_status_octet = rmpp_octet + 3;
inline constexpr std::uint32_t rmpp_segment_octet = rmpp_octet + 4;
/// The length of the payload; in an acknowledgement the last segment that the receiver has room for.
inline constexpr std::uint32_t rmpp_length_octet = rmpp_octet + 8;
inline constexpr std::array rmpp_fields{
    hex(24, 8, "infiniband.rmpp.rmppversion", "RMPP Version"),
    hex(25, 8, "infiniband.rmpp.rmpptype", "RMPP Type", rmpp_types),
    hex(26, 5, "infiniband.rmpp.rresptime", "R Resp Time"),
    hex({26, 5}, 3, "infiniband.rmpp.rmppflags", "RMPP Flags"),
    hex(27, 8, "infiniband.rmpp.rmppstatus", "RMPP Status", rmpp_statuses),
};
inline constexpr std::array rmpp_other_fields{
    hex(28, 32, "infiniband.rmpp.data1", "RMPP Data 1"),
    hex(32, 32, "infiniband.rmpp.data2", "RMPP Data 2"),
};
inline constexpr std::array rmpp_data_fields{
    hex(28, 32, "infiniband.rmpp.segmentnumber", "Segment Number"),
    hex(32, 32, "infiniband.rmpp.payloadlength", "Payload Length"),
    octets(36, 220, "infiniband.rmpp.transferreddata", "Transferred Data"),
};
inline constexpr std::array rmpp_ack_fields{
    hex(28, 32, "infiniband.rmpp.segmentnumber", "Segment Number"),
    hex(32, 32, "infiniband.rmpp.newwindowlast", "New Window Last"),
};
inline constexpr std::array rmpp_end_fields{
    hex(28, 32, "infiniband.rmpp.data1", "RMPP Data 1"),
    hex(32, 32, "infiniband.rmpp.data2", "RMPP Data 2"),
    octets(36, 220, "infiniband.rmpp.extendederrordata", "Optional Extended Error Data"),
};

/// The payload, whose bytes the header counts, and the flags. IBTA vol. 1, 13.6.2.
inline constexpr std::uint32_t rmpp_payload_octet = rmpp_octet + rmpp_octets;
inline constexpr std::uint32_t rmpp_payload_octets = mad_octets - rmpp_payload_octet;
inline constexpr std::uint8_t rmpp_active = 1;
inline constexpr std::uint8_t rmpp_first = 2;
inline constexpr std::uint8_t rmpp_last = 4;

/// Subnet Administration. IBTA vol. 1, 15.2.1.
inline constexpr std::uint32_t sa_data_octet = 56;
inline constexpr std::uint32_t sa_data_octets = mad_octets - sa_data_octet;
inline constexpr std::array sa_fields{
    hex(36, 64, "infiniband.sa.smkey", "SM_Key (Verification Key)"),
    hex(44, 16, "infiniband.sa.attributeoffset", "Attribute Offset"),
    hex(48, 64, "infiniband.sa.componentmask", "Component Mask"),
};

/// Where the data begin that a class's segments carry, after the class's own header; 0: the class has no segments. The
/// classes are those of Linux (ib_is_mad_class_rmpp). IBTA vol. 1, 13.6.1 and 16.
constexpr std::uint32_t rmpp_data_octet(std::uint8_t management_class) {
    constexpr std::uint32_t vendor_octet = 40;
    constexpr std::uint8_t device_administration = 0x10;
    constexpr std::uint8_t boot_information_service = 0x12;
    switch (management_class) {
        case subnet_administration: return sa_data_octet;
        case device_management:
        case device_administration:
        case boot_information_service: return class_data_octet;
        default: return management_class >= 0x30 && management_class <= 0x4f ? vendor_octet : 0;
    }
}

/// These read a datagram of a class with segments whose first 56 octets are there.
constexpr RmppType rmpp_type(base::Bytes mad) {
    const auto type = std::to_integer<std::uint8_t>(mad[rmpp_type_octet]);
    if ((std::to_integer<std::uint8_t>(mad[rmpp_flags_octet]) & rmpp_active) == 0) return RmppType::none;
    return type <= static_cast<std::uint8_t>(RmppType::abort) ? static_cast<RmppType>(type) : RmppType::none;
}

/// The octets from one record of Subnet Administration to the next; 0 if there is one record at most.
constexpr std::uint32_t record_octets(base::Bytes mad) {
    return static_cast<std::uint32_t>(read_bits<44 * 8, 16>(mad.data())) * 8;
}

/// Whether the data are the records of a table, or a segment of these.
constexpr bool is_table(base::Bytes mad) { return rmpp_type(mad) == RmppType::data && record_octets(mad) != 0; }

/// Whole records of a table in one segment.
struct Records {
    std::uint64_t first = 0;   ///< its number in the table, from 0
    std::uint32_t octet = 0;   ///< where it begins in the datagram
    std::uint32_t length = 0;  ///< of each, in octets
    std::uint32_t count = 0;
};

/// Segments are filled with records without regard to their bounds: 200 octets each, fewer in the last one, whose
/// payload length counts the 20 octets before the records too. IBTA vol. 1, 13.6 and 15.2.1.
constexpr Records records_of(base::Bytes mad) {
    constexpr std::uint32_t administration_header = sa_data_octet - rmpp_payload_octet;
    const std::uint32_t length = record_octets(mad);
    const std::uint64_t segment = read_bits<rmpp_segment_octet * 8, 32>(mad.data());
    if (length == 0 || segment == 0) return {};
    std::uint64_t used = sa_data_octets;
    if ((std::to_integer<std::uint8_t>(mad[rmpp_flags_octet]) & rmpp_last) != 0) {
        const std::uint64_t payload = read_bits<rmpp_length_octet * 8, 32>(mad.data());
        used = payload > administration_header ? payload - administration_header : 0;
    }
    if (used > sa_data_octets) used = sa_data_octets;
    const std::uint64_t captured = mad.size() - sa_data_octet;
    if (used > captured) used = captured;
    const std::uint64_t before = (segment - 1) * sa_data_octets;
    const std::uint64_t first = (before + length - 1) / length;
    const std::uint64_t skipped = first * length - before;
    if (skipped >= used) return {};
    return {first, static_cast<std::uint32_t>(sa_data_octet + skipped), length, static_cast<std::uint32_t>((used - skipped) / length)};
}

}  // namespace wire::mad
