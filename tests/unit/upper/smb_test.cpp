// SMB over SMB Direct: the captures' commands as a reader written apart finds them, and messages put together by the
// specifications (MS-SMBD, MS-SMB2), whose commands are known.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/unit/upper/found_commands.h"
#include "upper/command_text.h"
#include "upper/protocols/smb_protocol.h"
#include "wire/smb2.h"

namespace upper_test {
namespace {

constexpr const char* smb_made = "made-smb.pcap";

TEST(Smb, every_command_of_the_captures) {
    for (const char* name : {"smbdirect-rxe", "smbdirect-siw"}) {
        SCOPED_TRACE(name);
        const Finder finder = read(load(std::string(name) + ".pcap"));
        expect_equal(finder.answered, expected(name));
        EXPECT_EQ(finder.ends.size(), 1u);
        EXPECT_EQ(finder.evidence, (std::map<std::string, unsigned>{{"service", 1}}));
        EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
        EXPECT_EQ(finder.target_names, (std::vector<std::string>{"\\\\192.0.2.1\\share"}));
    }
}

TEST(Smb, reads_writes_fragments_and_compounds) {
    const Finder finder = read(load(smb_made));
    expect_equal(finder.answered, expected("made-smb"));
    EXPECT_EQ(finder.ends, (std::map<std::string, unsigned>{{"answered", 15}}));
    EXPECT_EQ(finder.unbound, 0u);
    EXPECT_EQ(finder.operations, 3u);
    EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
    EXPECT_EQ(finder.target_names, (std::vector<std::string>{"\\\\files\\work"}));
    // 33 after SESSION_SETUP, 10 with the interim response, which the final one does not give again
    EXPECT_EQ(finder.limits, (std::vector<std::uint32_t>{42}));
}

TEST(Smb, the_same_over_other_transports) {
    expect_equal(read(as_infiniband(load(smb_made))).answered, expected("made-smb"));
    upper::ReaderOptions options;
    options.assignments.push_back({false, 4420, &upper::protocols::smb});
    const Finder iwarp = read(as_iwarp(load(smb_made)), options);
    expect_equal(iwarp.answered, expected("made-smb"));
    EXPECT_EQ(iwarp.evidence, (std::map<std::string, unsigned>{{"user", 1}}));
}

/// Without the set-up, three answered requests show the protocol.
TEST(Smb, a_capture_that_begins_in_the_middle) {
    const Frames frames = load(smb_made);
    for (std::size_t first = 3; first < 33; ++first) {
        SCOPED_TRACE(first);
        const Frames rest(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end());
        std::vector<Found> later;
        for (const Found& one : expected("made-smb"))
            if (one.request_first > first) later.push_back(one);
        std::vector<Found> found;
        for (const Found& one : read(rest).answered)
            if (one.request_first > first) found.push_back(one);
        expect_equal(found, later);
    }
}

TEST(Smb, a_message_whose_beginning_was_not_captured) {
    Frames frames = load(smb_made);
    frames.erase(frames.begin() + 45);  // the first packet of the WRITE in three SENDs
    const Finder finder = read(frames);
    EXPECT_EQ(finder.answered.size(), 14u);
    EXPECT_EQ(finder.ends, (std::map<std::string, unsigned>{{"answered", 14}, {"orphan", 1}}));
}

TEST(Smb, headers_alone_are_enough) {
    const Finder finder = read(snapped(load(smb_made), 440));
    expect_equal(finder.answered, expected("made-smb"));
    // 24 bytes of SMB Direct, 64 of SMB2: identifiers, commands and times, and not how much is read or written
    const Finder cut = read(snapped(load("smbdirect-rxe.pcap"), 144));
    expect_equal(cut.answered, expected("smbdirect-rxe"));
}

TEST(Smb, other_captures_have_none) {
    for (const char* name : {"rds-rxe.pcap", "nfs-rdma-rxe.pcap", "nvme-rdma-rxe.pcap.gz", "iser-rxe.pcap.gz",
                             "srp-rxe.pcap.gz", "rxe-rstream.pcap", "rxe-fi-pingpong.pcap", "rxe-send-bw-64.pcap"})
        EXPECT_EQ(read(load(name)).protocols.count("smb"), 0u) << name;
}

TEST(Smb, words_for_statuses) {
    const auto text = [](std::uint32_t status) {
        const upper::StatusMeaning meaning = upper::protocols::smb.status(0, status);
        return upper::status_text(meaning, status) + " " + std::string(upper::name_of(meaning.error));
    };
    EXPECT_EQ(text(0), "STATUS_SUCCESS ");
    EXPECT_EQ(text(0x80000005), "STATUS_BUFFER_OVERFLOW ");
    EXPECT_EQ(text(0xc0000016), "STATUS_MORE_PROCESSING_REQUIRED ");
    EXPECT_EQ(text(0xc0000022), "STATUS_ACCESS_DENIED denied");
    EXPECT_EQ(text(0xc000007f), "STATUS_DISK_FULL device");
    EXPECT_EQ(text(0xc00000c9), "STATUS_NETWORK_NAME_DELETED path");
    EXPECT_EQ(text(0xc0000120), "STATUS_CANCELLED aborted");
    EXPECT_EQ(text(0xc0000205), "STATUS_INSUFF_SERVER_RESOURCES busy");
    EXPECT_EQ(text(0xc000000d), "STATUS_INVALID_PARAMETER protocol");
    EXPECT_EQ(text(0xc0009898), "0xc0009898 protocol");
}

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
    std::vector<std::byte> all;
    for (const unsigned value : values) all.push_back(static_cast<std::byte>(value));
    return all;
}

TEST(Smb, words_times_and_identifiers) {
    // UTF-16: A, e with an acute accent, a character beyond 16 bits, half of a pair
    EXPECT_EQ(wire::smb_text(bytes_of({0x41, 0, 0xe9, 0, 0x3d, 0xd8, 0x00, 0xde, 0x3d, 0xd8}), 64),
              "A\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd");
    EXPECT_EQ(wire::smb_text(bytes_of({0x41, 0, 0x42, 0}), 3), "A");
    // What tshark prints of frame 12 and 14 of smbdirect-rxe
    EXPECT_EQ(wire::smb_guid_text(bytes_of({0x3d, 0xd7, 0x3f, 0x66, 0xcd, 0x6a, 0x4f, 0x8c, 0x97, 0xdf, 0x4f, 0x54,
                                            0x61, 0x16, 0x44, 0xdb})
                                      .data()),
              "663fd73d-6acd-8c4f-97df-4f54611644db");
    EXPECT_EQ(wire::smb_time_text(0x01dd795f36761d8b), "Nov 21, 2026 02:22:53.354740300 UTC");
    EXPECT_EQ(wire::smb_time_text(0), "Jan  1, 1970 00:00:00.000000000 UTC");
    // date -u -d @951782400: the leap day of a year that 400 divides
    EXPECT_EQ(wire::smb_time_text((11644473600 + 951782400) * 10'000'000ull), "Feb 29, 2000 00:00:00.000000000 UTC");
    EXPECT_EQ(wire::smb_time_text(1), "Jan  1, 1601 00:00:00.000000100 UTC");
}

TEST(Smb, every_command_has_its_name) {
    EXPECT_EQ(wire::smb2_name(8).text, "Read");
    EXPECT_EQ(wire::smb2_name(18).kind, "oplock_break");
    EXPECT_EQ(wire::smb2_name(19).kind, "unknown");
}

}  // namespace
}  // namespace upper_test
