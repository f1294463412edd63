#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "capture/files/file_source.h"
#include "dissect/dissector.h"
#include "tests/support/pcaps.h"
#include "tests/support/sanitized.h"

/// The captures of Linux siw. The expected numbers come from a script that lays all octets of a direction into one
/// array, by their sequence numbers and TCP checksums alone, and walks over it; tshark says the same where nothing was
/// lost or reordered, and the work requests that perftest and the verbs program report add up to them.
namespace {

using namespace dissect;

struct Counts : Sink {
    std::uint64_t starts = 0;
    std::uint64_t fpdus = 0;
    std::uint64_t payload = 0;
    std::uint64_t good = 0;
    std::uint64_t bad = 0;
    std::uint64_t incomplete = 0;
    std::uint64_t gap_octets = 0;
    std::map<unsigned, std::uint64_t> odd;
    std::array<std::uint64_t, 16> opcodes{};

    void on_unit(const Unit& unit) override {
        if (unit.transport != Transport::iwarp) return;
        const Dissection& d = unit.dissection;
        if (!d.has(LayerId::mpa_fpdu)) {
            ++starts;
            return;
        }
        incomplete += d.stop.outcome != Outcome::complete;
        bad += d.ddp.crc == CrcStatus::bad;
        if (d.ddp.crc == CrcStatus::bad) return;
        good += d.ddp.crc == CrcStatus::good;
        ++fpdus;
        payload += d.ddp.payload_length;
        ++opcodes[d.ddp.opcode & 15];
        if (d.odd_count != 0) ++odd[static_cast<unsigned>(d.odd.reason)];
    }
    void on_notice(const Notice& notice) override {
        if (notice.kind == Notice::Kind::stream_gap) gap_octets += notice.octets;
    }
};

std::string path_of(const std::string& name) {
    for (const char* ending : {".pcap", ".pcap.gz"}) {
        const std::string path = support::pcaps() + "/" + name + ending;
        if (std::filesystem::exists(path)) return path;
    }
    return {};
}

void dissect_file(const std::string& path, Sink& sink, std::size_t snap = 0, std::uint64_t skip = 0) {
    auto file = capture::open_file(path);
    ASSERT_TRUE(file.ok()) << path;
    Dissector dissector;
    wire::Frame frame;
    while ((*file)->next(frame) == capture::ReadStatus::frame) {
        if (frame.number <= skip) continue;
        if (snap != 0 && frame.bytes.size() > snap) frame.bytes = frame.bytes.first(snap);
        dissector.dissect(frame, sink);
    }
    dissector.finish(sink);
}

struct Truth {
    const char* name;
    unsigned starts;
    unsigned fpdus;
    unsigned payload;
    bool crc;
    unsigned bad = 0;
};

constexpr Truth truths[] = {
    {"siw-corrupt-send-bw", 4, 475, 615248, true, 3},
    {"siw-delay20ms-write-lat", 4, 140, 8404, true},
    {"siw-ecn-ce-write-bw", 4, 632, 820116, true},
    {"siw-gso-tcpdump-A", 4, 63, 983956, true},
    {"siw-loss1pct-send-bw", 4, 475, 615248, true},
    {"siw-mpa-reject", 2, 0, 0, true},
    {"siw-read-bw-4k-crc", 4, 832, 820116, true},
    {"siw-read-bw-64k-crc", 4, 737, 983956, true},
    {"siw-read-lat-64-crc", 4, 1022, 32836, true},
    {"siw-reorder-write-bw", 4, 632, 820116, true},
    {"siw-rping-crc", 8, 451, 446922, true},
    {"siw-rping-mpa1", 8, 4, 64, false},
    {"siw-rping-nocrc", 8, 451, 446922, false},
    {"siw-rping-p2p", 8, 455, 446922, true},
    {"siw-rxdrop2pct-read-bw", 4, 552, 656276, true},
    {"siw-send-bw-64-crc", 4, 2036, 128892, true},
    {"siw-send-bw-64k-crc", 4, 730, 983888, true},
    {"siw-send-bw-64k-jumbo-crc", 4, 145, 983888, true},
    {"siw-send-lat-64-crc", 4, 1022, 64836, true},
    {"siw-trace-rping", 2, 55, 30320, true},
    {"siw-trace-write-bw", 4, 392, 492436, true},
    {"siw-ucmatose", 6, 60, 60000, true},
    {"siw-verbs-badrkey-r", 2, 7, 5000, true},
    {"siw-verbs-badrkey-w", 2, 9, 10000, true},
    {"siw-verbs-fence", 2, 70, 75000, true},
    {"siw-verbs-idle", 2, 0, 0, true},
    {"siw-verbs-mix", 2, 1044, 1318837, true},
    {"siw-verbs-oob-r", 2, 6, 4096, true},
    {"siw-verbs-perm-w", 2, 4, 1000, true},
    {"siw-verbs-rnr", 2, 5, 4000, true},
    {"siw-verbs-send", 2, 60, 60000, true},
    {"siw-verbs-sizes", 2, 564, 705882, true},
    {"siw-verbs-srq", 2, 20, 5120, true},
    {"siw-write-bw-4k-crc", 4, 632, 820116, true},
    {"siw-write-bw-64-crc", 4, 2032, 128916, true},
    {"siw-write-bw-64-nocrc", 4, 2032, 128916, false},
    {"siw-write-bw-64k-crc", 4, 722, 983956, true},
    {"siw-write-bw-64k-nocrc", 4, 722, 983956, false},
    {"siw-write-bw-bidir-4k-nocrc", 4, 932, 1229716, false},
    {"nfs-rdma-siw", 2, 615, 616689, true},
    {"iser-siw-refused", 5, 0, 0, true},
    {"smbdirect-siw", 2, 15, 2198, true},
};

class Captures : public testing::TestWithParam<Truth> {};

TEST_P(Captures, every_fpdu_is_found) {
    const Truth& truth = GetParam();
    const std::string path = path_of(truth.name);
    ASSERT_FALSE(path.empty()) << truth.name << " is not among the captures";
    Counts counts;
    dissect_file(path, counts);
    EXPECT_EQ(counts.starts, truth.starts);
    EXPECT_EQ(counts.fpdus, truth.fpdus);
    EXPECT_EQ(counts.payload, truth.payload);
    EXPECT_EQ(counts.good, truth.crc ? truth.fpdus : 0);
    EXPECT_EQ(counts.bad, truth.bad);
    EXPECT_EQ(counts.incomplete, 0u);
    EXPECT_EQ(counts.gap_octets, 0u);
}

// Where the beginning is missing there is nothing to go by but the FPDUs themselves.
TEST_P(Captures, found_again_from_the_middle) {
    const Truth& truth = GetParam();
    const std::string path = path_of(truth.name);
    if (path.empty() || truth.fpdus < 100 || std::strstr(truth.name, "reorder") != nullptr) return;
    Counts all;
    dissect_file(path, all);
    Counts later;
    dissect_file(path, later, 0, 60);
    EXPECT_LE(later.fpdus, all.fpdus);
    EXPECT_GE(later.fpdus + 60, all.fpdus);
    EXPECT_EQ(later.incomplete, 0u);
    EXPECT_EQ(later.good, truth.crc ? later.fpdus : 0);
}

INSTANTIATE_TEST_SUITE_P(Siw, Captures, testing::ValuesIn(truths), [](const auto& test) {
    std::string name = test.param.name;
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
});

/// The frames of a file, to be changed and dissected again.
struct Kept {
    explicit Kept(const std::string& path) {
        auto file = capture::open_file(path);
        if (!file.ok()) return;
        wire::Frame frame;
        while ((*file)->next(frame) == capture::ReadStatus::frame) {
            octets.emplace_back(frame.bytes.begin(), frame.bytes.end());
            frames.push_back(frame);
        }
    }
    Counts dissected() const {
        Counts counts;
        Dissector dissector;
        for (std::size_t i = 0; i < frames.size(); ++i) {
            wire::Frame frame = frames[i];
            frame.bytes = octets[i];
            dissector.dissect(frame, counts);
        }
        dissector.finish(counts);
        return counts;
    }

    std::vector<wire::Frame> frames;
    std::vector<std::vector<std::byte>> octets;
};

// The CRC covers the length, the header, the payload and the pad octets; a changed CRC is as wrong.
TEST(SiwCrc, one_flipped_bit_of_an_fpdu_is_found) {
    constexpr std::size_t headers = 14 + 20 + 32;  // Ethernet, IPv4, TCP with its timestamps
    Kept kept{path_of("siw-verbs-perm-w")};
    const Counts clean = kept.dissected();
    ASSERT_EQ(clean.good, 4u);
    unsigned fpdus = 0;
    for (std::size_t i = 0; i < kept.frames.size(); ++i) {
        auto& octets = kept.octets[i];
        // Each has a segment of its own; SYN has more options, and the start frames begin with "MPA ID R".
        const bool syn = octets[14 + 20 + 12] != std::byte{0x80};
        if (syn || octets.size() <= headers || octets[headers] == std::byte{'M'}) continue;
        ++fpdus;
        for (std::size_t bit = headers * 8; bit < octets.size() * 8; bit += support::sanitized ? 13 : 1) {
            const std::byte mask = std::byte{0x80} >> (bit % 8);
            octets[bit / 8] ^= mask;
            const Counts found = kept.dissected();
            octets[bit / 8] ^= mask;
            ASSERT_LT(found.good, clean.good) << "frame " << i + 1 << " bit " << bit;
            // With another length it is another stretch of the stream that is not an FPDU.
            const bool in_length = bit / 8 < headers + 2;
            ASSERT_TRUE(in_length || found.bad == 1) << "frame " << i + 1 << " bit " << bit;
        }
    }
    EXPECT_EQ(fpdus, 4u);
}

// tshark -Y iwarp_rdma.terminate shows one in each of these; siw's bits stand at the wrong end of their octet.
TEST(SiwTerminate, is_read_and_flagged) {
    for (const char* name :
         {"siw-verbs-badrkey-r", "siw-verbs-badrkey-w", "siw-verbs-oob-r", "siw-verbs-perm-w", "siw-verbs-rnr"}) {
        const std::string path = path_of(name);
        ASSERT_FALSE(path.empty()) << name;
        Counts counts;
        dissect_file(path, counts);
        EXPECT_EQ(counts.opcodes[7], 1u) << name;
        EXPECT_EQ(counts.odd[static_cast<unsigned>(Reason::byte_swapped)], 1u) << name;
    }
}

// perftest's work requests: 15 Writes of 64 KiB and its own exchange; vtest's: see the captures' JSON.
TEST(SiwMessages, are_those_that_the_applications_posted) {
    Counts counts;
    const std::string path = path_of("siw-read-lat-64-crc");
    ASSERT_FALSE(path.empty());
    dissect_file(path, counts);
    EXPECT_EQ(counts.opcodes[1], 500u);
    EXPECT_EQ(counts.opcodes[2], 500u);
}

TEST(SiwSnapped, heads_that_are_there_are_found) {
    // One FPDU a segment: each begins a segment, so that 96 octets hold its head.
    for (const char* name : {"siw-write-bw-64k-crc", "siw-send-bw-64k-crc", "siw-read-lat-64-crc", "siw-rping-crc"}) {
        const std::string path = path_of(name);
        ASSERT_FALSE(path.empty()) << name;
        Counts whole;
        dissect_file(path, whole);
        Counts snapped;
        dissect_file(path, snapped, 96);
        EXPECT_EQ(snapped.fpdus, whole.fpdus) << name;
        EXPECT_EQ(snapped.payload, whole.payload) << name;
        EXPECT_EQ(snapped.opcodes, whole.opcodes) << name;
    }
}

}  // namespace
