#include "capture/live/mpa_ports.h"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <set>

#include "capture/filter/kernel_filter.h"
#include "support.h"
#include "tests/support/pcaps.h"

namespace capture::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

wire::Frame view(const Kept& kept, std::size_t snaplen) {
    const auto octets = std::as_bytes(std::span(kept.bytes));
    return {.bytes = octets.first(std::min(octets.size(), snaplen)),
            .wire_length = kept.wire_length,
            .link_type = static_cast<wire::LinkType>(kept.link_type)};
}

std::vector<std::filesystem::path> captures(std::string_view prefix) {
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(support::pcaps())) {
        const std::string name = file.path().filename();
        if (name.starts_with(prefix) && name.find(".pcap") != std::string::npos) files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());
    EXPECT_THAT(files, testing::Not(IsEmpty()));
    return files;
}

BpfProgram expression(const std::string& text) {
    auto program = compile_for_socket(text, {}, wire::LinkType::ethernet, 65535);
    EXPECT_TRUE(program.ok()) << text;
    return program.ok() ? *program : BpfProgram{};
}

bool matches(const BpfProgram& program, const Kept& kept) {
    return run(program, std::as_bytes(std::span(kept.bytes)), kept.wire_length) != 0;
}

/// Where the SYNs of a capture without IP options and IPv6 go: the servers' ports, read apart from our code.
std::set<std::uint16_t> servers(const Contents& capture) {
    const BpfProgram syn = expression("tcp and tcp[13] & 0x12 = 2 and ip[0] = 0x45");
    std::set<std::uint16_t> ports;
    for (const Kept& each : capture.frames)
        if (matches(syn, each))
            ports.insert(static_cast<std::uint16_t>(static_cast<unsigned char>(each.bytes[36]) << 8 |
                                                    static_cast<unsigned char>(each.bytes[37])));
    return ports;
}

/// What is learnt of the frames from `first` on, cut to `snaplen`.
std::vector<std::uint16_t> learnt(const Contents& capture, std::size_t first, std::size_t snaplen, bool streams) {
    MpaPorts ports(64, 1000);
    for (std::size_t i = first; i < capture.frames.size(); ++i)
        if (const auto port = ports.look(view(capture.frames[i], snaplen), 0, streams)) {
            EXPECT_TRUE(ports.add(*port, 0));
        }
    return ports.all();
}

TEST(MpaPorts, start_frames_give_the_servers_away) {
    for (const auto& file : captures("siw-")) {
        const Contents capture = read_all(file, {}, 64);
        const auto expected = servers(capture);
        for (const std::uint16_t port : learnt(capture, 0, 192, false))
            EXPECT_THAT(expected, testing::Contains(port)) << file;
        const bool some = std::any_of(capture.frames.begin(), capture.frames.end(), [](const Kept& each) {
            return each.bytes.find("MPA ID Req Frame") != std::string::npos;
        });
        EXPECT_EQ(!learnt(capture, 0, 192, false).empty(), some) << file;
    }
}

/// Once its port is known, every segment of a connection is, whatever else the frame is.
TEST(MpaPorts, connections_under_way_are_found) {
    const BpfProgram start =
        expression("tcp[(tcp[12] & 0xf0) >> 2 : 4] = 0x4d504120 and tcp[((tcp[12] & 0xf0) >> 2) + 4 : 4] = 0x49442052");
    int found = 0;
    int missed = 0;
    for (const auto& file : captures("siw-")) {
        const Contents capture = read_all(file, {}, 64);
        std::size_t after = 0;
        for (std::size_t i = 0; i < capture.frames.size(); ++i)
            if (matches(start, capture.frames[i])) after = i + 1;
        if (after == 0 || capture.frames.size() - after < 100) continue;
        const auto expected = servers(capture);
        const auto ports = learnt(capture, after, 192, true);
        EXPECT_THAT(learnt(capture, after, 192, false), IsEmpty()) << file;
        for (const std::uint16_t port : ports) EXPECT_THAT(expected, testing::Contains(port)) << file;
        ++(ports.empty() ? missed : found);
        if (ports.empty()) std::cout << "not found: " << file.filename() << '\n';
    }
    EXPECT_GE(found, 20);
    EXPECT_EQ(missed, 0);
}

TEST(MpaPorts, other_tcp_is_not_taken_for_it) {
    const BpfProgram tcp = expression("tcp");
    std::size_t segments = 0;
    for (const std::string_view prefix : {"rxe-", "smc-", "nfs-rdma-rxe", "rds-", "smbdirect-rxe"})
        for (const auto& file : captures(prefix)) {
            const Contents capture = read_all(file, {}, 64);
            for (const Kept& each : capture.frames) segments += matches(tcp, each) ? 1 : 0;
            EXPECT_THAT(learnt(capture, 0, 192, true), IsEmpty()) << file;
            EXPECT_THAT(learnt(capture, 0, 65535, true), IsEmpty()) << file;
        }
    EXPECT_GT(segments, 100U);
}

constexpr unsigned ack_and_push = 0x18;
constexpr unsigned fin_and_ack = 0x11;
constexpr unsigned syn = 0x02;

Kept segment(unsigned source, unsigned destination, std::uint32_t sequence, const std::string& payload,
             std::uint32_t acknowledged = 0, unsigned flags = ack_and_push) {
    Maker frame(true);
    frame.text(std::string(12, '\2')).u16(0x0800).u8(0x45).u8(0).u16(static_cast<unsigned>(40 + payload.size()));
    frame.u32(0).u8(64).u8(6).u16(0).u32(0x0a000001).u32(0x0a000002);
    frame.u16(source).u16(destination).u32(sequence).u32(acknowledged).u8(0x50).u8(flags).u16(1).u32(0).text(payload);
    Kept kept{};
    kept.bytes = frame.str();
    kept.wire_length = static_cast<std::uint32_t>(kept.bytes.size());
    kept.link_type = 1;
    return kept;
}

/// RFC 5044 section 4.1 and RFC 5041 section 4.2: an RDMA Write of 10 octets, its CRC wrong.
std::string write_fpdu() {
    return Maker(true).u16(24).u8(0xc1).u8(0x40).u32(0x100).u64(0x1000).text(std::string(10, 'x')).u16(0).u32(1).str();
}

TEST(MpaPorts, tagged_fpdus_convince_when_they_follow_each_other) {
    MpaPorts ports(64, 1000);
    const std::string fpdu = write_fpdu();
    ASSERT_EQ(fpdu.size(), 32U);
    EXPECT_EQ(ports.look(view(segment(50000, 7174, 1000, fpdu + fpdu), 192), 0, true), std::nullopt);
    EXPECT_EQ(ports.look(view(segment(50000, 7174, 1064, fpdu), 192), 0, true), std::nullopt);
    EXPECT_EQ(ports.look(view(segment(7174, 50000, 1064, fpdu), 192), 0, true), std::nullopt) << "another direction";
    EXPECT_EQ(ports.look(view(segment(50000, 7174, 1096, fpdu), 192), 0, true), 7174);
}

TEST(MpaPorts, one_that_is_none_sets_back) {
    MpaPorts ports(64, 1000);
    const std::string fpdu = write_fpdu();
    EXPECT_EQ(ports.look(view(segment(50000, 7174, 1000, fpdu + fpdu + fpdu), 192), 0, true), std::nullopt);
    EXPECT_EQ(ports.look(view(segment(50000, 7174, 1096, std::string(32, 'x')), 192), 0, true), std::nullopt);
    EXPECT_EQ(ports.look(view(segment(50000, 7174, 1128, fpdu + fpdu + fpdu), 192), 0, true), std::nullopt);
    EXPECT_EQ(ports.look(view(segment(50000, 7174, 1224, fpdu), 192), 0, true), 7174);
}

std::string start_frame(const char* key) { return key + std::string(4, '\0'); }
constexpr const char* request_key = "MPA ID Req Frame";
constexpr const char* reply_key = "MPA ID Rep Frame";

TEST(MpaPorts, room_is_bounded_and_made_by_the_idlest) {
    MpaPorts ports(3, 1000);
    const std::vector<std::uint16_t> configured{7};
    ports.configure(configured);
    for (const std::uint16_t port : {std::uint16_t{100}, std::uint16_t{200}}) {
        EXPECT_TRUE(ports.add(port, port == 100 ? 0 : 10));
        (void)ports.look(view(segment(port, 50000, 1, start_frame(reply_key)), 192), port == 100 ? 0 : 10, false);
    }
    EXPECT_FALSE(ports.add(300, 999)) << "100 was in use a moment ago";
    EXPECT_EQ(ports.look(view(segment(50000, 100, 1, "x"), 192), 500, true), std::nullopt);
    EXPECT_TRUE(ports.add(300, 1010)) << "200 was idle for long";
    (void)ports.look(view(segment(300, 50000, 1, start_frame(reply_key)), 192), 1010, false);
    EXPECT_THAT(ports.all(), ElementsAre(7, 100, 300));
    const std::vector<std::uint16_t> others{300, 9};
    ports.configure(others);
    EXPECT_THAT(ports.all(), ElementsAre(9, 100, 300));
    EXPECT_TRUE(ports.add(9, 1011));
    EXPECT_FALSE(ports.add(400, 1011));
}

TEST(MpaPorts, a_port_that_a_server_confirmed_stays_in_a_flood_of_requests) {
    MpaPorts ports(8, 1'000'000);
    ASSERT_TRUE(ports.add(7174, 0));
    (void)ports.look(view(segment(7174, 50000, 1, start_frame(reply_key)), 192), 0, false);
    for (unsigned port = 10000; port < 10500; ++port) {
        const auto seen = ports.look(view(segment(50000, port, 1, start_frame(request_key)), 192), port, false);
        ASSERT_EQ(seen, port);
        EXPECT_TRUE(ports.add(*seen, port));
    }
    EXPECT_THAT(ports.all(), testing::SizeIs(8));
    EXPECT_THAT(ports.all(), testing::Contains(7174));
    EXPECT_THAT(ports.all(), testing::Contains(10499)) << "the oldest of the flood gave way";
}

const std::string http = "GET / HTTP/1.1 and some more text";

/// A connection from 10.0.0.1, port 50000, to 10.0.0.2, as the recorder judges its segments.
class Recogniser {
public:
    explicit Recogniser(std::size_t snaplen = 192) : snaplen_(snaplen) {}

    bool client(std::uint32_t sequence, const std::string& payload, std::uint32_t acknowledged = 0,
                unsigned flags = ack_and_push) {
        return ports.recognises(view(segment(50000, server, sequence, payload, acknowledged, flags), snaplen_), 0);
    }
    bool answer(std::uint32_t sequence, const std::string& payload, std::uint32_t acknowledged = 0,
                unsigned flags = ack_and_push) {
        Kept kept = segment(server, 50000, sequence, payload, acknowledged, flags);
        std::swap_ranges(kept.bytes.begin() + 26, kept.bytes.begin() + 30, kept.bytes.begin() + 30);
        return ports.recognises(view(kept, snaplen_), 0);
    }
    /// A Request and a Reply that acknowledge each other; the next bytes are 1020 and 5020.
    void set_up() {
        EXPECT_TRUE(client(1000, start_frame(request_key), 5000));
        EXPECT_TRUE(answer(5000, start_frame(reply_key), 1020));
    }

    static constexpr unsigned server = 443;
    MpaPorts ports{64, 1'000'000};

private:
    std::size_t snaplen_;
};

TEST(MpaConnections, both_ends_set_up) {
    Recogniser wire;
    EXPECT_TRUE(wire.client(1000, start_frame(request_key), 5000));
    EXPECT_FALSE(wire.client(1020, "", 5000)) << "not yet";
    EXPECT_TRUE(wire.answer(5000, start_frame(reply_key), 1020));
    EXPECT_TRUE(wire.client(1020, "", 5020));
    EXPECT_TRUE(wire.client(1020, write_fpdu(), 5020));
    EXPECT_TRUE(wire.answer(5020, write_fpdu(), 1052));
    EXPECT_TRUE(wire.client(1020, write_fpdu(), 5020)) << "sent again";
    EXPECT_TRUE(wire.client(1000, start_frame(request_key), 5000)) << "sent again";
    EXPECT_FALSE(wire.ports.recognises(view(segment(50001, Recogniser::server, 1052, write_fpdu()), 192), 0))
        << "another connection";
}

TEST(MpaConnections, the_reply_may_be_seen_first) {
    Recogniser wire;
    EXPECT_TRUE(wire.answer(5000, start_frame(reply_key), 1020));
    EXPECT_TRUE(wire.client(1000, start_frame(request_key), 5000));
    EXPECT_TRUE(wire.client(1020, write_fpdu(), 5020));
}

/// Frames that any host can send, with the addresses, ports and sequence numbers of a connection of HTTP.
TEST(MpaConnections, forged_frames_make_no_connection) {
    const auto forge = [](const std::function<void(Recogniser&)>& frames) {
        Recogniser wire;
        EXPECT_FALSE(wire.client(980, "GET /1 HTTP/1.1\r\n\r\n.", 5000));
        frames(wire);
        EXPECT_FALSE(wire.client(1000, http, 5000));
        EXPECT_FALSE(wire.answer(5000, "HTTP/1.1 200 OK and a text", 1033));
        EXPECT_FALSE(wire.client(1033, http, 5026));
        EXPECT_FALSE(wire.client(1066, "", 5026));
    };
    const std::string fpdu = write_fpdu();
    const auto nothing = [](Recogniser&) {};
    const auto request = [](Recogniser& wire) { EXPECT_TRUE(wire.client(1000, start_frame(request_key), 5000)); };
    const auto reply = [](Recogniser& wire) { EXPECT_TRUE(wire.answer(5000, start_frame(reply_key), 1000)); };
    forge(nothing);
    forge(request);
    forge(reply);
    forge([&](Recogniser& wire) {
        for (int i = 0; i < 5; ++i) request(wire);
    });
    forge([&](Recogniser& wire) {
        request(wire);
        EXPECT_TRUE(wire.answer(5000, start_frame(request_key), 1020)) << "two Requests";
    });
    forge([&](Recogniser& wire) {
        request(wire);
        reply(wire);  // which does not acknowledge the Request
    });
    forge([&](Recogniser& wire) { wire.set_up(); });
    forge([&](Recogniser& wire) { EXPECT_FALSE(wire.client(1000, fpdu, 5000)); });
    forge([&](Recogniser& wire) { EXPECT_TRUE(wire.client(1000, fpdu + fpdu + fpdu + fpdu, 5000)); });
}

TEST(MpaConnections, what_does_not_continue_with_fpdus_is_forgotten) {
    Recogniser wire;
    wire.set_up();
    EXPECT_FALSE(wire.client(1020, http, 5020));
    EXPECT_FALSE(wire.client(1053, "", 5020));
    EXPECT_FALSE(wire.answer(5020, http, 1053));
}

TEST(MpaConnections, other_sequence_numbers_are_another_connection) {
    Recogniser wire;
    wire.set_up();
    EXPECT_FALSE(wire.client(0x40000000, http, 0x60000000));
    EXPECT_FALSE(wire.answer(0x60000000, http, 0x40000021));
    EXPECT_TRUE(wire.client(1020, write_fpdu(), 5020)) << "those of this one still belong to it";
}

/// RFC 5044 section 4.1 and RFC 5041 section 4.2; the CRC is that of Castagnoli, of RFC 3720 B.4 by its own arithmetic.
TEST(MpaConnections, one_fpdu_does_not_suffice) {
    const std::string body = write_fpdu().substr(0, 28);
    std::uint32_t crc = 0xffffffff;
    for (const char octet : body) {
        crc ^= static_cast<unsigned char>(octet);
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    }
    crc = ~crc;
    std::string fpdu = body;
    for (int i = 0; i < 4; ++i) fpdu += static_cast<char>(crc >> 8 * i & 0xff);
    Recogniser wire;
    EXPECT_FALSE(wire.client(1000, fpdu, 5000)) << "though its CRC is right";
    EXPECT_TRUE(wire.client(1032, fpdu, 5000));
    EXPECT_FALSE(wire.answer(5000, "", 1064)) << "only FPDUs belong to it so far";
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(wire.client(1064 + 32 * i, fpdu, 5000));
    EXPECT_TRUE(wire.answer(5000, "", 1192));
    // Of connections without CRCs several have to follow each other.
    Recogniser without;
    EXPECT_FALSE(without.client(1000, write_fpdu() + write_fpdu(), 5000));
    EXPECT_TRUE(without.client(1064, write_fpdu() + write_fpdu(), 5000));
}

TEST(MpaConnections, a_new_connection_of_the_same_ports_is_judged_again) {
    Recogniser wire;
    wire.set_up();
    for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(wire.client(1020 + 32 * i, write_fpdu(), 5020));
    EXPECT_TRUE(wire.client(1212, http, 5020)) << "it has proven what it is";
    EXPECT_TRUE(wire.client(1245, "", 5020, fin_and_ack));
    EXPECT_TRUE(wire.client(2000, "", 0, syn)) << "to a port that served MPA";
    EXPECT_FALSE(wire.client(2001, http, 9000));
    EXPECT_FALSE(wire.answer(9000, http, 2034));
}

TEST(MpaConnections, markers_hide_where_fpdus_begin) {
    Recogniser wire;
    std::string reply = start_frame(reply_key);
    reply[16] = '\x80';
    EXPECT_TRUE(wire.client(1000, start_frame(request_key), 5000));
    EXPECT_TRUE(wire.answer(5000, reply, 1020));
    EXPECT_TRUE(wire.client(1020, std::string(4, '\0') + write_fpdu(), 5020));
}

TEST(MpaPorts, configured_ports_and_other_protocols_are_recognised) {
    MpaPorts ports(64, 1'000'000);
    ports.configure(std::vector<std::uint16_t>{4420});
    // A port that any start frame named says nothing about the connections to it.
    ASSERT_TRUE(ports.add(443, 0));
    EXPECT_FALSE(ports.recognises(view(segment(50000, 443, 1, http), 192), 0));
    EXPECT_FALSE(ports.recognises(view(segment(50000, 443, 1, "", 0, syn), 192), 0));
    EXPECT_TRUE(ports.recognises(view(segment(50000, 4420, 1, http), 192), 0)) << "configured";
    Kept udp = segment(50000, 4791, 1, http);
    udp.bytes[14 + 9] = 17;
    EXPECT_TRUE(ports.recognises(view(udp, 192), 0)) << "what is not TCP is not ours to judge";
}

/// Every segment from the Request on, of captures of real stacks, whole and cut. The ports are read apart from our
/// code.
TEST(MpaConnections, real_connections_stay_recognised) {
    const BpfProgram payload = expression("tcp and ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) != 0");
    std::size_t segments = 0;
    for (const auto& file : captures("siw-"))
        for (const std::size_t snaplen : {std::size_t{192}, std::size_t{65535}}) {
            const Contents capture = read_all(file, {}, 64);
            MpaPorts ports(64, 1000);
            std::set<std::uint16_t> begun;
            std::size_t missed = 0;
            for (const Kept& each : capture.frames) {
                if (!matches(payload, each)) continue;
                const auto port = [&](std::size_t at) {
                    return static_cast<std::uint16_t>(static_cast<unsigned char>(each.bytes[at]) << 8 |
                                                      static_cast<unsigned char>(each.bytes[at + 1]));
                };
                const bool is_request = each.bytes.find("MPA ID Req Frame") != std::string::npos;
                if (is_request) begun.insert(port(34));
                if (!begun.contains(port(34)) && !begun.contains(port(36))) continue;
                ++segments;
                missed += ports.recognises(view(each, snaplen), 0) ? 0 : 1;
            }
            EXPECT_EQ(missed, 0U) << file << " cut to " << snaplen;
        }
    EXPECT_GT(segments, 10'000U);
}

TEST(MpaPorts, any_octets_are_survived) {
    const Kept whole = segment(50000, 7174, 1000, "MPA ID Req Frame" + std::string(4, '\0'));
    for (std::size_t size = 0; size <= whole.bytes.size(); ++size)
        for (std::size_t at = 12; at < 60; ++at)
            for (const char value : {'\0', '\x45', '\x4f', '\x60', '\x81', '\xff'}) {
                Kept odd = whole;
                odd.bytes[at] = value;
                MpaPorts ports(2, 1);
                (void)ports.look(view(odd, size), 0, true);
                (void)ports.recognises(view(odd, size), 0);
            }
}

}  // namespace
}  // namespace capture::test
