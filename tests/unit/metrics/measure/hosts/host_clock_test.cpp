/// Hosts counted by summaries of packets. Addresses are compared with what the dissector says of the same frame; rates,
/// windows and repeats are made so that the answer is known.
#include "metrics/measure/hosts/host_clock.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "capture/files/file_source.h"
#include "dissect/dissector.h"
#include "metrics/measure/packet/packet_addresses.h"
#include "metrics/measure/packet/packet_summary.h"
#include "tests/support/pcaps.h"
#include "wire/bth.h"
#include "wire/bth_opcode.h"
#include "wire/ipv4.h"
#include "wire/tcp.h"
#include "wire/udp.h"

namespace metrics {
namespace {

using Octets = std::vector<std::byte>;

template <class Header>
void append(Octets& out, const Header& header) {
    const auto octets = wire::to_octets(header);
    out.insert(out.end(), octets.begin(), octets.end());
}

struct Packet {
    std::uint8_t source = 1;
    std::uint8_t destination = 2;
    std::uint8_t opcode = 4;  // RC SEND Only
    std::uint32_t qpn = 17;
    std::uint32_t psn = 0;
    std::uint32_t payload = 1024;
    std::uint16_t id = 0;
};

Octets ip_frame(const Packet& packet, std::uint8_t protocol, const Octets& transport) {
    Octets out(14);
    out[12] = std::byte{8};
    wire::Ipv4 ip;
    ip.total_length = static_cast<std::uint16_t>(20 + transport.size());
    ip.identification = packet.id;
    ip.protocol = protocol;
    append(out, ip);
    for (const unsigned at : {12u, 16u}) {
        out[14 + at] = std::byte{192};
        out[14 + at + 2] = std::byte{2};
        out[14 + at + 3] = static_cast<std::byte>(at == 12 ? packet.source : packet.destination);
    }
    out.insert(out.end(), transport.begin(), transport.end());
    return out;
}

Octets roce(const Packet& packet) {
    const std::uint32_t extended = wire::bth_opcode(packet.opcode).header_octets;
    Octets transport;
    wire::Udp udp;
    udp.destination_port = 4791;
    udp.length = static_cast<std::uint16_t>(8 + 12 + extended + packet.payload + 4);
    append(transport, udp);
    wire::Bth bth;
    bth.opcode = packet.opcode;
    bth.destination_qp = packet.qpn;
    bth.psn = packet.psn;
    append(transport, bth);
    transport.resize(udp.length);
    return ip_frame(packet, 17, transport);
}

Octets tcp(const Packet& packet, std::uint32_t sequence, bool push = false) {
    Octets transport;
    wire::Tcp header;
    header.source_port = 40000;
    header.destination_port = 7174;
    header.sequence = sequence;
    header.ack = true;
    header.psh = push;
    append(transport, header);
    transport.resize(transport.size() + packet.payload);
    return ip_frame(packet, 6, transport);
}

/// Feeds frames at given times, in order.
class Feeder {
public:
    explicit Feeder(std::optional<std::uint64_t> rate = std::nullopt, std::size_t max_hosts = 1024)
        : clock(rate, max_hosts) {}
    FrameContext operator()(const Octets& octets, std::int64_t time_ns, std::uint32_t interface = 0) {
        wire::Frame frame;
        frame.bytes = octets;
        frame.wire_length = static_cast<std::uint32_t>(octets.size());
        frame.time_ns = time_ns;
        frame.interface = interface;
        frame.number = ++frames;
        return clock.observe(frame);
    }
    HostSnapshot host(std::uint8_t last) const {
        std::vector<HostSnapshot> hosts;
        std::vector<PauseSnapshot> pauses;
        clock.describe(hosts, pauses);
        for (const HostSnapshot& each : hosts)
            if (each.address.octets[3] == last) return each;
        return {};
    }
    HostClock clock;
    std::uint64_t frames = 0;
};

TEST(PlainOpcode, LeavesDatagramsFromManagementToTheDissector) {
    struct Case {
        std::uint8_t opcode;
        std::size_t deth;
    };
    constexpr std::size_t bth = 14 + 20 + 8;
    // SEND Only of UD, and of RD, whose RDETH takes the first four octets.
    for (const Case& each : {Case{0x64, bth + 12}, Case{0x44, bth + 12 + 4}}) {
        for (const unsigned qp : {0u, 1u, 2u, 0x10000u}) {
            Packet packet;
            packet.opcode = each.opcode;
            Octets octets = roce(packet);
            octets[each.deth + 5] = static_cast<std::byte>(qp >> 16);
            octets[each.deth + 7] = static_cast<std::byte>(qp & 0xff);
            wire::Frame frame;
            frame.bytes = octets;
            frame.wire_length = static_cast<std::uint32_t>(octets.size());
            auto dissection = std::make_unique<dissect::Dissection>();
            dissect::dissect_frame(frame, {}, *dissection);
            std::uint32_t payload = 0;
            EXPECT_EQ(plain_opcode(frame, payload) == nullptr, dissection->has(dissect::LayerId::mad)) << qp;
            EXPECT_EQ(dissection->has(dissect::LayerId::mad), qp <= 1) << qp;
        }
    }
}

TEST(HostClock, EveryCaptureSaysWhatTheDissectorSays) {
    std::uint64_t compared = 0;
    dissect::Dissection scratch;
    dissect::Dissection whole;
    for (const auto& entry : std::filesystem::directory_iterator{support::pcaps()}) {
        const std::string name = entry.path().filename().string();
        if (name.find(".pcap") == std::string::npos) continue;
        const auto file = capture::open_file(entry.path().string());
        ASSERT_TRUE(file.ok()) << name;
        HostClock clock{std::nullopt};
        std::map<std::pair<Address, Address>, std::uint32_t> hashes;
        std::map<Address, std::uint64_t> sent;
        wire::Frame frame;
        constexpr std::uint64_t enough = 3000;
        while ((*file)->next(frame) == capture::ReadStatus::frame && frame.number < enough) {
            PacketSummary seen;
            summarize(frame, scratch, seen);
            dissect::ParseOptions options;
            options.verify_crc = false;
            dissect::dissect_frame(frame, options, whole);
            const FrameContext context = clock.observe(frame);
            if (whole.fragmented) continue;
            const Address source = source_address(whole, frame.bytes);
            const Address destination = destination_address(whole, frame.bytes);
            ASSERT_EQ(seen.source, source) << name << ' ' << frame.number;
            ASSERT_EQ(seen.destination, destination) << name << ' ' << frame.number;
            if (whole.has(dissect::LayerId::payload) && seen.kind == PacketSummary::Kind::bth) {
                EXPECT_EQ(seen.payload, whole.bth.payload_length) << name << ' ' << frame.number;
                EXPECT_EQ(seen.position, whole.bth.psn);
                EXPECT_EQ(seen.selector, whole.bth.destination_qp);
            }
            if (whole.has(dissect::LayerId::tcp) && whole.stop.outcome == dissect::Outcome::complete) {
                EXPECT_EQ(seen.payload, whole.tcp.payload_length) << name << ' ' << frame.number;
                EXPECT_EQ(seen.position, whole.tcp.sequence);
                EXPECT_EQ(seen.flags, whole.tcp.flags);
            }
            if (source.family == wire::AddressFamily::none) continue;
            const auto pair = std::minmax(source, destination);
            EXPECT_EQ(hashes.try_emplace({pair.first, pair.second}, context.shard_hash).first->second,
                      context.shard_hash);
            if (!context.seen_twice) {
                EXPECT_EQ(context.source_wire_bytes, sent[source]) << name << ' ' << frame.number;
                sent[source] += frame.wire_length + ethernet_overhead;
            }
            ++compared;
        }
        EXPECT_EQ(clock.seen_twice(), 0u) << name;
    }
    EXPECT_GT(compared, 50000u);
}

TEST(HostClock, EveryTruncationIsSurvived) {
    for (const char* name :
         {"made-tunnels.pcap", "made-roce-carriers.pcap", "made-pause.pcap", "made-infiniband.pcap"}) {
        const auto file = capture::open_file(support::pcaps() + '/' + name);
        ASSERT_TRUE(file.ok());
        HostClock clock{std::nullopt, 8};
        wire::Frame frame;
        while ((*file)->next(frame) == capture::ReadStatus::frame) {
            for (std::size_t length = 0; length <= frame.bytes.size(); ++length) {
                const Octets copy(frame.bytes.begin(), frame.bytes.begin() + static_cast<std::ptrdiff_t>(length));
                wire::Frame cut = frame;
                cut.bytes = copy;
                clock.observe(cut);
                cut.wire_length = static_cast<std::uint32_t>(length);
                clock.observe(cut);
            }
        }
    }
}

TEST(HostClock, CountsBeforeTheFrame) {
    Feeder feed;
    const Octets send = roce({});  // 14 + 20 + 8 + 12 + 1024 + 4 = 1082
    ASSERT_EQ(send.size(), 1082u);
    Packet ack;
    ack.source = 2;
    ack.destination = 1;
    ack.opcode = 0x11;
    ack.payload = 0;
    EXPECT_EQ(feed(send, 0).source_wire_bytes, 0u);
    EXPECT_EQ(feed(send, 1).source_wire_bytes, 1106u);
    EXPECT_EQ(feed(send, 2).destination_requests, 2u);
    const FrameContext answer = feed(roce(ack), 3);
    EXPECT_EQ(answer.source_wire_bytes, 0u);
    EXPECT_EQ(answer.destination_requests, 0u);
    EXPECT_EQ(feed(send, 4).destination_requests, 3u);
    EXPECT_EQ(feed.host(2).received_requests, 4u);
    EXPECT_EQ(feed.host(1).received_requests, 0u);
    EXPECT_EQ(feed.host(1).sent_wire_bytes, 4u * 1082);
    EXPECT_EQ(feed.host(2).received_wire_bytes, 4u * 1082);
    EXPECT_EQ(feed.host(1).sent_packets, 4u);
    EXPECT_EQ(feed.host(2).received_packets, 4u);
    EXPECT_EQ(feed.host(2).sent_packets, 1u);
}

/// A message of many packets at a given speed, with stalls; `resolution` is the clock's.
std::optional<std::uint64_t> learnt(double bits_per_sec, std::int64_t resolution, std::uint32_t payload,
                                    unsigned packets = 4000, double stall_share = 0.3, bool other_host_too = true) {
    Feeder feed;
    std::mt19937 random{1};
    double now = 1e9;
    for (unsigned i = 0; i < packets; ++i) {
        Packet packet;
        packet.opcode = i == 0 ? 6 : 7;  // WRITE First, Middle
        packet.psn = i;
        packet.payload = payload;
        const Octets octets = roce(packet);
        now += static_cast<double>(octets.size() + ethernet_overhead) * 8e9 / bits_per_sec;
        if (i % 500 < 500 * stall_share) now += 1000;
        const auto stamp = static_cast<std::int64_t>(now) / resolution * resolution;
        feed(octets, stamp);
        if (other_host_too && random() % 4 == 0) {
            Packet other;
            other.source = 3;
            other.destination = 2;
            feed(roce(other), stamp);
        }
    }
    return feed.host(1).link_bits_per_sec;
}

TEST(HostClock, LinkRatesAreLearnt) {
    for (const double rate : {1e9, 10e9, 25e9, 100e9, 400e9})
        for (const std::int64_t resolution : {1, 1000}) {
            // At 84 ns a frame, microseconds take more frames than there are between two stalls.
            if (rate > 100e9 && resolution != 1) continue;
            const unsigned packets = resolution == 1 ? 4000 : 40000;
            const auto found = learnt(rate, resolution, 4096, packets);
            ASSERT_TRUE(found) << rate << ' ' << resolution;
            EXPECT_NEAR(static_cast<double>(*found), rate, rate * 0.06) << rate << ' ' << resolution;
        }
}

TEST(HostClock, TooFewFramesTeachNothing) {
    EXPECT_FALSE(learnt(10e9, 1, 4096, 60));
    EXPECT_TRUE(learnt(10e9, 1, 4096, 70));
}

TEST(HostClock, FramesOfTwoMessagesSayNothingOfTheLink) {
    Feeder feed;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        Packet packet;
        packet.psn = i;
        feed(roce(packet), i * 100);  // each a message of its own
    }
    EXPECT_FALSE(feed.host(1).link_bits_per_sec);
    // Two queue pairs that take turns do not either.
    for (std::uint32_t i = 0; i < 1000; ++i) {
        Packet packet;
        packet.opcode = i < 2 ? 6 : 7;
        packet.qpn = i % 2;
        packet.psn = i / 2;
        feed(roce(packet), 200000 + i * 100);
    }
    EXPECT_FALSE(feed.host(1).link_bits_per_sec);
}

TEST(HostClock, TcpSegmentsTeachTheRateToo) {
    Feeder feed;
    Packet packet;
    packet.payload = 1448;
    std::uint32_t sequence = 0xffff0000;  // wraps
    std::int64_t now = 0;
    for (unsigned i = 0; i < 400; ++i, sequence += 1448) {
        const Octets octets = tcp(packet, sequence, i % 40 == 39);
        now += static_cast<std::int64_t>(octets.size() + ethernet_overhead) * 8 / 10 + (i % 40 == 0 ? 100000 : 0);
        feed(octets, now);
    }
    ASSERT_TRUE(feed.host(1).link_bits_per_sec);
    EXPECT_NEAR(static_cast<double>(*feed.host(1).link_bits_per_sec), 10e9, 0.03 * 10e9);
}

/// Messages of 64 KiB by segmentation offload: a segment of 65483 bytes, and 20 µs later its tail of 93, which follows
/// the handling of the first and not the link's rate.
TEST(HostClock, TheShortTailOfALongSegmentTeachesNothing) {
    Feeder feed;
    Packet packet;
    std::uint32_t sequence = 1;
    for (unsigned i = 0; i < 400; ++i) {
        packet.payload = 65483;
        feed(tcp(packet, sequence, false), i * 1'000'000);
        sequence += packet.payload;
        packet.payload = 93;
        feed(tcp(packet, sequence, true), i * 1'000'000 + 20'700);
        sequence += packet.payload;
    }
    EXPECT_FALSE(feed.host(1).link_bits_per_sec);
}

/// Nine frames of 4096 bytes inside a message at 100 Mbit/s (3 ms), then 200 messages of one frame in 2 ms: more than
/// 1.3 Gbit/s in all.
TEST(HostClock, TheRateIsNeverBelowWhatTheHostCarried) {
    Feeder feed;
    std::int64_t now = 0;
    std::uint32_t position = 0;
    for (unsigned round = 0; round < 60; ++round) {
        for (unsigned i = 0; i < 9; ++i) {
            now += 336'000;
            Packet packet;
            packet.opcode = position == 0 ? 6 : 7;
            packet.psn = position++;
            packet.payload = 4096;
            feed(roce(packet), now);
        }
        for (unsigned i = 0; i < 200; ++i) {
            now += 10'000;
            Packet other;
            other.destination = 3;
            other.opcode = 10;  // WRITE Only
            other.psn = round * 200 + i;
            other.payload = 4096;
            feed(roce(other), now);
        }
    }
    ASSERT_TRUE(feed.host(1).link_bits_per_sec);
    EXPECT_GE(*feed.host(1).link_bits_per_sec, 1'300'000'000u);
}

/// Messages of many frames at 100 Mbit/s teach that rate. After them come messages of one frame each, 4178 bytes (4154
/// and the overhead of the link) every 10 us: 3.3 Gbit/s, which teach nothing by themselves.
TEST(HostClock, TheRateIsNeverBelowWhatTheHostCarriesLater) {
    Feeder feed;
    std::int64_t now = 0;
    for (std::uint32_t i = 0; i < 400; ++i) {
        now += 334'000;
        Packet packet;
        packet.opcode = i == 0 ? 6 : 7;
        packet.psn = i;
        packet.payload = 4096;
        feed(roce(packet), now);
    }
    ASSERT_TRUE(feed.host(1).link_bits_per_sec);
    EXPECT_LT(*feed.host(1).link_bits_per_sec, 110'000'000u);
    for (std::uint32_t i = 0; i < 5000; ++i) {
        now += 10'000;
        Packet other;
        other.destination = 3;
        other.opcode = 10;  // WRITE Only
        other.psn = i;
        other.payload = 4096;
        feed(roce(other), now);
    }
    EXPECT_GE(*feed.host(1).link_bits_per_sec, 3'200'000'000u);
    EXPECT_LE(*feed.host(1).link_bits_per_sec, 3'500'000'000u);
}

TEST(HostClock, AGivenRateIsNotQuestioned) {
    Feeder feed{40'000'000'000};
    EXPECT_EQ(feed(roce({}), 0).source_bits_per_sec, 40'000'000'000u);
    EXPECT_EQ(feed.host(2).link_bits_per_sec, 40'000'000'000u);
}

TEST(HostClock, AFrameOnTwoInterfacesIsOne) {
    Feeder feed;
    for (std::uint32_t i = 0; i < 100; ++i) {
        Packet packet;
        packet.psn = i;
        packet.id = static_cast<std::uint16_t>(i);
        EXPECT_FALSE(feed(roce(packet), i * 1000).seen_twice);
        EXPECT_TRUE(feed(roce(packet), i * 1000 + 10, 1).seen_twice);
        EXPECT_FALSE(feed(roce(packet), i * 1000 + 20).seen_twice) << "repeated on the same interface";
        EXPECT_TRUE(feed(roce(packet), i * 1000 + 30, 1).seen_twice);
    }
    EXPECT_EQ(feed.clock.seen_twice(), 200u);
    EXPECT_EQ(feed.host(1).sent_wire_bytes, 200u * 1082);
    Packet late;
    late.psn = 99;
    late.id = 99;
    EXPECT_FALSE(feed(roce(late), 2'000'000'000, 1).seen_twice) << "more than a second later";
}

TEST(HostClock, ThousandsMayPassBetweenTwoInterfaces) {
    constexpr std::uint32_t count = 20'000;
    constexpr std::uint32_t between = 5'000;
    for (const bool segments : {false, true}) {
        Feeder feed;
        feed.clock.expect_interfaces(2);
        const auto send = [&](std::uint32_t i, std::uint32_t interface) {
            Packet packet;
            packet.psn = i;
            packet.payload = 64;
            return feed(segments ? tcp(packet, i * 64) : roce(packet), i * 100, interface).seen_twice;
        };
        for (std::uint32_t i = 0; i < count + between; ++i) {
            ASSERT_FALSE(i < count && send(i, 0)) << i;
            ASSERT_TRUE(i < between || send(i - between, 1)) << i;
        }
        EXPECT_EQ(feed.clock.seen_twice(), count);
        EXPECT_EQ(feed.host(1).sent_wire_bytes, std::uint64_t{count} * ((segments ? 54 : 58) + 64));
    }
}

/// It need not be announced that `any` are several.
TEST(HostClock, ThousandsMayPassBetweenInterfacesOfACookedCapture) {
    HostClock clock{std::nullopt};
    const auto observe = [&](std::uint32_t i, std::byte interface) {
        Packet packet;
        packet.psn = i;
        Octets octets = roce(packet);
        octets.erase(octets.begin(), octets.begin() + 14);
        Octets cooked(20);
        cooked[0] = std::byte{8};
        cooked[7] = interface;
        cooked.insert(cooked.end(), octets.begin(), octets.end());
        wire::Frame frame;
        frame.link_type = wire::LinkType::linux_sll2;
        frame.bytes = cooked;
        frame.wire_length = static_cast<std::uint32_t>(cooked.size());
        frame.time_ns = i;
        return clock.observe(frame).seen_twice;
    };
    for (std::uint32_t i = 0; i < 5'000; ++i) ASSERT_FALSE(observe(i, std::byte{2}));
    for (std::uint32_t i = 0; i < 5'000; ++i) ASSERT_TRUE(observe(i, std::byte{3})) << i;
}

TEST(HostClock, PausesOfACapture) {
    const auto file = capture::open_file(support::pcaps() + "/made-pause.pcap");
    ASSERT_TRUE(file.ok());
    HostClock clock{std::nullopt};
    wire::Frame frame;
    while ((*file)->next(frame) == capture::ReadStatus::frame) clock.observe(frame);
    std::vector<HostSnapshot> hosts;
    std::vector<PauseSnapshot> pauses;
    clock.describe(hosts, pauses);
    // dump: pause 65535; pause 0; PFC 3: 65535, 5: 1000; PFC 3: 0; PFC 0 to 7: 1 to 8.
    ASSERT_EQ(pauses.size(), 1u);
    EXPECT_EQ(pauses[0].pause_frames, 1u);
    // Of the three PFC frames, two stop a priority or several.
    EXPECT_EQ(pauses[0].pfc_frames, 2u);
    EXPECT_EQ(pauses[0].resume_frames, 2u);
    const std::array<std::uint64_t, 8> frames{1, 1, 1, 2, 1, 2, 1, 1};
    const std::array<std::uint64_t, 8> quanta{1, 2, 3, 4 + 65535, 5, 6 + 1000, 7, 8};
    EXPECT_EQ(pauses[0].priority_frames, frames);
    EXPECT_EQ(pauses[0].priority_quanta, quanta);
    EXPECT_EQ(pauses[0].frames, (std::vector<std::uint64_t>{2, 4, 6}));
}

/// 200 times a switch stops priority 3, and lets it go on a microsecond later: 0.2 ms. What it asked for is 67 ms.
TEST(HostClock, PausesHoldUntilTheyAreTakenBack) {
    const auto priority_pause = [](std::uint8_t sender, std::uint8_t quanta) {
        Octets out(60);
        out[6] = std::byte{2};
        out[11] = std::byte{sender};
        out[12] = std::byte{0x88};
        out[13] = std::byte{0x08};
        out[14] = out[15] = std::byte{1};
        out[17] = std::byte{1 << 3};
        out[24] = out[25] = std::byte{quanta};
        return out;
    };
    const auto stops = [&](std::optional<std::uint64_t> rate, std::uint8_t resumed_by) {
        Feeder feed(rate);
        for (std::int64_t i = 0; i < 200; ++i) {
            feed(priority_pause(2, 0xff), i * 50'000);
            feed(priority_pause(resumed_by, 0), i * 50'000 + 1000);
        }
        feed(roce({}), 10'000'000);
        std::vector<HostSnapshot> hosts;
        std::vector<PauseSnapshot> pauses;
        feed.clock.describe(hosts, pauses);
        EXPECT_EQ(pauses.at(0).priority_quanta[3], 200u * 65'535);
        return pauses.at(0).stopped_ns;
    };
    constexpr std::uint64_t fast = 100'000'000'000;
    StopTimes expected;
    expected.priority_ns[3] = 200'000;
    EXPECT_EQ(stops(fast, 2), expected);
    // Another's resume ends nothing: each holds until the next, the last one until the capture ends 50 us later.
    expected.priority_ns[3] = 10'000'000;
    EXPECT_EQ(stops(fast, 3), expected);
    EXPECT_EQ(stops(std::nullopt, 2), std::nullopt) << "a quantum takes as long as the link's rate says";
}

TEST(HostClock, PausesCountOnTheirOwnInterface) {
    Feeder feed;
    Octets pause(60);
    pause[12] = std::byte{0x88};
    pause[13] = std::byte{0x08};
    pause[15] = std::byte{1};
    pause[17] = std::byte{9};
    EXPECT_EQ(feed(roce({}), 0, 3).source_pauses, 0u);
    feed(pause, 1, 3);
    EXPECT_EQ(feed(roce({}), 2, 3).source_pauses, 1u);
    EXPECT_EQ(feed(roce({}), 3, 4).source_pauses, 0u);
    feed(pause, 4, 0xffffffff);
    EXPECT_EQ(feed(roce({}), 5, 0xffffffff).source_pauses, 1u);
}

TEST(HostClock, IncastIsTheMostSendersInOneMillisecond) {
    Feeder feed;
    const auto send = [&](std::uint8_t from, std::int64_t time_ns, std::uint32_t payload = 64,
                          std::uint8_t opcode = 4) {
        Packet packet;
        packet.source = from;
        packet.destination = 200;
        packet.payload = payload;
        packet.opcode = opcode;
        feed(roce(packet), time_ns);
    };
    constexpr std::int64_t millisecond = 1'000'000;
    for (std::uint8_t i = 1; i <= 5; ++i) send(i, 10 * millisecond + i);
    for (std::uint8_t i = 1; i <= 5; ++i) send(i, 10 * millisecond + 10 + i);   // the same ones
    for (std::uint8_t i = 1; i <= 9; ++i) send(i, (10 + i) * millisecond);      // one in each
    for (std::uint8_t i = 1; i <= 50; ++i) send(i, 30 * millisecond, 0);        // nothing in it
    for (std::uint8_t i = 1; i <= 50; ++i) send(i, 31 * millisecond, 0, 0x11);  // acknowledgements
    EXPECT_EQ(feed.host(200).incast_senders_max, 5u);
    EXPECT_EQ(feed.host(200).incast_frame, 5u);
    for (std::uint8_t i = 1; i <= 100; ++i) send(i, 40 * millisecond, 64, 0x10);  // READ responses
    EXPECT_EQ(feed.host(200).incast_senders_max, 100u);
}

TEST(HostClock, IncastDoesNotDependOnWhereMillisecondsBegin) {
    for (std::int64_t shift = 0; shift < 1'000'000; shift += 50'000) {
        Feeder feed;
        for (std::uint8_t i = 1; i <= 8; ++i) {
            Packet packet;
            packet.source = i;
            packet.destination = 200;
            feed(roce(packet), 50'000'000 + shift + i * 11'000);
            packet.destination = 201;
            feed(tcp(packet, 1), 50'000'000 + shift + i * 11'000 + 1);
        }
        for (const std::uint8_t host : {std::uint8_t{200}, std::uint8_t{201}})
            EXPECT_EQ(feed.host(host).incast_senders_max, 8u) << shift;
        EXPECT_EQ(feed.host(200).incast_frame, 15u);
        EXPECT_EQ(feed.host(201).incast_frame, 16u);
    }
}

TEST(HostClock, TimeThatGoesBackIsCounted) {
    Feeder feed;
    feed(roce({}), 10);
    feed(roce({}), 9);
    feed(roce({}), 9);
    feed(roce({}), std::numeric_limits<std::int64_t>::min());
    feed(roce({}), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(feed.clock.unsorted(), 2u);
}

TEST(HostClock, HostsBeyondTheBoundShareAnEntry) {
    Feeder feed{std::nullopt, 4};
    for (std::uint8_t i = 1; i <= 100; ++i) {
        Packet packet;
        packet.source = i;
        packet.destination = 200;
        feed(roce(packet), i);
    }
    std::vector<HostSnapshot> hosts;
    std::vector<PauseSnapshot> pauses;
    feed.clock.describe(hosts, pauses);
    EXPECT_EQ(hosts.size(), 4u);
    EXPECT_EQ(feed.clock.beyond_hosts(), 97u);
    EXPECT_EQ(feed.host(200).received_wire_bytes, 100u * 1082);
}

}  // namespace
}  // namespace metrics
