#include "capture/live/mpa_ports.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/ether_type.h"
#include "wire/ip_protocol.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

namespace capture::inline live {
namespace {

namespace ether_type = wire::ether_type;
namespace ip_protocol = wire::ip_protocol;

constexpr std::size_t candidates = 1024;
constexpr std::size_t connection_sets = 4096;
constexpr std::size_t connections_a_set = 4;
constexpr std::uint8_t tcp_syn = 0x02;
constexpr int convinced = 4;
constexpr std::size_t fpdu_shortest = 2 + wire::ddp_tagged_size + wire::mpa_crc_size;

/// What looks like the beginning of an FPDU, how telling it is, and its size.
struct Sign {
    int evidence;
    std::uint32_t size;
};

/// `at` has at least `fpdu_shortest` bytes.
std::optional<Sign> sign_of(base::Bytes at) {
    const std::uint16_t length = base::load_be16(at.data());
    const unsigned ddp = base::load_u8(at.data() + 2);
    const unsigned rdmap = base::load_u8(at.data() + 3);
    const auto opcode = static_cast<std::uint8_t>(rdmap & 0x0f);
    const bool tagged = (ddp & 0x80) != 0;
    if ((ddp & 0x3f) != wire::ddp_version || rdmap >> 4 != 0x4) return std::nullopt;  // version 1, nothing reserved
    if (!wire::rdmap_known(opcode) || wire::rdmap_tagged(opcode) != tagged) return std::nullopt;
    if (length < wire::ddp_header_size(at[2])) return std::nullopt;
    const std::uint32_t size = wire::mpa_fpdu_size(length);
    if (at.size() >= size) {
        const std::size_t covered = size - wire::mpa_crc_size;
        if (wire::crc32c(at.first(covered)) == wire::load_crc32c(at.data() + covered)) return Sign{convinced, size};
    }
    if (tagged) return Sign{1, size};
    if (at.size() < 2 + wire::ddp_untagged_size) return Sign{1, size};
    const auto buffer = wire::View<wire::DdpUntaggedBuffer>::unchecked(at.data() + 2 + 6);
    if (buffer.get<&wire::DdpUntaggedBuffer::queue>() != wire::rdmap_queue(opcode) ||
        buffer.get<&wire::DdpUntaggedBuffer::msn>() == 0)
        return std::nullopt;
    return Sign{2, size};
}

/// Where the transport header is, and where its packet ends on the wire; nothing where it is not TCP.
struct TcpPlace {
    std::size_t at;
    std::size_t end;
    base::Bytes addresses;
};

std::optional<TcpPlace> tcp_in_ipv4(base::Bytes octets, std::size_t ip, std::size_t wire_end) {
    if (octets.size() < ip + 20) return std::nullopt;
    const std::byte* header = octets.data() + ip;
    if (base::load_u8(header + 9) != ip_protocol::tcp || (base::load_be16(header + 6) & 0x1fff) != 0)
        return std::nullopt;
    const std::size_t total = base::load_be16(header + 2);  // 0 in frames that were put together by the adapter
    const std::size_t end = total == 0 ? wire_end : std::min(wire_end, ip + total);
    return TcpPlace{ip + (base::load_u8(header) & 0x0fU) * 4, end, octets.subspan(ip + 12, 8)};
}

std::optional<TcpPlace> tcp_in_ipv6(base::Bytes octets, std::size_t ip, std::size_t wire_end) {
    if (octets.size() < ip + 40) return std::nullopt;
    const std::byte* header = octets.data() + ip;
    const std::size_t payload = base::load_be16(header + 4);
    const std::size_t end = payload == 0 ? wire_end : std::min(wire_end, ip + 40 + payload);
    std::uint8_t next = base::load_u8(header + 6);
    std::size_t at = ip + 40;
    if (next == ip_protocol::hop_by_hop || next == ip_protocol::routing || next == ip_protocol::destination_options) {
        if (octets.size() < at + 2) return std::nullopt;
        next = base::load_u8(octets.data() + at);
        at += 8 + std::size_t{base::load_u8(octets.data() + at + 1)} * 8;
    }
    if (next != ip_protocol::tcp) return std::nullopt;
    return TcpPlace{at, end, octets.subspan(ip + 8, 32)};
}

std::optional<TcpPlace> tcp_place(const wire::Frame& frame) {
    const base::Bytes octets = frame.bytes;
    if (octets.size() < 34) return std::nullopt;
    std::size_t ip = 0;
    std::uint16_t type = base::load_u8(octets.data()) >> 4 == 6 ? ether_type::ipv6 : ether_type::ipv4;
    if (frame.link_type == wire::LinkType::ethernet) {
        ip = 14;
        type = base::load_be16(octets.data() + 12);
        for (int tags = 0; tags < 3; ++tags) {
            if (type != ether_type::vlan && type != ether_type::qinq && type != ether_type::qinq_old) break;
            type = base::load_be16(octets.data() + ip + 2);
            ip += 4;
        }
    }
    if (type == ether_type::ipv4) return tcp_in_ipv4(octets, ip, frame.wire_length);
    if (type == ether_type::ipv6) return tcp_in_ipv6(octets, ip, frame.wire_length);
    return std::nullopt;
}

}  // namespace

struct MpaPorts::Segment {
    std::uint16_t source;
    std::uint16_t destination;
    std::uint32_t sequence;
    std::uint8_t flags;
    std::uint64_t flow;
    base::Bytes addresses;
    base::Bytes payload;          // what was captured of it
    std::size_t payload_on_wire;  // in bytes
};

bool is_tcp(const wire::Frame& frame) { return tcp_place(frame).has_value(); }

MpaPorts::MpaPorts(std::size_t capacity, std::int64_t idle_ns)
    : capacity_(std::min<std::size_t>(capacity, configured - 1)),
      idle_ns_(idle_ns),
      place_(std::size_t{1} << 16),
      candidates_(candidates) {
    found_.reserve(capacity_);
}

void MpaPorts::configure(std::span<const std::uint16_t> ports) {
    std::replace(place_.begin(), place_.end(), configured, unknown);
    configured_ = 0;
    for (const std::uint16_t port : ports) {
        std::erase_if(found_, [&](const Found& each) { return each.port == port; });
        configured_ += place_[port] != configured ? 1 : 0;
        place_[port] = configured;
    }
    for (std::size_t i = 0; i < found_.size(); ++i) place_[found_[i].port] = static_cast<std::uint8_t>(i + 1);
}

bool MpaPorts::known(std::uint16_t port, std::int64_t now_ns) {
    const std::uint8_t place = place_[port];
    if (place == unknown) return false;
    if (place != configured) found_[place - 1U].seen_ns = now_ns;
    return true;
}

bool MpaPorts::add(std::uint16_t port, std::int64_t now_ns) {
    if (known(port, now_ns)) return true;
    if (configured_ + found_.size() < capacity_) {
        found_.push_back({.port = port, .seen_ns = now_ns, .added_ns = now_ns});
        place_[port] = static_cast<std::uint8_t>(found_.size());
        return true;
    }
    const auto gives_way = [&](const Found& a, const Found& b) {
        const bool a_idle = now_ns - a.seen_ns >= idle_ns_;
        const bool b_idle = now_ns - b.seen_ns >= idle_ns_;
        if (a_idle || b_idle) return a_idle && (!b_idle || a.seen_ns < b.seen_ns);
        if (a.confirmed != b.confirmed) return !a.confirmed;
        return a.added_ns < b.added_ns;
    };
    const auto least = std::min_element(found_.begin(), found_.end(), gives_way);
    if (least == found_.end() || (least->confirmed && now_ns - least->seen_ns < idle_ns_)) return false;
    place_[port] = place_[least->port];
    place_[least->port] = unknown;
    *least = {.port = port, .seen_ns = now_ns, .added_ns = now_ns};
    return true;
}

/// A port that a start frame gave away is confirmed by what only a server or an established connection sends.
void MpaPorts::confirm(const Segment& segment, bool streams) {
    for (const std::uint16_t port : {segment.source, segment.destination}) {
        const std::uint8_t place = place_[port];
        if (place == unknown || place == configured) continue;
        Found& found = found_[place - 1U];
        if (found.confirmed) continue;
        const bool replied =
            port == segment.source && wire::mpa_start_kind(segment.payload) == wire::MpaStartKind::reply;
        if (replied || (streams && speaks_mpa(segment, candidates_))) found.confirmed = true;
    }
}

std::vector<std::uint16_t> MpaPorts::all() const {
    std::vector<std::uint16_t> ports;
    for (std::size_t port = 0; port < place_.size(); ++port)
        if (place_[port] != unknown) ports.push_back(static_cast<std::uint16_t>(port));
    return ports;
}

std::optional<MpaPorts::Segment> MpaPorts::segment_of(const wire::Frame& frame) {
    const auto place = tcp_place(frame);
    if (!place || frame.bytes.size() < place->at + 20) return std::nullopt;
    const std::byte* tcp = frame.bytes.data() + place->at;
    const std::size_t begin = place->at + (base::load_u8(tcp + 12) >> 4) * std::size_t{4};
    Segment segment{.source = base::load_be16(tcp),
                    .destination = base::load_be16(tcp + 2),
                    .sequence = base::load_be32(tcp + 4),
                    .flags = base::load_u8(tcp + 13),
                    .flow = 0,
                    .addresses = place->addresses,
                    .payload = {},
                    .payload_on_wire = 0};
    if (begin >= place->at + 20 && begin < place->end && begin < frame.bytes.size()) {
        segment.payload_on_wire = place->end - begin;
        segment.payload = frame.bytes.subspan(begin, std::min(frame.bytes.size(), place->end) - begin);
        segment.flow = base::fnv(base::fnv(base::fnv_begin, place->addresses), {tcp, 4});
    }
    return segment;
}

std::optional<std::uint16_t> MpaPorts::look(const wire::Frame& frame, std::int64_t now_ns, bool streams) {
    const auto segment = segment_of(frame);
    if (!segment) return std::nullopt;
    const bool source = known(segment->source, now_ns);
    const bool destination = known(segment->destination, now_ns);
    if (segment->payload.empty()) return std::nullopt;
    if (source || destination) {
        confirm(*segment, streams);
        return std::nullopt;
    }
    switch (wire::mpa_start_kind(segment->payload)) {
        case wire::MpaStartKind::request: return segment->destination;
        case wire::MpaStartKind::reply: return segment->source;
        case wire::MpaStartKind::none: break;
    }
    if (streams && speaks_mpa(*segment, candidates_)) return std::min(segment->source, segment->destination);
    return std::nullopt;
}

MpaPorts::Ends MpaPorts::ends_of(const Segment& segment) {
    constexpr std::size_t end_octets = 18;
    std::array<std::array<std::byte, end_octets>, 2> ends{};
    const std::size_t address_octets = segment.addresses.size() / 2;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::uint16_t port = i == 0 ? segment.source : segment.destination;
        std::copy_n(segment.addresses.data() + i * address_octets, address_octets, ends[i].data());
        ends[i][16] = static_cast<std::byte>(port >> 8);
        ends[i][17] = static_cast<std::byte>(port & 0xff);
    }
    if (ends[1] < ends[0]) std::swap(ends[0], ends[1]);
    Ends both{};
    std::copy(ends[0].begin(), ends[0].end(), both.begin());
    std::copy(ends[1].begin(), ends[1].end(), both.begin() + end_octets);
    return both;
}

bool MpaPorts::is_recognised(const Ends& ends, std::int64_t now_ns) {
    if (connections_.empty()) return false;
    const std::size_t set = base::fnv(base::fnv_begin, ends) % connection_sets * connections_a_set;
    for (Connection& each : std::span(connections_).subspan(set, connections_a_set)) {
        if (!each.used || each.ends != ends) continue;
        each.seen_ns = now_ns;
        return true;
    }
    return false;
}

/// In the place of the one of its set that was seen least recently.
void MpaPorts::recognise(const Ends& ends, std::int64_t now_ns) {
    if (connections_.empty()) connections_.resize(connection_sets * connections_a_set);
    const std::size_t set = base::fnv(base::fnv_begin, ends) % connection_sets * connections_a_set;
    const auto places = std::span(connections_).subspan(set, connections_a_set);
    *std::min_element(places.begin(), places.end(), [](const Connection& a, const Connection& b) {
        return a.used != b.used ? !a.used : a.seen_ns < b.seen_ns;
    }) = {.ends = ends, .seen_ns = now_ns, .used = true};
}

bool MpaPorts::recognises(const wire::Frame& frame, std::int64_t now_ns) {
    const auto place = tcp_place(frame);
    if (!place) return true;
    const auto segment = segment_of(frame);
    if (!segment) return false;
    const std::uint8_t source = place_[segment->source];
    const std::uint8_t destination = place_[segment->destination];
    if (source == configured || destination == configured) return true;
    if ((segment->flags & tcp_syn) != 0 && (source != unknown || destination != unknown)) return true;
    const Ends ends = ends_of(*segment);
    if (is_recognised(ends, now_ns)) return true;
    if (segment->payload.empty()) return false;
    if (connection_candidates_.empty()) connection_candidates_.resize(candidates);
    if (wire::mpa_start_kind(segment->payload) == wire::MpaStartKind::none &&
        !speaks_mpa(*segment, connection_candidates_))
        return false;
    recognise(ends, now_ns);
    return true;
}

bool MpaPorts::speaks_mpa(const Segment& segment, Candidates& among) {
    Candidate& candidate = among[segment.flow % among.size()];
    if (candidate.flow != segment.flow) candidate = {.flow = segment.flow};
    std::size_t at = 0;
    if (candidate.predicted) {
        const auto ahead = static_cast<std::int32_t>(candidate.next - segment.sequence);
        if (ahead >= 0 && ahead < std::int32_t{wire::mpa_longest})
            at = static_cast<std::size_t>(ahead);  // else some segments were lost, or come again
    }
    if (at >= segment.payload_on_wire) return false;  // within an FPDU
    while (at < segment.payload_on_wire) {
        if (at + fpdu_shortest > segment.payload.size()) {
            candidate.predicted = false;
            return false;
        }
        const auto sign = sign_of(segment.payload.subspan(at));
        if (!sign) {
            candidate = {.flow = segment.flow};
            return false;
        }
        candidate.evidence += sign->evidence;
        if (candidate.evidence >= convinced) {
            candidate = {};
            return true;
        }
        at += sign->size;
    }
    candidate.next = segment.sequence + static_cast<std::uint32_t>(at);
    candidate.predicted = true;
    return false;
}

}  // namespace capture::live
