// Commands of NVMe over RDMA on every transport, cut, begun in the middle and repeated: those that a reader written
// apart finds in the capture.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

#include "base/bytes.h"
#include "tests/unit/upper/found_commands.h"

namespace upper_test {
namespace {

constexpr const char* capture = "nvme-rdma-rxe.pcap.gz";

/// The two commands without an answer are Async Event Requests, one on each administrator's queue.
constexpr unsigned open_events = 2;

TEST(Nvme, every_command_of_the_capture) {
    const Finder finder = read(load(capture));
    expect_equal(finder.answered, expected_nvme());
    EXPECT_EQ(finder.ends.at("unanswered"), open_events);
    EXPECT_EQ(finder.ends.size(), 2u);
    EXPECT_EQ(finder.evidence.at("private_data"), 3u);
    EXPECT_EQ(finder.unbound, 0u);
    EXPECT_EQ(finder.operations, 404u);  // READs and WRITEs that the other reader finds
}

TEST(Nvme, connections_say_what_they_are_for) {
    const Finder finder = read(load(capture));
    // tshark: nvme.fabrics.cmd.connect.data.subnqn, nvme.fabrics.cmd.connect.sqsize
    const std::vector<std::string> names{"nqn.2014-08.org.nvmexpress.discovery", "nqn.2024-01.lab:sub1",
                                         "nqn.2024-01.lab:sub1"};
    EXPECT_EQ(finder.target_names, names);
    EXPECT_EQ(finder.limits, (std::vector<std::uint32_t>{31, 31, 15}));
}

TEST(Nvme, states_of_time_sum_to_the_wall_time) {
    const Finder finder = read(load(capture));
    EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
    EXPECT_GT(finder.wall_ns, 0u);
}

TEST(Nvme, acknowledgements_are_a_part_of_what_the_target_takes) {
    const Finder finder = read(load(capture));
    std::vector<std::uint64_t> acks;
    for (const Found& found : finder.answered) {
        EXPECT_LE(found.request_ack_ns, found.parts_ns[1]);
        acks.push_back(found.request_ack_ns);
    }
    // The reader written apart finds an acknowledgement of every request, with this median.
    ASSERT_EQ(acks.size(), 463u);
    EXPECT_EQ(std::count(acks.begin(), acks.end(), 0u), 0);
    std::nth_element(acks.begin(), acks.begin() + static_cast<std::ptrdiff_t>(acks.size() / 2), acks.end());
    EXPECT_EQ(acks[acks.size() / 2], 557'000u);
}

TEST(Nvme, the_same_over_infiniband) {
    const Finder finder = read(as_infiniband(load(capture)));
    expect_equal(finder.answered, expected_nvme());
    EXPECT_EQ(finder.unbound, 0u);
}

TEST(Nvme, the_same_over_iwarp) {
    const Finder finder = read(as_iwarp(load(capture)));
    expect_equal(finder.answered, expected_nvme());
    EXPECT_EQ(finder.ends.at("unanswered"), open_events);
    EXPECT_EQ(finder.evidence.at("private_data"), 3u);
    EXPECT_EQ(finder.unbound, 0u);
}

/// The set-up's private data do not fit: the shapes of the messages show what they are.
TEST(Nvme, headers_alone_are_enough) {
    for (const std::size_t bytes : {96u, 128u, 160u}) {
        const Finder finder = read(snapped(load(capture), bytes));
        SCOPED_TRACE(bytes);
        expect_equal(finder.answered, expected_nvme());
        EXPECT_EQ(finder.evidence.at("shape"), 3u);
        EXPECT_EQ(finder.unbound, 0u);
    }
}

/// The Connect of queue 1 names another size of the queue. NVMe over Fabrics 1.1, 3.3: SQSIZE is 0's based.
Frames with_limit(Frames frames, std::uint16_t limit) {
    constexpr std::size_t entry = 54;  // after Ethernet, IPv4, UDP and BTH
    for (NumberedFrame& one : frames) {
        std::vector<std::byte>& octets = one.kept.octets;
        const bool connects = octets.size() >= entry + 64 && octets[entry] == std::byte{0x7f} &&
                              octets[entry + 4] == std::byte{1} && octets[entry + 42] == std::byte{1};
        if (!connects) continue;
        octets[entry + 44] = static_cast<std::byte>(limit & 0xff);
        octets[entry + 45] = static_cast<std::byte>(limit >> 8);
    }
    return frames;
}

/// fio keeps up to 35 commands in the queue. A reader written apart finds when as many as the limit or more were open
/// (`at_limit`), and which of these times a request ended the wait: within an eighth of the latency of the answered
/// command, at least 100 us.
TEST(Nvme, time_at_the_limit_of_a_deep_queue) {
    struct Expected {
        std::uint16_t limit;
        std::uint64_t at_limit_ns;
        std::uint64_t limit_ns;
    };
    const Frames frames = load("nvme-rdma-rxe-deep.pcap.gz");
    for (const Expected& one : {Expected{8, 439'069'000, 174'850'000}, Expected{16, 156'676'000, 46'586'000},
                                Expected{24, 91'559'000, 37'635'000}, Expected{32, 34'614'000, 19'960'000}}) {
        SCOPED_TRACE(one.limit);
        const Finder finder = read(with_limit(frames, one.limit));
        EXPECT_EQ(finder.at_limit_ns, one.at_limit_ns);
        EXPECT_EQ(finder.limit_ns, one.limit_ns);
        EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
    }
    EXPECT_EQ(read(frames).at_limit_ns, 0u);
}

/// iWARP leaves 22 octets more to the headers: at 128 there are 54 of the SEND, with TCP's options 42.
TEST(Nvme, headers_of_iwarp_alone_are_enough) {
    const Finder finder = read(snapped(as_iwarp(load(capture)), 128));
    expect_equal(finder.answered, expected_nvme());
    EXPECT_EQ(finder.unbound, 0u);
}

TEST(Nvme, a_capture_that_begins_in_the_middle) {
    const Frames frames = load(capture);
    const std::vector<Found> expected = expected_nvme();
    for (std::size_t first = 1; first < 400; first += 19) {
        const Frames rest(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end());
        const Finder finder = read(rest);
        SCOPED_TRACE(first);
        // Commands whose request is there, as in the whole capture; the queue pairs are paired by what they
        // acknowledge.
        std::vector<Found> later;
        for (const Found& one : expected)
            if (one.request_first > first) later.push_back(one);
        std::vector<Found> found;
        for (const Found& one : finder.answered)
            if (one.request_first > first) found.push_back(one);
        // Fewer than three answers are left of the discovery's connection: too few for its shape to be believed.
        constexpr std::uint64_t discovery_ends = 90;
        if (found.size() < later.size() && later.size() - found.size() < 3)
            std::erase_if(later, [&](const Found& one) {
                const auto is_it = [&](const Found& other) { return other.response == one.response; };
                return one.request_first < discovery_ends && std::none_of(found.begin(), found.end(), is_it);
            });
        // A queue's first commands may be read before its kind is known.
        for (Found& one : later) one.kind = one.kind == "read" || one.kind == "write" ? one.kind : "";
        for (Found& one : found) one.kind = one.kind == "read" || one.kind == "write" ? one.kind : "";
        expect_equal(found, later);
    }
}

/// Without one side of the traffic there are no commands, and nothing goes wrong.
TEST(Nvme, one_direction_alone) {
    Frames frames = load(capture);
    std::erase_if(frames, [](const NumberedFrame& one) { return one.kept.octets[29] == std::byte{1}; });
    EXPECT_TRUE(read(frames).answered.empty());
}

bool is_send(const NumberedFrame& one) {
    const auto opcode = std::to_integer<unsigned>(one.kept.octets[42]);
    return one.kept.octets.size() > 54 && (opcode <= 5 || opcode == 22 || opcode == 23);
}

/// Each SEND passes a second time 200 us later, after its receiver has acknowledged it or not: no command is counted
/// twice.
TEST(Nvme, repeated_packets_are_no_commands) {
    Frames frames;
    for (const NumberedFrame& one : load(capture)) {
        frames.push_back(one);
        if (!is_send(one)) continue;
        frames.push_back(one);
        frames.back().kept.time_ns += 200'000;
    }
    std::stable_sort(frames.begin(), frames.end(), [](const NumberedFrame& one, const NumberedFrame& two) {
        return one.kept.time_ns < two.kept.time_ns;
    });
    const Finder finder = read(frames);
    const std::vector<Found> expected = expected_nvme();
    ASSERT_EQ(finder.answered.size(), expected.size());
    std::map<std::string, unsigned> kinds;
    std::map<std::string, unsigned> expected_kinds;
    for (const Found& one : finder.answered) ++kinds[one.kind];
    for (const Found& one : expected) ++expected_kinds[one.kind];
    EXPECT_EQ(kinds, expected_kinds);
    EXPECT_EQ(finder.ends.size(), 2u);
}

/// Every 50th frame is missing: what is found has been asked once, and the rest is counted as what it is.
TEST(Nvme, lost_frames_make_no_commands) {
    for (const std::size_t nth : {50u, 17u}) {
        Frames frames;
        for (const NumberedFrame& one : load(capture))
            if (one.number % nth != 0) frames.push_back(one);
        const Finder finder = read(frames);
        const std::vector<Found> expected = expected_nvme();
        EXPECT_LE(finder.answered.size(), expected.size());
        EXPECT_GE(finder.answered.size(), expected.size() * 8 / 10);
        EXPECT_GT(finder.ends.count("orphan"), 0u);
        std::map<std::string, std::vector<std::uint64_t>> responses;
        for (const Found& one : expected) responses[one.id].push_back(one.response);
        for (const Found& one : finder.answered) {
            const auto& known = responses[one.id];
            EXPECT_NE(std::find(known.begin(), known.end(), one.response), known.end()) << text_of(one);
        }
        EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
    }
}

/// A few connections at a time: the idlest go, and nothing is left of them.
TEST(Nvme, few_connections_are_remembered) {
    upper::ReaderOptions options;
    options.max_connections = 2;
    const Finder finder = read(load(capture), options);
    EXPECT_LE(finder.answered.size(), expected_nvme().size());
}

/// The same of commands: each connection gives up its oldest.
TEST(Nvme, few_commands_are_remembered) {
    upper::ReaderOptions options;
    options.max_commands = 6;
    const Finder finder = read(load(capture), options);
    EXPECT_LT(finder.answered.size(), expected_nvme().size());
    EXPECT_GT(finder.answered.size(), 100u);
    EXPECT_GT(finder.ends.at("given_up"), 0u);
    EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
}

/// Of other traffic nothing is taken for NVMe.
TEST(Nvme, other_captures_have_none) {
    for (const char* name : {"rds-rxe.pcap", "srp-rxe.pcap.gz", "iser-rxe.pcap.gz", "nfs-rdma-rxe.pcap",
                             "nfs-rdma-siw.pcap", "rxe-rstream.pcap", "rxe-send-bw-64.pcap", "rxe-rping.pcap",
                             "rxe-qperf.pcap.gz", "rxe-read-bw-64k.pcap", "smbdirect-rxe.pcap", "siw-rping-p2p.pcap"}) {
        const Finder finder = read(load(name));
        EXPECT_EQ(finder.protocols.count("nvme"), 0u) << name;
    }
}

/// fio and dd next to the capture: 4 KiB x 32, 4 KiB x 8 and 512 B x 4 were written within the capsule, 2 x 128 KiB
/// were fetched.
TEST(Nvme, what_the_applications_wrote) {
    std::uint64_t inline_count = 0;
    std::uint64_t inline_bytes = 0;
    std::uint64_t keyed_count = 0;
    std::uint64_t keyed_bytes = 0;
    for (const Found& one : read(load(capture)).answered) {
        if (one.kind != "write") continue;
        inline_count += one.inline_bytes != 0 ? 1 : 0;
        inline_bytes += one.inline_bytes;
        keyed_count += one.advertised != 0 ? 1 : 0;
        keyed_bytes += one.moved;
    }
    EXPECT_EQ(inline_count, 4u + 8u + 32u);
    EXPECT_EQ(inline_bytes, 4u * 512 + (8 + 32) * 4096u);
    EXPECT_EQ(keyed_count, 2u);
    EXPECT_EQ(keyed_bytes, 2u * 131072);
}

}  // namespace
}  // namespace upper_test
