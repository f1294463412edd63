#include "tests/unit/upper/found_commands.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "base/bytes.h"
#include "dissect/dissector.h"
#include "tests/support/pcaps.h"

namespace upper_test {

namespace {

using Octets = std::vector<std::byte>;

// Where RoCEv2 over IPv4 has its parts, in the frames that are changed here.
constexpr std::size_t bth_at = 14 + 20 + 8;
constexpr std::size_t bth_size = 12;
constexpr std::size_t icrc_size = 4;

std::uint8_t octet(const Octets& octets, std::size_t at) { return std::to_integer<std::uint8_t>(octets[at]); }

void put(Octets& out, std::uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) out.push_back(static_cast<std::byte>(value >> 8 * i & 0xff));
}
void put_octets(Octets& out, const std::byte* first, std::size_t count) { out.insert(out.end(), first, first + count); }

bool is_roce(const Octets& frame) {
    return frame.size() > bth_at + bth_size + icrc_size && base::load_be16(frame.data() + 12) == 0x0800 &&
           octet(frame, 23) == 17 && base::load_be16(frame.data() + 36) == 4791;
}

/// The last octet of the address, which distinguishes the two hosts.
std::uint8_t source_host(const Octets& frame) { return octet(frame, 29); }
std::uint8_t destination_host(const Octets& frame) { return octet(frame, 33); }

}  // namespace

Frames load(const std::string& name) {
    std::vector<support::KeptFrame> kept;
    support::load_capture(support::pcaps() + "/" + name, ~std::size_t{0}, kept);
    Frames frames;
    for (support::KeptFrame& one : kept) frames.push_back({std::move(one), frames.size() + 1});
    return frames;
}

Frames snapped(Frames frames, std::size_t bytes) {
    for (NumberedFrame& one : frames)
        if (one.kept.octets.size() > bytes) one.kept.octets.resize(bytes);
    return frames;
}

Frames as_infiniband(const Frames& frames) {
    Frames out;
    for (const NumberedFrame& one : frames) {
        if (!is_roce(one.kept.octets)) continue;
        const Octets& from = one.kept.octets;
        NumberedFrame frame{{{}, 0, wire::LinkType::infiniband, one.kept.time_ns}, one.number};
        Octets& to = frame.kept.octets;
        const std::size_t packet = base::load_be16(from.data() + 38) - 8u;
        put(to, 0x0002, 2);  // virtual lane 0; a BTH follows
        put(to, destination_host(from), 2);
        put(to, (8 + packet) / 4, 2);
        put(to, source_host(from), 2);
        put_octets(to, from.data() + bth_at, packet);
        put(to, 0, 2);  // VCRC
        frame.kept.wire_length = static_cast<std::uint32_t>(to.size());
        out.push_back(std::move(frame));
    }
    return out;
}

namespace {

/// Makes segments of iWARP of packets of RoCE: knows the connections by their queue pairs.
class IwarpMaker {
public:
    void packet(const NumberedFrame& frame);
    Frames frames;

private:
    struct Side {
        std::uint32_t sequence = 1000;
        std::uint32_t send_msn = 0;
        std::uint32_t send_offset = 0;
        std::uint32_t read_msn = 0;
        std::uint64_t write_address = 0;
        std::uint32_t write_key = 0;
        std::uint64_t response_offset = 0;
        std::vector<std::uint32_t> sinks = {};  ///< of READs that wait
    };
    struct Stream {
        std::uint16_t port = 0;
        std::uint8_t client = 0;
        std::uint32_t client_qp = 0;
        std::uint32_t server_qp = 0;
        std::uint8_t server = 0;
        std::array<Side, 2> sides = {};
    };

    void management(const NumberedFrame& frame);
    void message(const NumberedFrame& frame, Stream& stream, unsigned side);
    void segment(const NumberedFrame& like, Stream& stream, unsigned side, const Octets& payload, std::uint8_t flags);
    void fpdu(const NumberedFrame& like, Stream& stream, unsigned side, const Octets& ulpdu);
    void untagged(const NumberedFrame& like, Stream& stream, unsigned side, std::uint8_t opcode, std::uint32_t queue,
                  bool last, std::uint32_t msn, std::uint32_t offset, std::uint32_t invalidate, const Octets& payload);
    void tagged(const NumberedFrame& like, Stream& stream, unsigned side, std::uint8_t opcode, bool last,
                std::uint32_t key, std::uint64_t address, const Octets& payload);

    std::vector<Stream> streams_;
    std::map<std::uint32_t, Stream> requested_;  ///< by communication id
    std::map<std::uint32_t, Octets> private_data_;
    std::uint32_t next_sink_ = 0x700;
    std::uint16_t next_port_ = 40000;
};

void IwarpMaker::segment(const NumberedFrame& like, Stream& stream, unsigned side, const Octets& payload,
                         std::uint8_t flags) {
    NumberedFrame frame{{{}, 0, wire::LinkType::ethernet, like.kept.time_ns}, like.number};
    Octets& to = frame.kept.octets;
    put_octets(to, like.kept.octets.data(), 12);
    put(to, 0x0800, 2);
    put(to, 0x45000000 | (40 + payload.size()), 4);
    put(to, 0x00004000, 4);
    put(to, 0x40060000, 4);
    put(to, 0xc0000200 | (side == 0 ? stream.client : stream.server), 4);
    put(to, 0xc0000200 | (side == 0 ? stream.server : stream.client), 4);
    constexpr std::uint16_t service = 4420;
    put(to, side == 0 ? stream.port : service, 2);
    put(to, side == 0 ? service : stream.port, 2);
    Side& own = stream.sides[side];
    put(to, own.sequence, 4);
    put(to, stream.sides[1 - side].sequence, 4);
    put(to, 0x5000 | flags, 2);
    put(to, 0xffff, 2);
    put(to, 0, 4);
    put_octets(to, payload.data(), payload.size());
    own.sequence += static_cast<std::uint32_t>(payload.size()) + ((flags & 2) != 0 ? 1 : 0);
    frame.kept.wire_length = static_cast<std::uint32_t>(to.size());
    frames.push_back(std::move(frame));
}

constexpr std::uint8_t tcp_push_ack = 0x18;
constexpr std::uint8_t tcp_plain_ack = 0x10;

void IwarpMaker::fpdu(const NumberedFrame& like, Stream& stream, unsigned side, const Octets& ulpdu) {
    Octets octets;
    put(octets, ulpdu.size(), 2);
    put_octets(octets, ulpdu.data(), ulpdu.size());
    while (octets.size() % 4 != 0) put(octets, 0, 1);
    put(octets, 0, 4);  // no CRC
    segment(like, stream, side, octets, tcp_push_ack);
}

void IwarpMaker::untagged(const NumberedFrame& like, Stream& stream, unsigned side, std::uint8_t opcode,
                          std::uint32_t queue, bool last, std::uint32_t msn, std::uint32_t offset,
                          std::uint32_t invalidate, const Octets& payload) {
    Octets ulpdu;
    put(ulpdu, last ? 0x41 : 0x01, 1);
    put(ulpdu, 0x40u | opcode, 1);
    put(ulpdu, invalidate, 4);
    put(ulpdu, queue, 4);
    put(ulpdu, msn, 4);
    put(ulpdu, offset, 4);
    put_octets(ulpdu, payload.data(), payload.size());
    fpdu(like, stream, side, ulpdu);
}

void IwarpMaker::tagged(const NumberedFrame& like, Stream& stream, unsigned side, std::uint8_t opcode, bool last,
                        std::uint32_t key, std::uint64_t address, const Octets& payload) {
    Octets ulpdu;
    put(ulpdu, last ? 0xc1 : 0x81, 1);
    put(ulpdu, 0x40u | opcode, 1);
    put(ulpdu, key, 4);
    put(ulpdu, address, 8);
    put_octets(ulpdu, payload.data(), payload.size());
    fpdu(like, stream, side, ulpdu);
}

/// REQ and REP become the TCP handshake with MPA's; all else is left out.
void IwarpMaker::management(const NumberedFrame& frame) {
    const Octets& from = frame.kept.octets;
    const std::size_t mad = bth_at + bth_size + 8;
    const std::size_t message = mad + 24;
    const std::uint16_t attribute = base::load_be16(from.data() + mad + 16);
    constexpr std::uint16_t request = 0x10;
    constexpr std::uint16_t reply = 0x13;
    if (attribute == request) {
        const std::uint32_t id = base::load_be32(from.data() + message);
        Stream stream;
        stream.port = next_port_++;
        stream.client = source_host(from);
        stream.server = destination_host(from);
        stream.client_qp = base::load_be24(from.data() + message + 32);
        requested_[id] = stream;
        // After the 36 octets of the IP service.
        const std::byte* data = from.data() + message + 140 + 36;
        private_data_[id] = Octets(data, data + 32);
        return;
    }
    if (attribute != reply) return;
    const std::uint32_t id = base::load_be32(from.data() + message + 4);
    if (!requested_.contains(id)) return;
    Stream& stream = streams_.emplace_back(requested_[id]);
    stream.server_qp = base::load_be24(from.data() + message + 12);
    requested_.erase(id);
    segment(frame, stream, 0, {}, 0x02);
    segment(frame, stream, 1, {}, 0x12);
    const auto start = [&](const char* key, const Octets& data, unsigned side) {
        Octets octets;
        put_octets(octets, reinterpret_cast<const std::byte*>(key), 16);
        put(octets, 0x0001, 2);  // no markers, no CRC; revision 1
        put(octets, data.size(), 2);
        put_octets(octets, data.data(), data.size());
        segment(frame, stream, side, octets, tcp_push_ack);
    };
    start("MPA ID Req Frame", private_data_[id], 0);
    start("MPA ID Rep Frame", {}, 1);
}

void IwarpMaker::message(const NumberedFrame& frame, Stream& stream, unsigned side) {
    const Octets& from = frame.kept.octets;
    const std::uint8_t opcode = octet(from, bth_at);
    const std::size_t pad = octet(from, bth_at + 1) >> 4 & 3;
    std::size_t at = bth_at + bth_size;
    const std::size_t end = 14 + 20 + base::load_be16(from.data() + 38) - icrc_size - pad;
    Side& own = stream.sides[side];
    Side& peer = stream.sides[1 - side];
    const auto rest = [&] {
        return Octets(from.begin() + static_cast<std::ptrdiff_t>(at), from.begin() + static_cast<std::ptrdiff_t>(end));
    };
    switch (opcode) {
        case 0:     // SEND First
        case 1:     // Middle
        case 2:     // Last
        case 4:     // Only
        case 22:    // Last with Invalidate
        case 23: {  // Only with Invalidate
            std::uint32_t invalidate = 0;
            if (opcode >= 22) {
                invalidate = base::load_be32(from.data() + at);
                at += 4;
            }
            const bool starts = opcode == 0 || opcode == 4 || opcode == 23;
            const bool last = opcode != 0 && opcode != 1;
            if (starts) {
                ++own.send_msn;
                own.send_offset = 0;
            }
            const Octets payload = rest();
            untagged(frame, stream, side, invalidate != 0 ? 4 : 3, 0, last, own.send_msn, own.send_offset, invalidate,
                     payload);
            own.send_offset += static_cast<std::uint32_t>(payload.size());
            return;
        }
        case 6:     // RDMA WRITE First
        case 7:     // Middle
        case 8:     // Last
        case 10: {  // Only
            if (opcode == 6 || opcode == 10) {
                own.write_address = base::load_be64(from.data() + at);
                own.write_key = base::load_be32(from.data() + at + 8);
                at += 16;
            }
            const Octets payload = rest();
            tagged(frame, stream, side, 0, opcode == 8 || opcode == 10, own.write_key, own.write_address, payload);
            own.write_address += payload.size();
            return;
        }
        case 12: {  // RDMA READ Request
            Octets request;
            own.sinks.push_back(next_sink_);
            put(request, next_sink_++, 4);
            put(request, 0, 8);
            put_octets(request, from.data() + at + 12, 4);
            put_octets(request, from.data() + at + 8, 4);
            put_octets(request, from.data() + at, 8);
            untagged(frame, stream, side, 1, 1, true, ++own.read_msn, 0, 0, request);
            return;
        }
        case 13:    // RDMA READ Response First
        case 14:    // Middle
        case 15:    // Last
        case 16: {  // Only
            if (opcode != 14) at += 4;
            if (opcode == 13 || opcode == 16) own.response_offset = 0;
            const bool last = opcode == 15 || opcode == 16;
            const Octets payload = rest();
            tagged(frame, stream, side, 2, last, peer.sinks.front(), own.response_offset, payload);
            own.response_offset += payload.size();
            if (last) peer.sinks.erase(peer.sinks.begin());
            return;
        }
        default: segment(frame, stream, side, {}, tcp_plain_ack);
    }
}

void IwarpMaker::packet(const NumberedFrame& frame) {
    const Octets& from = frame.kept.octets;
    constexpr std::uint8_t unreliable_datagram = 0x64;
    if (octet(from, bth_at) == unreliable_datagram) return management(frame);
    const std::uint32_t destination = base::load_be24(from.data() + bth_at + 5);
    for (Stream& stream : streams_) {
        const bool from_client = source_host(from) == stream.client && destination == stream.server_qp;
        const bool from_server = source_host(from) == stream.server && destination == stream.client_qp;
        if (from_client || from_server) return message(frame, stream, from_client ? 0 : 1);
    }
}

}  // namespace

Frames as_iwarp(const Frames& frames) {
    IwarpMaker maker;
    for (const NumberedFrame& one : frames)
        if (is_roce(one.kept.octets)) maker.packet(one);
    return std::move(maker.frames);
}

void read_to(upper::Listener& listener, const Frames& frames, const upper::ReaderOptions& options) {
    upper::Reader reader(options, nullptr, &listener);
    dissect::DissectorOptions dissecting;
    dissecting.parse.verify_crc = false;
    dissect::Dissector dissector(dissecting);
    for (const NumberedFrame& one : frames) dissector.dissect(one.kept.frame(one.number), reader);
    dissector.finish(reader);
    reader.finish();
}

Finder read(const Frames& frames, const upper::ReaderOptions& options) {
    Finder finder;
    read_to(finder, frames, options);
    std::stable_sort(finder.answered.begin(), finder.answered.end(),
                     [](const Found& one, const Found& two) { return one.response < two.response; });
    return finder;
}

std::vector<Found> expected(const std::string& name) {
    std::vector<Found> all;
    std::ifstream file(support::pcaps() + "/../tests/unit/upper/" + name + ".tsv");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#') || line.starts_with("id")) continue;
        std::istringstream row(line);
        Found found;
        row >> found.id >> found.kind >> found.advertised >> found.inline_bytes >> found.moved >> found.request_first >>
            found.request_last >> found.operations >> found.data_first >> found.data_last >> found.response >>
            found.begin_ns;
        for (std::uint64_t& part : found.parts_ns) row >> part;
        EXPECT_FALSE(row.fail()) << line;
        found.end = "answered";
        found.status = "Success";
        if (std::string status; row >> std::ws && std::getline(row, status)) found.status = status;
        all.push_back(std::move(found));
    }
    EXPECT_FALSE(all.empty()) << name;
    std::stable_sort(all.begin(), all.end(),
                     [](const Found& one, const Found& two) { return one.response < two.response; });
    return all;
}

std::vector<Found> expected_nvme() { return expected("nvme-rdma-rxe"); }

}  // namespace upper_test
