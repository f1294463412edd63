// What the dissector remembers from frame to frame: fragments of datagrams, and which frame carried a PSN first.
#include "dissect/dissector.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "wire/bth.h"
#include "wire/ethernet.h"
#include "wire/grh.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/reth.h"
#include "wire/udp.h"

namespace {

using Octets = std::vector<std::byte>;
constexpr std::size_t ethernet_octets = 14;
constexpr std::size_t ip_octets = 20;
constexpr std::size_t payload_octets = 96;

template <class H>
void append(Octets& octets, const H& header) {
    const auto part = wire::to_octets(header);
    octets.insert(octets.end(), part.begin(), part.end());
}

/// A whole RoCEv2 frame: an RDMA WRITE Only of `payload_octets`, with a right ICRC.
Octets write_only(std::uint32_t psn, std::uint32_t queue_pair) {
    const auto udp_length = static_cast<std::uint16_t>(8 + 12 + 16 + payload_octets + 4);
    Octets octets(12, std::byte{0x02});
    octets.push_back(std::byte{0x08});
    octets.push_back(std::byte{0x00});
    wire::Ipv4 ip;
    ip.total_length = static_cast<std::uint16_t>(ip_octets + udp_length);
    ip.identification = static_cast<std::uint16_t>(0x4000 + psn);
    ip.ttl = 64;
    ip.protocol = 17;
    ip.source = {std::byte{192}, std::byte{0}, std::byte{2}, std::byte{1}};
    ip.destination = {std::byte{192}, std::byte{0}, std::byte{2}, std::byte{2}};
    append(octets, ip);
    append(octets, wire::Udp{50000, 4791, udp_length, 0});
    wire::Bth bth;
    bth.opcode = 0x0a;
    bth.destination_qp = queue_pair;
    bth.psn = psn;
    append(octets, bth);
    append(octets, wire::Reth{0x1122334455667788, 0xabcd, payload_octets});
    for (std::size_t i = 0; i < payload_octets; ++i) octets.push_back(static_cast<std::byte>(i));
    const base::Bytes all{octets};
    std::byte icrc[4];
    base::store_be32(icrc, wire::icrc({{},
                                       all.subspan(ethernet_octets, ip_octets),
                                       all.subspan(ethernet_octets + ip_octets, 8),
                                       all.subspan(ethernet_octets + ip_octets + 8)}));
    octets.insert(octets.end(), std::begin(icrc), std::end(icrc));
    return octets;
}

/// The frame's datagram in pieces of `size` octets of payload (a multiple of 8), as a router would cut it.
std::vector<Octets> fragments_of(const Octets& frame, std::size_t size) {
    std::vector<Octets> fragments;
    const std::size_t header = ethernet_octets + ip_octets;
    for (std::size_t at = header; at < frame.size(); at += size) {
        const std::size_t length = std::min(size, frame.size() - at);
        Octets fragment(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(header));
        fragment.insert(fragment.end(), frame.begin() + static_cast<std::ptrdiff_t>(at),
                        frame.begin() + static_cast<std::ptrdiff_t>(at + length));
        const std::size_t more = at + length < frame.size() ? 0x2000 : 0;
        base::store_be16(&fragment[16], static_cast<std::uint16_t>(ip_octets + length));
        base::store_be16(&fragment[20], static_cast<std::uint16_t>(more | (at - header) / 8));
        fragments.push_back(std::move(fragment));
    }
    return fragments;
}

wire::Frame frame_of(const Octets& octets, std::uint64_t number, std::int64_t time_ns = 0) {
    wire::Frame frame;
    frame.bytes = octets;
    frame.wire_length = static_cast<std::uint32_t>(octets.size());
    frame.number = number;
    frame.time_ns = time_ns;
    return frame;
}

struct Seen {
    wire::Transport transport;
    std::uint64_t frame, first_frame, repeats_frame;
    std::uint32_t psn;
    bool in_frame;
    dissect::CrcStatus icrc;
    Octets payload;
};

class Recorder : public dissect::Sink {
public:
    void on_frame(const wire::Frame&, const dissect::Dissection& dissection) override {
        stops.push_back(dissection.stop);
    }
    void on_unit(const dissect::Unit& unit) override {
        // Describers look at a layer's neighbours by its depth.
        for (unsigned i = 0; i < unit.dissection.layer_count; ++i) EXPECT_EQ(unit.dissection.layers[i].depth, i);
        const auto& bth = unit.dissection.bth;
        const auto payload = unit.bytes.subspan(bth.payload_offset, bth.payload_length);
        units.push_back({unit.transport, unit.frame.number, unit.first_frame, unit.repeats_frame, bth.psn,
                         unit.in_frame, bth.icrc, Octets(payload.begin(), payload.end())});
    }
    void on_notice(const dissect::Notice& notice) override { notices.push_back(notice.kind); }

    std::vector<Seen> units;
    std::vector<dissect::Diagnostic> stops;
    std::vector<dissect::Notice::Kind> notices;
};

Octets counting_payload() {
    Octets octets(payload_octets);
    for (std::size_t i = 0; i < octets.size(); ++i) octets[i] = static_cast<std::byte>(i);
    return octets;
}

TEST(DissectorFragments, EveryOrderOfThreeFragmentsGivesTheOnePacket) {
    const auto fragments = fragments_of(write_only(7, 0x11), 48);
    ASSERT_EQ(fragments.size(), 3u);
    std::vector<std::size_t> order{0, 1, 2};
    do {
        dissect::Dissector dissector;
        Recorder recorder;
        for (std::size_t i = 0; i < order.size(); ++i)
            dissector.dissect(frame_of(fragments[order[i]], i + 1), recorder);
        ASSERT_EQ(recorder.units.size(), 1u);
        const Seen& unit = recorder.units.front();
        EXPECT_EQ(unit.frame, 3u);
        EXPECT_EQ(unit.first_frame, 1u);
        EXPECT_EQ(unit.psn, 7u);
        EXPECT_FALSE(unit.in_frame);
        EXPECT_EQ(unit.icrc, dissect::CrcStatus::good);
        EXPECT_EQ(unit.payload, counting_payload());
        EXPECT_EQ(recorder.stops[0].reason, dissect::Reason::fragment_pending);
        EXPECT_EQ(recorder.stops[1].reason, dissect::Reason::fragment_pending);
        EXPECT_EQ(recorder.stops[2].outcome, dissect::Outcome::complete);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DissectorFragments, OnesThatNeverComeAreReportedAtTheEnd) {
    const auto fragments = fragments_of(write_only(7, 0x11), 48);
    dissect::Dissector dissector;
    Recorder recorder;
    dissector.dissect(frame_of(fragments[0], 1), recorder);
    dissector.dissect(frame_of(fragments[2], 2), recorder);
    EXPECT_TRUE(recorder.units.empty());
    dissector.finish(recorder);
    ASSERT_EQ(recorder.notices.size(), 1u);
    EXPECT_EQ(recorder.notices.front(), dissect::Notice::Kind::fragments_evicted);
}

TEST(DissectorFragments, MoreDatagramsThanTheBoundEvictTheIdlest) {
    dissect::DissectorOptions options;
    options.max_datagrams = 4;
    dissect::Dissector dissector{options};
    Recorder recorder;
    for (std::uint32_t i = 0; i < 6; ++i)
        dissector.dissect(frame_of(fragments_of(write_only(i, 0x11), 48)[0], i + 1), recorder);
    EXPECT_EQ(std::count(recorder.notices.begin(), recorder.notices.end(), dissect::Notice::Kind::fragments_evicted),
              2);
    EXPECT_EQ(dissector.counters().datagrams_evicted, 2u);
}

TEST(DissectorRepeats, NamesTheFrameThatCarriedThePsnBefore) {
    dissect::Dissector dissector;
    Recorder recorder;
    const Octets first = write_only(0xffffff, 0x11);
    const Octets wrapped = write_only(0, 0x11);
    const Octets other_queue_pair = write_only(0xffffff, 0x12);
    std::uint64_t number = 0;
    for (const Octets* octets : {&first, &wrapped, &other_queue_pair, &first, &first})
        dissector.dissect(frame_of(*octets, ++number), recorder);
    ASSERT_EQ(recorder.units.size(), 5u);
    EXPECT_EQ(recorder.units[0].repeats_frame, 0u);
    EXPECT_EQ(recorder.units[1].repeats_frame, 0u);
    EXPECT_EQ(recorder.units[2].repeats_frame, 0u);
    EXPECT_EQ(recorder.units[3].repeats_frame, 1u);
    EXPECT_EQ(recorder.units[4].repeats_frame, 4u);
}

TEST(DissectorRepeats, ForgetsByItselfAndStaysSmall) {
    dissect::DissectorOptions options;
    options.repeat_packets = 64;
    dissect::Dissector dissector{options};
    Recorder recorder;
    for (std::uint32_t psn = 0; psn < 4096; ++psn)
        dissector.dissect(frame_of(write_only(psn, 0x11), psn + 1), recorder);
    recorder.units.clear();
    for (std::uint32_t psn = 0; psn < 16; ++psn)
        dissector.dissect(frame_of(write_only(psn, 0x11), 5000 + psn), recorder);
    for (const Seen& unit : recorder.units) EXPECT_EQ(unit.repeats_frame, 0u) << unit.psn;
}

/// An Ethernet frame inside VXLAN, as a switch mirrors it.
Octets tunnelled(const Octets& inner) {
    const auto udp_length = static_cast<std::uint16_t>(8 + 8 + inner.size());
    Octets octets(12, std::byte{0x02});
    octets.push_back(std::byte{0x08});
    octets.push_back(std::byte{0x00});
    wire::Ipv4 ip;
    ip.total_length = static_cast<std::uint16_t>(ip_octets + udp_length);
    ip.ttl = 64;
    ip.protocol = 17;
    ip.source = {std::byte{198}, std::byte{51}, std::byte{100}, std::byte{1}};
    ip.destination = {std::byte{198}, std::byte{51}, std::byte{100}, std::byte{2}};
    append(octets, ip);
    append(octets, wire::Udp{50000, 4789, udp_length, 0});
    octets.insert(octets.end(), {std::byte{0x08}, {}, {}, {}, {}, {}, std::byte{0x07}, {}});
    octets.insert(octets.end(), inner.begin(), inner.end());
    return octets;
}

/// IBTA vol. 1, A16.4.1: a GRH after EtherType 0x8915, and a SEND Only without payload.
Octets roce1_send() {
    Octets octets(12, std::byte{0x02});
    octets.push_back(std::byte{0x89});
    octets.push_back(std::byte{0x15});
    wire::Grh grh;
    grh.payload_length = 12 + 4;
    grh.next_header = wire::grh_next_header_bth;
    grh.hop_limit = 64;
    append(octets, grh);
    wire::Bth bth;
    bth.opcode = 0x04;
    bth.destination_qp = 0x11;
    bth.psn = 77;
    append(octets, bth);
    octets.insert(octets.end(), 4, std::byte{0});
    return octets;
}

/// The UDP around a tunnel says nothing of what is inside.
TEST(DissectorTransport, IsThatOfTheInnermostPacket) {
    dissect::Dissector dissector;
    Recorder recorder;
    std::uint64_t number = 0;
    for (const Octets& octets :
         {roce1_send(), tunnelled(roce1_send()), write_only(78, 0x11), tunnelled(write_only(79, 0x11))})
        dissector.dissect(frame_of(octets, ++number), recorder);
    ASSERT_EQ(recorder.units.size(), 4u);
    EXPECT_EQ(recorder.units[0].transport, wire::Transport::roce1);
    EXPECT_EQ(recorder.units[1].transport, wire::Transport::roce1);
    EXPECT_EQ(recorder.units[1].psn, 77u);
    EXPECT_EQ(recorder.units[2].transport, wire::Transport::roce2);
    EXPECT_EQ(recorder.units[3].transport, wire::Transport::roce2);
    EXPECT_EQ(recorder.units[3].psn, 79u);
}

}  // namespace
