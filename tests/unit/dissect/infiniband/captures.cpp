/// The invariant CRC on captures of Linux rxe: every complete packet's is good, and every changed bit is noticed.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/files/file_source.h"
#include "dissect/dissector.h"
#include "tests/support/pcaps.h"

namespace {

using dissect::CrcStatus;
using dissect::LayerId;
using dissect::Outcome;

struct Expected {
    std::string_view capture;
    unsigned packets;
    unsigned damaged = 0;  ///< as the reader of tests/truth/packets.py finds, and the lab's traffic control was told
};

/// `tshark -r CAPTURE -Y "infiniband.bth && frame.len == frame.cap_len" | wc -l`; tshark does not verify the ICRC.
constexpr Expected complete_packets[] = {
    {"iser-rxe.pcap.gz", 3080},
    {"iser-rxe-deep.pcap.gz", 11492},
    {"iser-rxe-errors.pcap.gz", 9091},
    {"iser-rxe-rxdrop.pcap.gz", 8355},
    {"iser-rxe-loss.pcap.gz", 8290},
    {"iser-rxe-timeout.pcap.gz", 3530},
    {"nfs-rdma-rxe.pcap", 1002},
    {"nfs-rdma-rxe-deep.pcap.gz", 3527},
    {"nfs-rdma-rxe-errors.pcap.gz", 1585},
    {"nfs-rdma-rxe-loss.pcap.gz", 1347},
    {"nfs-rdma-rxe-rxdrop.pcap.gz", 1277},
    {"nfs-rdma-rxe-timeout.pcap.gz", 46},
    {"nvme-rdma-rxe.pcap.gz", 10595},
    {"nvme-rdma-rxe-deep.pcap.gz", 10015},
    {"nvme-rdma-rxe-errors.pcap.gz", 8872},
    {"nvme-rdma-rxe-loss.pcap.gz", 14110},
    {"nvme-rdma-rxe-rnr.pcap.gz", 7458},
    {"nvme-rdma-rxe-rxdrop.pcap.gz", 6610},
    {"nvme-rdma-rxe-timeout.pcap.gz", 9457},
    {"rds-rxe.pcap", 133},
    {"roce-icrc-vectors.pcap", 3},
    {"rxe-corrupt-send-bw.pcap.gz", 1203, 7},
    {"rxe-dup-send-bw.pcap.gz", 583},
    {"rxe-rate10mbit-write-bw.pcap.gz", 754},
    {"rxe-rxdrop2pct-read-bw.pcap.gz", 2631},
    {"rxe-verbs-rnr-fail.pcap", 17},
    {"rxe-verbs-noaccess-w.pcap", 10},
    {"rxe-atomic-fetchadd-bw.pcap", 1200},
    {"rxe-cm-reject.pcap", 2},
    {"rxe-delay20ms-write-lat.pcap", 291},
    {"rxe-ecn-ce-write-bw.pcap.gz", 924},
    {"rxe-fi-pingpong.pcap", 89},
    {"rxe-loss1pct-send-bw.pcap.gz", 1424},
    {"rxe-mckey.pcap", 10},
    {"rxe-qperf.pcap.gz", 7713},
    {"rxe-rc-pingpong.pcap", 416},
    {"rxe-read-bw-4k.pcap.gz", 1074},
    {"rxe-read-bw-64.pcap", 2074},
    {"rxe-read-bw-64k.pcap", 1049},
    {"rxe-read-lat-64.pcap", 654},
    {"rxe-reorder-write-bw.pcap.gz", 7417},
    {"rxe-rping.pcap", 704},
    {"rxe-rstream.pcap", 615},
    {"rxe-rxdrop1pct-write-bw.pcap.gz", 1766},
    {"rxe-send-bw-4k.pcap.gz", 1054},
    {"rxe-send-bw-64.pcap", 2054},
    {"rxe-send-bw-64k-mtu4096.pcap", 309},
    {"rxe-send-bw-64k.pcap", 1029},
    {"rxe-send-lat-64.pcap", 1254},
    {"rxe-srq-pingpong.pcap.gz", 434},
    {"rxe-trace-rping.pcap", 112},
    {"rxe-trace-write-bw.pcap", 584},
    {"rxe-uc-pingpong.pcap", 200},
    {"rxe-uc-send-bw-4k.pcap.gz", 800},
    {"rxe-ucmatose.pcap", 135},
    {"rxe-ud-pingpong.pcap", 200},
    {"rxe-ud-send-lat-64.pcap", 400},
    {"rxe-verbs-atomic.pcap", 125},
    {"rxe-verbs-badrkey-a.pcap", 9},
    {"rxe-verbs-badrkey-w.pcap", 17},
    {"rxe-verbs-fence.pcap", 125},
    {"rxe-verbs-idle.pcap", 5},
    {"rxe-verbs-imm.pcap", 161},
    {"rxe-verbs-inv.pcap", 13},
    {"rxe-verbs-mix.pcap.gz", 1063},
    {"rxe-verbs-oob-r.pcap", 12},
    {"rxe-verbs-oob-w.pcap", 15},
    {"rxe-verbs-perm-w.pcap", 9},
    {"rxe-verbs-rnr.pcap", 24},
    {"rxe-verbs-srq.pcap", 45},
    {"rxe-verbs-toolong.pcap", 14},
    {"rxe-verbs-unaligned-a.pcap", 7},
    {"rxe-write-bw-1m-mtu4096-head.pcap", 399},
    {"rxe-write-bw-4k-ipv6.pcap.gz", 1258},
    {"rxe-write-bw-4k.pcap.gz", 1074},
    {"rxe-write-bw-64.pcap", 2075},
    {"rxe-write-bw-64k-mtu4096.pcap", 329},
    {"rxe-write-bw-64k-tos.pcap", 1049},
    {"rxe-write-bw-64k.pcap", 1049},
    {"smbdirect-rxe.pcap", 37},
    {"srp-rxe.pcap.gz", 1948},
};

std::filesystem::path path_of(std::string_view capture) {
    return std::filesystem::path{support::pcaps()} / std::string{capture};
}

/// Passes the first `limit` frames of a capture to `examine`.
template <class Examine>
void each_frame(std::string_view capture, Examine examine, std::size_t limit = static_cast<std::size_t>(-1)) {
    const auto file = capture::open_file(path_of(capture).string());
    ASSERT_TRUE(file.ok()) << capture;
    wire::Frame frame;
    for (std::size_t i = 0; i < limit && (*file)->next(frame) == capture::ReadStatus::frame; ++i) examine(frame);
}

class IcrcOnCaptures : public testing::TestWithParam<Expected> {};

TEST_P(IcrcOnCaptures, EveryCompletePacketIsGood) {
    unsigned good = 0;
    unsigned others = 0;
    dissect::Dissection found;
    each_frame(GetParam().capture, [&](const wire::Frame& frame) {
        dissect::dissect_frame(frame, {}, found);
        if (!found.has(LayerId::bth) || frame.bytes.size() < frame.wire_length) return;
        ++(found.bth.icrc == CrcStatus::good ? good : others);
    });
    EXPECT_EQ(good, GetParam().packets);
    EXPECT_EQ(others, GetParam().damaged);
}

INSTANTIATE_TEST_SUITE_P(Rxe, IcrcOnCaptures, testing::ValuesIn(complete_packets), [](const auto& test) {
    std::string name{test.param.capture.substr(0, test.param.capture.find('.'))};
    std::ranges::replace(name, '-', '_');
    return name;
});

TEST(IcrcOnCaptures, EveryCaptureIsListed) {
    std::set<std::string> listed;
    for (const Expected& each : complete_packets) listed.emplace(each.capture);
    for (const auto& entry : std::filesystem::directory_iterator{support::pcaps()}) {
        const std::string name = entry.path().filename();
        const bool rxe = name.starts_with("rxe-") || name.find("-rxe.pcap") != name.npos;
        if (!rxe || name.find(".pcap") == name.npos) continue;
        EXPECT_TRUE(listed.contains(name)) << name;
    }
}

/// Whether the network may change an octet of a RoCEv2 frame over Ethernet and IPv4 without options.
bool may_change(std::size_t octet) {
    constexpr std::size_t ip = 14, udp = 34, bth = 42;
    return octet < ip || octet == ip + 1 || octet == ip + 8 || octet == ip + 10 || octet == ip + 11 ||
           octet == udp + 6 || octet == udp + 7 || octet == bth + 4;
}

void expect_every_bit_noticed(wire::Frame frame) {
    std::vector<std::byte> bytes{frame.bytes.begin(), frame.bytes.end()};
    frame.bytes = bytes;
    dissect::Dissection found;
    for (std::size_t bit = 14 * 8; bit < bytes.size() * 8; ++bit) {
        const std::byte mask = std::byte{0x80} >> (bit % 8);
        bytes[bit / 8] ^= mask;
        dissect::dissect_frame(frame, {}, found);
        const bool good =
            found.has(LayerId::bth) && found.bth.icrc == CrcStatus::good && found.stop.outcome == Outcome::complete;
        EXPECT_EQ(good, may_change(bit / 8)) << "frame " << frame.number << " bit " << bit;
        bytes[bit / 8] ^= mask;
    }
}

/// Management, atomics and their acknowledgements; a RDMA WRITE in several packets.
TEST(IcrcOnCaptures, EveryChangedBitIsNoticed) {
    each_frame("rxe-verbs-atomic.pcap", expect_every_bit_noticed, 12);
    each_frame("rxe-verbs-badrkey-w.pcap", expect_every_bit_noticed, 9);
}

}  // namespace
