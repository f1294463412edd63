// RDS: datagrams of a capture as a reader written apart finds them, and messages put together by include/net/rds.h.
#include "wire/rds.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/unit/upper/found_commands.h"

namespace upper_test {
namespace {

constexpr const char* rds_capture = "rds-rxe.pcap";

TEST(Rds, every_datagram) {
    const Finder finder = read(load(rds_capture));
    expect_equal(finder.answered, expected("rds-rxe"));
    EXPECT_EQ(finder.ends, (std::map<std::string, unsigned>{{"answered", 17}, {"unanswered", 1}}));
    EXPECT_EQ(finder.evidence, (std::map<std::string, unsigned>{{"private_data", 1}}));
    EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
}

/// rdsping beside the capture: nine datagrams there, nine back.
TEST(Rds, what_the_application_sent) {
    std::uint64_t bytes = 0;
    for (const Found& one : read(load(rds_capture)).answered) bytes += one.inline_bytes;
    EXPECT_EQ(bytes, 2u * (500 + 1400 + 2300 + 3200 + 4100 + 5000 + 5900 + 6800) + 1);
}

TEST(Rds, the_same_over_other_transports) {
    expect_equal(read(as_infiniband(load(rds_capture))).answered, expected("rds-rxe"));
    const Finder iwarp = read(as_iwarp(load(rds_capture)));
    expect_equal(iwarp.answered, expected("rds-rxe"));
    EXPECT_EQ(iwarp.evidence, (std::map<std::string, unsigned>{{"private_data", 1}}));
}

TEST(Rds, headers_alone_are_enough) {
    expect_equal(read(snapped(load(rds_capture), 128)).answered, expected("rds-rxe"));
}

/// The checksum of three messages shows the protocol.
TEST(Rds, a_capture_that_begins_in_the_middle) {
    const Frames frames = load(rds_capture);
    for (std::size_t first = 3; first < 90; first += 3) {
        SCOPED_TRACE(first);
        const Frames rest(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end());
        std::vector<Found> later;
        for (const Found& one : expected("rds-rxe"))
            if (one.request_first > first) later.push_back(one);
        std::vector<Found> found;
        for (const Found& one : read(rest).answered)
            if (one.request_first > first) found.push_back(one);
        expect_equal(found, later);
    }
}

TEST(Rds, extensions_pings_and_rdma) {
    const Finder finder = read(load("made-rds.pcap"));
    std::vector<Found> found = finder.answered;
    // Two are acknowledged by one message.
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& one, const Found& two) { return one.response < two.response; });
    expect_equal(found, expected("made-rds"));
    EXPECT_EQ(finder.ends, (std::map<std::string, unsigned>{{"answered", 6}, {"unanswered", 1}}));
    EXPECT_EQ(finder.operations, 1u);
    EXPECT_EQ(finder.unbound, 0u);
    EXPECT_EQ(finder.congested_ports, 1u) << "port 4000";
    EXPECT_EQ(read(load(rds_capture)).congested_ports, 0u);
}

TEST(Rds, other_captures_have_none) {
    for (const char* name : {"nfs-rdma-rxe.pcap", "nvme-rdma-rxe.pcap.gz", "iser-rxe.pcap.gz", "srp-rxe.pcap.gz",
                             "smbdirect-rxe.pcap", "rxe-rstream.pcap", "rxe-fi-pingpong.pcap", "rxe-send-bw-64.pcap"})
        EXPECT_EQ(read(load(name)).protocols.count("rds"), 0u) << name;
}

TEST(Rds, extension_headers_have_their_lengths) {
    EXPECT_EQ(wire::rds_extension_bytes(1), 4u);
    EXPECT_EQ(wire::rds_extension_bytes(3), 8u);
    EXPECT_EQ(wire::rds_extension_bytes(5), 2u);
    EXPECT_EQ(wire::rds_extension_bytes(0), 0u);
    EXPECT_EQ(wire::rds_extension_bytes(255), 0u);
}

}  // namespace
}  // namespace upper_test
