#include "observe/datagrams/mad_packets.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/erf.h"
#include "wire/icrc.h"
#include "wire/lrh.h"
#include "wire/mad.h"
#include "wire/mad_class.h"
#include "wire/vcrc.h"

namespace observe::datagrams {

namespace {

constexpr std::uint8_t ud_send_only = 0x64;
constexpr std::uint16_t full_member_of_default_partition = 0xffff;
constexpr std::uint32_t psn_mask = 0xffffff;
constexpr std::uint8_t subnet_management_lane = 15;
constexpr std::size_t most_senders = 4096;
/// The length field of an LRH has 11 bits of words, and the longest path MTU is 4096.
constexpr std::size_t most_datagram_bytes = 4096;

constexpr std::size_t version_octet = wire::mad::rmpp_octet;
using wire::mad::rmpp_flags_octet;
using wire::mad::rmpp_segment_octet;
using wire::mad::rmpp_type_octet;

/// Whether libibumad has the data of several segments in one piece, or will number the segment. Of what a program
/// sends, the kernel looks at the flag alone, and fills in the type.
bool is_of_segments(const TracedMad& mad) {
    if (mad.bytes.size() <= wire::mad::rmpp_payload_octet) return false;
    if ((base::load_u8(mad.bytes.data() + rmpp_flags_octet) & wire::mad::rmpp_active) == 0) return false;
    const bool is_sent = mad.passage.event == trace::MadEvent::sent;
    const auto type = static_cast<wire::mad::RmppType>(base::load_u8(mad.bytes.data() + rmpp_type_octet));
    const bool is_data = type == wire::mad::RmppType::data || (is_sent && type == wire::mad::RmppType::none);
    const bool is_numbered = base::load_be32(mad.bytes.data() + rmpp_segment_octet) != 0;
    return is_data && (mad.passage.bytes > wire::mad_octets || !is_numbered);
}

/// Seconds in the high half, binary fraction in the low one; little-endian.
std::array<std::byte, 8> erf_timestamp(std::int64_t time_ns) {
    constexpr std::int64_t second_ns = 1'000'000'000;
    const auto fraction_ns = static_cast<std::uint64_t>(time_ns % second_ns);
    const std::uint64_t timestamp = static_cast<std::uint64_t>(time_ns / second_ns) << 32 |
                                    (fraction_ns << 32) / static_cast<std::uint64_t>(second_ns);
    std::array<std::byte, 8> octets{};
    for (std::size_t i = 0; i < octets.size(); ++i) octets[i] = static_cast<std::byte>(timestamp >> 8 * i & 0xff);
    return octets;
}

/// For the bytes of a packet, which follow.
void put_erf(base::MutableBytes out, std::int64_t time_ns, std::size_t bytes) {
    wire::Erf erf;
    erf.type = wire::erf_type::infiniband;
    erf.varying_length = true;
    erf.record_length = static_cast<std::uint16_t>(wire::size_of<wire::Erf> + bytes);
    erf.wire_length = static_cast<std::uint16_t>(bytes);
    wire::emit<wire::Erf>(out.first<wire::size_of<wire::Erf>>(), erf);
    const auto timestamp = erf_timestamp(time_ns);
    std::memcpy(out.data(), timestamp.data(), timestamp.size());
}

std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

void MadPackets::make(const TracedMad& mad, const std::function<void(base::Bytes)>& take) {
    constexpr std::size_t class_octet = 1;
    if (mad.bytes.size() <= class_octet) return;
    const std::size_t header = wire::mad::rmpp_data_octet(base::load_u8(mad.bytes.data() + class_octet));
    if (header != 0 && mad.bytes.size() > header && is_of_segments(mad)) return make_segments(mad, header, take);
    std::array<std::byte, wire::mad_octets> whole{};
    if (mad.bytes.size() >= whole.size())
        return make_packet(mad, mad.bytes.first(std::min(mad.bytes.size(), most_datagram_bytes)), take);
    std::memcpy(whole.data(), mad.bytes.data(), mad.bytes.size());
    make_packet(mad, whole, take);
}

/// As the kernel cuts them: each begins with the header, and the first one has the length of all. Payload lengths count
/// what follows the RMPP header. IBTA vol. 1, 13.6.3.
void MadPackets::make_segments(const TracedMad& mad, std::size_t header, const std::function<void(base::Bytes)>& take) {
    using wire::mad::rmpp_active;
    using wire::mad::rmpp_first;
    using wire::mad::rmpp_last;
    constexpr std::byte flag_bits{rmpp_active | rmpp_first | rmpp_last};
    const std::size_t counted_header = header - wire::mad::rmpp_payload_octet;
    const std::size_t room = wire::mad_octets - header;
    const std::size_t data = mad.passage.bytes > header ? mad.passage.bytes - header : 0;
    const std::size_t recorded = mad.bytes.size() - header;
    const std::size_t segments = std::max<std::size_t>((data + room - 1) / room, 1);
    for (std::size_t i = 0; i < segments && (i == 0 || i * room < recorded); ++i) {
        std::array<std::byte, wire::mad_octets> segment{};
        std::memcpy(segment.data(), mad.bytes.data(), header);
        const std::size_t at = i * room;
        const std::size_t here = std::min(room, recorded - at);
        std::memcpy(segment.data() + header, mad.bytes.data() + header + at, here);
        const bool is_last = i + 1 == segments;
        const unsigned flags = rmpp_active | (i == 0 ? rmpp_first : 0u) | (is_last ? rmpp_last : 0u);
        segment[rmpp_flags_octet] = (segment[rmpp_flags_octet] & ~flag_bits) | static_cast<std::byte>(flags);
        segment[rmpp_type_octet] = static_cast<std::byte>(wire::mad::RmppType::data);
        if (segment[version_octet] == std::byte{}) segment[version_octet] = std::byte{1};
        const std::size_t payload = is_last && i != 0 ? data - at + counted_header
                                    : i == 0          ? data + segments * counted_header
                                                      : 0;
        base::store_be32(segment.data() + rmpp_segment_octet, static_cast<std::uint32_t>(i + 1));
        base::store_be32(segment.data() + wire::mad::rmpp_length_octet, static_cast<std::uint32_t>(payload));
        make_packet(mad, segment, take);
    }
}

void MadPackets::make_packet(const TracedMad& mad, base::Bytes datagram, const std::function<void(base::Bytes)>& take) {
    const trace::MadPassage& passage = mad.passage;
    const bool is_sent = passage.event == trace::MadEvent::sent;
    constexpr std::size_t headers = wire::size_of<wire::Lrh> + wire::size_of<wire::Bth> + wire::size_of<wire::Deth>;
    const std::size_t payload = padded(datagram.size());
    const std::size_t packet_bytes = headers + payload + wire::icrc_octets + wire::vcrc_octets;
    record_.assign(wire::size_of<wire::Erf> + packet_bytes, std::byte{});
    put_erf(record_, mad.time_ns, packet_bytes);
    const base::MutableBytes out = base::MutableBytes(record_).subspan(wire::size_of<wire::Erf>);

    wire::Lrh lrh;
    lrh.virtual_lane = mad.local_queue_pair == 0 ? subnet_management_lane : 0;
    lrh.service_level = passage.service_level & 0xf;
    lrh.link_next_header = static_cast<std::uint8_t>(wire::LinkNextHeader::bth);
    lrh.destination_lid = is_sent ? passage.remote_lid : passage.local_lid;
    lrh.source_lid = is_sent ? passage.local_lid : passage.remote_lid;
    lrh.packet_length = static_cast<std::uint16_t>((packet_bytes - wire::vcrc_octets) / 4);
    wire::Bth bth;
    bth.opcode = ud_send_only;
    bth.pad_count = static_cast<std::uint8_t>(payload - datagram.size());
    bth.partition_key = full_member_of_default_partition;
    bth.destination_qp = (is_sent ? passage.remote_queue_pair : mad.local_queue_pair) & psn_mask;
    if (next_psn_.size() == most_senders) next_psn_.clear();
    std::uint32_t& psn = next_psn_[{mad.process, mad.device, passage.port, mad.local_queue_pair, is_sent}];
    bth.psn = std::exchange(psn, (psn + 1) & psn_mask);
    wire::Deth deth;
    deth.queue_key = passage.queue_key;
    deth.source_qp = (is_sent ? mad.local_queue_pair : passage.remote_queue_pair) & psn_mask;

    constexpr std::size_t bth_at = wire::size_of<wire::Lrh>;
    constexpr std::size_t deth_at = bth_at + wire::size_of<wire::Bth>;
    wire::emit<wire::Lrh>(out.first<wire::size_of<wire::Lrh>>(), lrh);
    wire::emit<wire::Bth>(out.subspan<bth_at, wire::size_of<wire::Bth>>(), bth);
    wire::emit<wire::Deth>(out.subspan<deth_at, wire::size_of<wire::Deth>>(), deth);
    std::memcpy(out.data() + headers, datagram.data(), datagram.size());
    const std::size_t icrc_at = headers + payload;
    const base::Bytes made = out;
    base::store_be32(out.data() + icrc_at, wire::icrc({.lrh = made.first(bth_at),
                                                       .network = {},
                                                       .udp = {},
                                                       .transport = made.subspan(bth_at, icrc_at - bth_at)}));
    const std::size_t vcrc_at = icrc_at + wire::icrc_octets;
    base::store_be16(out.data() + vcrc_at, wire::vcrc(made.first(vcrc_at)));
    take(record_);
}

}  // namespace observe::datagrams
