// Commands of SCSI by iSER and by SRP: those that a reader written apart finds in the captures, and messages put
// together by the specifications (RFC 7145, RFC 7143, SRP r16a, SPC-5, SBC-4).
#include "wire/scsi.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/unit/upper/found_commands.h"
#include "upper/command_text.h"
#include "upper/protocols/iser_protocol.h"
#include "upper/protocols/srp_protocol.h"

namespace upper_test {
namespace {

constexpr const char* iser_capture = "iser-rxe.pcap.gz";
constexpr const char* aborting_capture = "iser-rxe-timeout.pcap.gz";
constexpr const char* srp_capture = "srp-rxe.pcap.gz";

using Octets = std::vector<std::byte>;

TEST(Scsi, every_command_by_iser) {
    const Finder finder = read(load(iser_capture));
    expect_equal(finder.answered, expected("iser-rxe"));
    EXPECT_EQ(finder.unbound, 0u);
    EXPECT_EQ(finder.ends.size(), 1u);
    EXPECT_EQ(finder.operations, 196u);  // that the other reader finds
    EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
    // tshark: iscsi.keyvalue; iscsi.maxcmdsn less iscsi.expcmdsn, and one, of the last PDU
    EXPECT_EQ(finder.target_names, (std::vector<std::string>{"iqn.2024-01.lab:disk"}));
}

TEST(Scsi, every_command_by_srp) {
    const Finder finder = read(load(srp_capture));
    expect_equal(finder.answered, expected("srp-rxe"));
    EXPECT_EQ(finder.unbound, 0u);
    EXPECT_EQ(finder.ends.size(), 1u);
    EXPECT_EQ(finder.probes, 1u);        // a WRITE of no bytes when the channel comes up
    EXPECT_EQ(finder.operations, 120u);  // 119 of commands
    // SRP_LOGIN_RSP's request limit delta, octets 4 to 7 of the REP's private data
    EXPECT_EQ(finder.limits, (std::vector<std::uint32_t>{128}));
}

TEST(Scsi, the_same_over_other_transports) {
    expect_equal(read(as_infiniband(load(iser_capture))).answered, expected("iser-rxe"));
    expect_equal(read(as_iwarp(load(iser_capture))).answered, expected("iser-rxe"));
    expect_equal(read(as_infiniband(load(srp_capture))).answered, expected("srp-rxe"));
}

/// Sense data, and descriptors after the first, are beyond what is captured.
std::vector<Found> without_status(std::vector<Found> commands) {
    for (Found& one : commands) one.status.clear();
    return commands;
}

TEST(Scsi, headers_alone_are_enough) {
    for (const std::size_t bytes : {128u, 160u}) {
        SCOPED_TRACE(bytes);
        const Finder iser = read(snapped(load(iser_capture), bytes));
        std::vector<Found> found = without_status(iser.answered);
        expect_equal(found, without_status(expected("iser-rxe")));
        EXPECT_EQ(iser.unbound, 0u);
    }
    const Finder srp = read(snapped(load(srp_capture), 192));
    expect_equal(without_status(srp.answered), without_status(expected("srp-rxe")));
    EXPECT_EQ(srp.unbound, 0u);
    // The descriptors are cut: data belong to the only open command.
    const Finder without_descriptors = read(snapped(load(srp_capture), 96));
    EXPECT_GT(expect_single_equal(without_status(without_descriptors.answered), without_status(expected("srp-rxe"))),
              60u);
    EXPECT_LT(without_descriptors.unbound, 14u);
}

TEST(Scsi, a_capture_that_begins_in_the_middle) {
    for (const char* name : {iser_capture, srp_capture}) {
        const Frames frames = load(name);
        const std::vector<Found> all = expected(name == iser_capture ? "iser-rxe" : "srp-rxe");
        for (std::size_t first = 8; first < 300; first += 23) {
            const Frames rest(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end());
            SCOPED_TRACE(first);
            std::vector<Found> later;
            for (const Found& one : all)
                if (one.request_first > first) later.push_back(one);
            std::vector<Found> found;
            for (const Found& one : read(rest).answered)
                if (one.request_first > first) found.push_back(one);
            expect_equal(found, later);
        }
    }
}

/// tshark: frame 3343 has tag 0x31000000, 3361 asks to abort it, 3363 says that it is done.
TEST(Scsi, an_aborted_command_waits_for_nothing) {
    for (const Frames& frames : {load(aborting_capture), as_iwarp(load(aborting_capture))}) {
        const Finder finder = read(frames);
        EXPECT_EQ(finder.ends.at("replaced"), 1u);
        EXPECT_EQ(finder.ends.count("unanswered"), 0u);
    }
}

/// `tshark -Y iscsi.initiatortasktag`: the READ is asked for at 0, ABORT TASK is asked at 12.355 s and answered at
/// 15.607 s. Before and after, no command is open for 7.260 s and for less than a second.
TEST(Scsi, a_command_is_open_until_it_is_aborted) {
    const Finder finder = read(load(aborting_capture));
    EXPECT_EQ(*std::ranges::max_element(finder.host_next_ns) / 1'000'000, 7260u);
    EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
}

/// RFC 7143, 11.6.1: response 1, octet 2 of the PDU, says that there is no such task. Then nothing is aborted.
TEST(Scsi, a_refused_abort_changes_nothing) {
    Frames frames = load(aborting_capture);
    const auto answer = std::ranges::find(frames, 3363u, &NumberedFrame::number);
    ASSERT_NE(answer, frames.end());
    constexpr std::size_t pdu = 14 + 20 + 8 + 12 + 28;  // after Ethernet, IPv4, UDP, BTH and the header of iSER
    ASSERT_EQ(answer->kept.octets[pdu], std::byte{0x22}) << "a task management response";
    answer->kept.octets[pdu + 2] = std::byte{1};
    const Finder finder = read(frames);
    EXPECT_EQ(finder.ends.count("replaced"), 0u);
    EXPECT_EQ(finder.ends.at("unanswered"), 1u);
}

/// ANSI INCITS 365, SRP_TSK_MGMT: the function in octet 30, the tag of the other task from 32 on.
TEST(Scsi, srp_names_the_task_to_abort) {
    Octets message(48);
    message[0] = std::byte{0x01};
    message[15] = std::byte{0x45};
    message[30] = std::byte{0x01};
    message[39] = std::byte{0x44};
    upper::ConnectionFacts facts;
    upper::Said said;
    upper::protocols::srp.parse(message, message.size(), true, facts, said);
    EXPECT_EQ(said.id, 0x45u);
    EXPECT_EQ(said.aborts, 0x44u);
    message[30] = std::byte{0x08};  // LUN RESET
    said = {};
    upper::protocols::srp.parse(message, message.size(), true, facts, said);
    EXPECT_FALSE(said.aborts);
}

TEST(Scsi, other_captures_have_none) {
    for (const char* name : {"rds-rxe.pcap", "nfs-rdma-rxe.pcap", "nfs-rdma-siw.pcap", "nvme-rdma-rxe.pcap.gz",
                             "rxe-rstream.pcap", "rxe-fi-pingpong.pcap", "rxe-send-bw-64.pcap", "smbdirect-rxe.pcap",
                             "siw-rping-p2p.pcap", "rxe-rping.pcap", "rxe-qperf.pcap.gz"}) {
        const Finder finder = read(load(name));
        EXPECT_EQ(finder.protocols.count("iser"), 0u) << name;
        EXPECT_EQ(finder.protocols.count("srp"), 0u) << name;
    }
    EXPECT_EQ(read(load(iser_capture)).protocols.count("srp"), 0u);
    EXPECT_EQ(read(load(srp_capture)).protocols.count("iser"), 0u);
}

/// dd next to the captures: 2 x 128 KiB and 8 x 4 KiB, and with iSER 4 x 512 bytes; in the messages, and fetched.
TEST(Scsi, what_the_applications_wrote) {
    const auto written = [](const char* name) {
        std::uint64_t sum = 0;
        for (const Found& one : read(load(name)).answered)
            if (one.kind == "write") sum += one.inline_bytes + one.moved;
        return sum;
    };
    EXPECT_EQ(written(srp_capture), 2 * 131072u + 8 * 4096u);
    EXPECT_EQ(written(iser_capture), 2 * 131072u + 8 * 4096u + 4 * 512u);
}

Octets octets(std::initializer_list<unsigned> values) {
    Octets all;
    for (const unsigned value : values) all.push_back(static_cast<std::byte>(value));
    return all;
}

TEST(Scsi, blocks_of_every_length_of_descriptor) {
    struct Case {
        Octets cdb;
        const char* text;
        const char* kind;
        std::uint64_t block;
        std::uint32_t count;
    };
    Octets variable(32);
    variable[0] = std::byte{0x7f};
    variable[9] = std::byte{0x0b};
    variable[19] = std::byte{7};
    variable[31] = std::byte{9};
    const std::vector<Case> cases{
        {octets({0x08, 0x1f, 0xff, 0xff, 0x00, 0}), "READ(6)", "read", 0x1fffff, 256},
        {octets({0x2a, 0, 0, 1, 2, 3, 0, 0x01, 0x00, 0}), "WRITE(10)", "write", 0x10203, 256},
        {octets({0xa8, 0, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0}), "READ(12)", "read", 0x80000000, 0x10000},
        {octets({0x8a, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0}), "WRITE(16)", "write", 0x100000002, 8},
        {octets({0x35, 0, 0, 0, 0, 5, 0, 0, 6, 0}), "SYNCHRONIZE CACHE(10)", "synchronize_cache", 5, 6},
        {octets({0x89, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0}), "COMPARE AND WRITE", "compare_and_write", 3, 1},
        {variable, "WRITE(32)", "write", 7, 9},
    };
    for (const Case& one : cases) {
        const wire::ScsiCommand command = wire::parse_scsi_cdb(one.cdb);
        const wire::ScsiName name = wire::scsi_command_name(command.opcode, command.service_action);
        EXPECT_EQ(name.text, one.text);
        EXPECT_EQ(name.kind, one.kind);
        EXPECT_EQ(command.first_block, one.block) << one.text;
        EXPECT_EQ(command.block_count, one.count) << one.text;
    }
    EXPECT_EQ(wire::scsi_command_name(0x9e, 0x10).text, "READ CAPACITY(16)");
    EXPECT_EQ(wire::scsi_command_name(0x9e, 0x1f).text, "SERVICE ACTION IN(16)");
    EXPECT_EQ(wire::scsi_command_name(0xff, 0).text, "");
}

std::string meaning(const upper::Protocol& protocol, const Octets& response) {
    upper::ConnectionFacts facts;
    upper::Said said;
    protocol.parse(response, response.size(), false, facts, said);
    if (said.type != upper::Said::Type::response) return "no response";
    const upper::StatusMeaning known = protocol.status(0x28, said.status);
    return upper::status_text(known, said.status) + " " + std::string(upper::name_of(known.error));
}

Octets srp_response(unsigned status, const Octets& sense) {
    Octets message(36);
    message[0] = std::byte{0xc1};
    message[19] = static_cast<std::byte>(status);
    if (!sense.empty()) {
        message[18] = std::byte{0x02};
        message[31] = static_cast<std::byte>(sense.size());
        message.insert(message.end(), sense.begin(), sense.end());
    }
    return message;
}

Octets iser_response(unsigned response, unsigned status, const Octets& sense) {
    Octets message(76);
    message[0] = std::byte{0x10};
    message[28] = std::byte{0x21};
    message[29] = std::byte{0x80};
    message[30] = static_cast<std::byte>(response);
    message[31] = static_cast<std::byte>(status);
    if (!sense.empty()) {
        message[35] = static_cast<std::byte>(sense.size() + 2);
        message.push_back(std::byte{0});
        message.push_back(static_cast<std::byte>(sense.size()));
        message.insert(message.end(), sense.begin(), sense.end());
    }
    return message;
}

Octets fixed_sense(unsigned key, unsigned code, unsigned qualifier) {
    return octets({0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, code, qualifier, 0, 0, 0, 0});
}

TEST(Scsi, what_statuses_mean) {
    struct Case {
        unsigned status;
        Octets sense;
        const char* meaning;
    };
    const std::vector<Case> cases{
        {0x00, {}, "Good "},
        {0x08, {}, "Busy busy"},
        {0x18, {}, "Reservation Conflict denied"},
        {0x28, {}, "Task Set Full busy"},
        {0x40, {}, "Task Aborted aborted"},
        {0x02, fixed_sense(0x3, 0x11, 0x00), "Unrecovered Read Error device"},
        {0x02, fixed_sense(0x2, 0x04, 0x0b), "Logical Unit Not Accessible, Target Port In Standby State path"},
        {0x02, fixed_sense(0x6, 0x2a, 0x06), "Asymmetric Access State Changed path"},
        {0x02, fixed_sense(0x6, 0x29, 0x00), "Power On, Reset, Or Bus Device Reset Occurred "},
        {0x02, fixed_sense(0x7, 0x27, 0x00), "Write Protected denied"},
        {0x02, fixed_sense(0x1, 0x00, 0x00), "Recovered Error "},
        {0x02, octets({0x72, 0x05, 0x20, 0x00, 0, 0, 0, 0}), "Invalid Command Operation Code protocol"},
        {0x02, {}, "Check Condition protocol"},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(meaning(upper::protocols::srp, srp_response(one.status, one.sense)), one.meaning);
        EXPECT_EQ(meaning(upper::protocols::iser, iser_response(0, one.status, one.sense)), one.meaning);
    }
    EXPECT_EQ(meaning(upper::protocols::iser, iser_response(1, 0, {})), "Response does not contain SCSI status device");
}

/// Data out by a table of three descriptors, of which two are here, and data in by one.
TEST(Scsi, srp_descriptors) {
    Octets message(48);
    message[0] = std::byte{0x02};
    message[5] = std::byte{0x21};
    message[6] = std::byte{2};
    message[7] = std::byte{1};
    message[15] = std::byte{0x44};
    message[20] = std::byte{0x40};  // flat space
    message[21] = std::byte{9};
    message[32] = std::byte{0x2a};
    const auto add = [&](std::uint64_t address, std::uint32_t key, std::uint32_t length) {
        for (unsigned i = 8; i-- > 0;) message.push_back(static_cast<std::byte>(address >> 8 * i & 0xff));
        for (const std::uint32_t word : {key, length})
            for (unsigned i = 4; i-- > 0;) message.push_back(static_cast<std::byte>(word >> 8 * i & 0xff));
    };
    add(0x9000, 0x70, 48);
    for (const unsigned octet : {0u, 0u, 0x30u, 0u}) message.push_back(static_cast<std::byte>(octet));
    add(0x1000, 0x71, 4096);
    add(0x3000, 0x72, 4096);
    add(0x5000, 0x73, 512);
    const upper::Protocol& srp = upper::protocols::srp;
    EXPECT_EQ(srp.shape(message, message.size()), upper::Shape::request);
    upper::ConnectionFacts facts;
    upper::Said said;
    srp.parse(message, message.size(), true, facts, said);
    EXPECT_EQ(said.id, 0x44u);
    EXPECT_EQ(said.target, 9u);
    EXPECT_EQ(said.bytes, 0x3000u + 512u);
    ASSERT_EQ(said.grant_count, 4u);
    EXPECT_EQ(said.grants[0].key, 0x71u);
    EXPECT_TRUE(said.grants[1].out);
    EXPECT_EQ(said.grants[2].key, 0x70u);  // the rest of the table is read from there
    EXPECT_EQ(said.grants[3].key, 0x73u);
    EXPECT_FALSE(said.grants[3].out);
}

TEST(Scsi, task_management) {
    Octets iser(76);
    iser[0] = std::byte{0x10};
    iser[28] = std::byte{0x42};
    iser[29] = std::byte{0x81};
    iser[47] = std::byte{5};
    upper::ConnectionFacts facts;
    upper::Said asked;
    upper::protocols::iser.parse(iser, iser.size(), true, facts, asked);
    EXPECT_EQ(asked.kind, "task_management");
    EXPECT_EQ(asked.kind_text, "Abort Task");
    iser[28] = std::byte{0x22};
    iser[30] = std::byte{1};
    upper::Said answered;
    upper::protocols::iser.parse(iser, iser.size(), false, facts, answered);
    EXPECT_EQ(answered.id, asked.id);
    EXPECT_EQ(upper::protocols::iser.status(asked.detail, answered.status).text, "Task not in task set");

    Octets srp(48);
    srp[0] = std::byte{0x01};
    srp[30] = std::byte{0x08};
    upper::Said reset;
    upper::protocols::srp.parse(srp, srp.size(), true, facts, reset);
    EXPECT_EQ(reset.kind_text, "Logical Unit Reset");
    Octets response = srp_response(0, {});
    response[18] = std::byte{0x01};
    response[35] = std::byte{4};
    for (const unsigned octet : {0u, 0u, 0u, 5u}) response.push_back(static_cast<std::byte>(octet));
    upper::Said failed;
    upper::protocols::srp.parse(response, response.size(), false, facts, failed);
    EXPECT_EQ(upper::protocols::srp.status(reset.detail, failed.status).text, "Task management function failed");
}

}  // namespace
}  // namespace upper_test
