#include "stream_builder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

namespace iwarp_test {

namespace {

void append(Octets& to, base::Bytes from) { to.insert(to.end(), from.begin(), from.end()); }

void put16(Octets& to, std::uint32_t value) {
    to.push_back(static_cast<std::byte>(value >> 8 & 0xff));
    to.push_back(static_cast<std::byte>(value & 0xff));
}
void put32(Octets& to, std::uint32_t value) {
    put16(to, value >> 16);
    put16(to, value & 0xffff);
}

std::uint32_t sum16(base::Bytes bytes, std::uint32_t sum) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    return sum;
}
std::uint32_t folded(std::uint32_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

class Collector : public dissect::Sink {
public:
    explicit Collector(Found& found, const Wire& wire) : found_(found), wire_(wire) {}
    void on_unit(const dissect::Unit& unit) override {
        const auto& d = unit.dissection;
        SentUnit out;
        out.offset = unit.sequence - wire_.isn(unit.from_client) - 1;
        out.length = unit.stream_length;
        out.start = !d.has(dissect::LayerId::mpa_fpdu);
        if (!out.start) {
            out.opcode = d.ddp.opcode;
            if (const auto* payload = d.find(dissect::LayerId::ulp_payload); payload != nullptr) {
                const auto octets = unit.bytes.subspan(payload->offset, payload->length);
                out.payload.assign(octets.begin(), octets.end());
            }
            found_.crc_good += d.ddp.crc == dissect::CrcStatus::good;
            found_.crc_bad += d.ddp.crc == dissect::CrcStatus::bad;
        }
        found_.truncated += d.stop.outcome == dissect::Outcome::truncated;
        found_.markers += unit.markers;
        found_.streams.push_back(unit.stream);
        (unit.from_client ? found_.client : found_.server).push_back(std::move(out));
    }
    void on_notice(const dissect::Notice& notice) override {
        found_.notices.push_back(notice.kind);
        found_.related.push_back(notice.related_frame);
        if (notice.kind == dissect::Notice::Kind::stream_gap) found_.gap_octets += notice.octets;
        if (notice.kind == dissect::Notice::Kind::stream_skipped) found_.skipped_octets += notice.octets;
        if (notice.kind == dissect::Notice::Kind::stream_unread) found_.unread_octets += notice.octets;
    }

private:
    Found& found_;
    const Wire& wire_;
};

}  // namespace

std::string difference(const std::vector<SentUnit>& found, const std::vector<SentUnit>& expected) {
    std::ostringstream out;
    for (std::size_t i = 0; i < std::max(found.size(), expected.size()); ++i) {
        if (i < found.size() && i < expected.size() && found[i] == expected[i]) continue;
        out << found.size() << " found of " << expected.size() << "; at " << i << ": ";
        if (i < found.size()) PrintTo(found[i], &out);
        out << " instead of ";
        if (i < expected.size()) PrintTo(expected[i], &out);
        break;
    }
    return out.str();
}

Octets pattern(std::mt19937& random, std::size_t length) {
    Octets out(length);
    for (auto& octet : out) octet = static_cast<std::byte>(random() & 0xff);
    return out;
}

void Stream::start(bool request, bool want_markers, bool want_crc, bool reject, std::size_t private_length,
                   std::uint8_t revision) {
    wire::MpaRequest frame;
    frame.key = request ? wire::mpa_request_key : wire::mpa_reply_key;
    frame.marker = want_markers;
    frame.crc = want_crc;
    frame.rejected = reject;
    frame.revision = revision;
    frame.private_length = static_cast<std::uint16_t>(private_length);
    const auto at = static_cast<std::uint32_t>(octets.size());
    append(octets, wire::to_octets(frame));
    octets.resize(octets.size() + private_length, std::byte{0x70});
    units.push_back({at, static_cast<std::uint32_t>(octets.size()) - at, true, 0, {}});
}

/// Octet by octet, with a marker wherever one is due; not the way the dissector takes them out.
void Stream::fpdu(std::uint8_t opcode, const Octets& ulpdu, std::size_t payload_length) {
    if (!begun) fpdus_at = static_cast<std::uint32_t>(octets.size());
    begun = true;
    Octets content;
    put16(content, static_cast<std::uint32_t>(ulpdu.size()));
    append(content, ulpdu);
    while (content.size() % 4 != 0) content.push_back(std::byte{0});
    const std::size_t at = octets.size();
    std::size_t length_at = at;
    const auto marker_if_due = [&] {
        if (!markers || (octets.size() - fpdus_at) % 512 != 0) return;
        if (octets.size() == at) length_at = at + 4;
        put32(octets, octets.size() == at ? 0 : static_cast<std::uint32_t>(octets.size() - length_at));
    };
    for (const std::byte octet : content) {
        marker_if_due();
        octets.push_back(octet);
    }
    marker_if_due();
    const auto check = wire::crc32c_octets(crc        ? wire::crc32c(base::Bytes{octets}.subspan(at))
                                           : zero_crc ? 0
                                                      : 0x5a17c0de);
    append(octets, check);
    const Octets payload(ulpdu.end() - static_cast<std::ptrdiff_t>(payload_length), ulpdu.end());
    units.push_back(
        {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(octets.size() - at), false, opcode, payload});
}

void Stream::write(std::uint32_t stag, std::uint64_t offset, bool last, const Octets& payload) {
    Octets ulpdu(wire::ddp_tagged_size);
    wire::emit_ddp(std::span<std::byte, wire::ddp_tagged_size>{ulpdu},
                   wire::DdpTagged{{true, last, 0, 1}, 0x40, stag, offset});
    append(ulpdu, payload);
    fpdu(0, ulpdu, payload.size());
}

void Stream::send(std::uint32_t msn, std::uint32_t message_offset, bool last, const Octets& payload) {
    Octets ulpdu(wire::ddp_untagged_size);
    wire::emit_ddp(std::span<std::byte, wire::ddp_untagged_size>{ulpdu},
                   wire::DdpUntagged{{false, last, 0, 1}, std::uint64_t{0x43} << 32, 0, msn, message_offset});
    append(ulpdu, payload);
    fpdu(3, ulpdu, payload.size());
}

void Stream::read_request(std::uint32_t msn) {
    Octets ulpdu(wire::ddp_untagged_size);
    wire::emit_ddp(std::span<std::byte, wire::ddp_untagged_size>{ulpdu},
                   wire::DdpUntagged{{false, true, 0, 1}, std::uint64_t{0x41} << 32, 1, msn, 0});
    append(ulpdu, wire::to_octets(wire::RdmapReadRequest{1, 2, 3, 4, 5}));
    fpdu(1, ulpdu, 0);
}

void Stream::mixture(std::mt19937& random, unsigned count, std::size_t most) {
    std::uint32_t msn = 1;
    std::uint32_t read_msn = 1;
    for (unsigned i = 0; i < count; ++i) {
        const std::size_t length = random() % (most + 1);
        switch (random() % 4) {
            case 0: send(msn++, 0, true, pattern(random, length)); break;
            case 1:
                send(msn, 0, false, pattern(random, length + 1));
                send(msn++, static_cast<std::uint32_t>(length + 1), true, pattern(random, 5));
                break;
            case 2: write(0x1234, random(), true, pattern(random, length)); break;
            default: read_request(read_msn++);
        }
    }
}

std::vector<Cut> cut(const Stream& stream, std::uint32_t size, std::uint32_t from) {
    std::vector<Cut> out;
    for (auto at = from; at < stream.octets.size(); at += size)
        out.push_back({at, std::min(size, static_cast<std::uint32_t>(stream.octets.size()) - at)});
    return out;
}

void Wire::raw(bool from_client, std::uint32_t sequence, std::uint8_t flags, const Octets& payload,
               std::uint32_t acknowledgment) {
    const std::array<std::uint32_t, 2> address = {0xc0000201, 0xc0000202};
    const std::array<std::uint32_t, 2> port = {client_port, 7471};
    const unsigned me = from_client ? 0 : 1;
    Octets frame(14);
    frame[12] = std::byte{8};
    const std::size_t ip = frame.size();
    put32(frame, 0x45000000 | static_cast<std::uint32_t>(40 + payload.size()));
    put32(frame, 0x00010000);
    put32(frame, 0x40060000);
    put32(frame, address[me]);
    put32(frame, address[1 - me]);
    const std::uint32_t ip_sum = folded(sum16(base::Bytes{frame}.subspan(ip, 20), 0));
    frame[ip + 10] = static_cast<std::byte>(ip_sum >> 8);
    frame[ip + 11] = static_cast<std::byte>(ip_sum & 0xff);
    const std::size_t tcp = frame.size();
    put16(frame, port[me]);
    put16(frame, port[1 - me]);
    put32(frame, sequence);
    put32(frame, acknowledgment);
    put32(frame, 0x50000000 | static_cast<std::uint32_t>(flags) << 16 | 500);
    put32(frame, 0);
    append(frame, payload);
    const std::uint32_t pseudo =
        sum16(base::Bytes{frame}.subspan(ip + 12, 8), 6 + static_cast<std::uint32_t>(frame.size() - tcp));
    const std::uint32_t tcp_sum = folded(sum16(base::Bytes{frame}.subspan(tcp), pseudo));
    frame[tcp + 16] = static_cast<std::byte>(tcp_sum >> 8);
    frame[tcp + 17] = static_cast<std::byte>(tcp_sum & 0xff);
    wire_lengths.push_back(static_cast<std::uint32_t>(frame.size()));
    if (snap != 0 && frame.size() > snap) frame.resize(snap);
    frames.push_back(std::move(frame));
}

void Wire::handshake() {
    raw(true, isn_[0], 0x02, {}, 0);
    raw(false, isn_[1], 0x12, {}, isn_[0] + 1);
    raw(true, isn_[0] + 1, 0x10, {}, isn_[1] + 1);
}

void Wire::segment(bool from_client, Cut piece, std::int64_t acknowledged) {
    const Stream& stream = from_client ? client : server;
    const unsigned me = from_client ? 0 : 1;
    if (acknowledged >= 0) acknowledged_[1 - me] = static_cast<std::uint32_t>(acknowledged);
    const auto first = stream.octets.begin() + piece.offset;
    raw(from_client, isn_[me] + 1 + piece.offset, 0x18, Octets(first, first + piece.length),
        isn_[1 - me] + 1 + acknowledged_[1 - me]);
}

void Wire::segments(bool from_client, const std::vector<Cut>& pieces) {
    for (const Cut& piece : pieces) segment(from_client, piece);
}

void Wire::acknowledge(bool from_client, std::uint32_t octets_of_other) {
    const unsigned me = from_client ? 0 : 1;
    acknowledged_[1 - me] = octets_of_other;
    const auto own = static_cast<std::uint32_t>((from_client ? client : server).octets.size());
    raw(from_client, isn_[me] + 1 + own, 0x10, {}, isn_[1 - me] + 1 + octets_of_other);
}

void Wire::play(std::uint32_t segment_size) {
    handshake();
    const std::uint32_t request = client.units.front().length;
    const std::uint32_t reply = server.units.front().length;
    for (std::uint32_t at = 0; at < request; at += segment_size)
        segment(true, {at, std::min(segment_size, request - at)});
    for (std::uint32_t at = 0; at < reply; at += segment_size)
        segment(false, {at, std::min(segment_size, reply - at)}, request);
    segments(true, cut(client, segment_size, request));
    segments(false, cut(server, segment_size, reply));
}

unsigned Found::count(dissect::Notice::Kind kind) const {
    return static_cast<unsigned>(std::count(notices.begin(), notices.end(), kind));
}

Found find(const Wire& wire, const dissect::DissectorOptions& options, std::size_t skip_frames) {
    Found found;
    Collector collector{found, wire};
    dissect::Dissector dissector{options};
    for (std::size_t i = skip_frames; i < wire.frames.size(); ++i) {
        wire::Frame frame;
        // A copy of its own: an access beyond it is found by the sanitizers.
        const Octets copy = wire.frames[i];
        frame.bytes = copy;
        frame.wire_length = wire.wire_lengths[i];
        frame.number = i + 1;
        dissector.dissect(frame, collector);
    }
    dissector.finish(collector);
    found.counters = dissector.counters();
    return found;
}

}  // namespace iwarp_test
