/// Recoveries of Linux rxe, against the counters of the two kernels (hw_counters in the JSON next to each capture): the
/// client's requester repeats once for each completer_retry_err, and once for each RNR NAK that it obeys
/// (rcvd_rnr_err less retry_rnr_exceeded_err). rxe goes back N as it should: no capture shows a violation.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/pcaps.h"
#include "tests/unit/metrics/measure/account/recovery_replay.h"

namespace {

using metrics::RecoveryStep;
using metrics::RepeatCause;
using recovery_test::Outcome;

struct Expected {
    const char* capture;
    unsigned rnr;    ///< rcvd_rnr_err - retry_rnr_exceeded_err
    unsigned retry;  ///< completer_retry_err of both, without those that belong to an RNR
    unsigned naks;   ///< of them, after a NAK (out_of_seq_request) or lost responses
};

constexpr Expected recoveries[] = {
    {"rxe-loss1pct-send-bw.pcap.gz", 0, 8, 8}, {"rxe-rxdrop1pct-write-bw.pcap.gz", 0, 9, 8},
    {"rxe-corrupt-send-bw.pcap.gz", 0, 4, 4},  {"rxe-rxdrop2pct-read-bw.pcap.gz", 0, 15, 15},
    {"rxe-verbs-rnr.pcap", 1, 0, 0},           {"rxe-verbs-rnr-fail.pcap", 2, 0, 0},
    {"rxe-atomic-fetchadd-bw.pcap", 0, 1, 0},  {"rxe-write-bw-4k-ipv6.pcap.gz", 0, 1, 0},
    {"rxe-dup-send-bw.pcap.gz", 0, 0, 0},      {"rxe-send-bw-4k.pcap.gz", 0, 0, 0},
    {"rxe-ecn-ce-write-bw.pcap.gz", 0, 0, 0},  {"rxe-delay20ms-write-lat.pcap", 0, 0, 0},
};

std::string name_of(const testing::TestParamInfo<Expected>& test) {
    std::string name{test.param.capture};
    name.resize(name.find('.'));
    std::ranges::replace(name, '-', '_');
    return name;
}

class RecoveriesOfRxe : public testing::TestWithParam<Expected> {};

TEST_P(RecoveriesOfRxe, AreThoseThatTheKernelsCounted) {
    for (const std::uint64_t ack_timeout_ns : {std::uint64_t{0}, std::uint64_t{4096} << 18}) {
        Outcome outcome = recovery_test::replay(GetParam().capture, ack_timeout_ns);
        EXPECT_EQ(outcome.runs[RepeatCause::rnr_nak], GetParam().rnr);
        EXPECT_EQ(outcome.runs[RepeatCause::nak] + outcome.runs[RepeatCause::timeout], GetParam().retry);
        EXPECT_EQ(outcome.runs[RepeatCause::nak], GetParam().naks);
        EXPECT_EQ(outcome.steps[RecoveryStep::begun].size(), GetParam().retry);
    }
}

INSTANTIATE_TEST_SUITE_P(Captures, RecoveriesOfRxe, testing::ValuesIn(recoveries), name_of);

TEST(RecoveriesOfRxe, ShowNoViolation) {
    unsigned captures = 0;
    for (const auto& entry : std::filesystem::directory_iterator{support::pcaps()}) {
        const std::string name = entry.path().filename();
        if (name.find("rxe") == name.npos || name.find(".pcap") == name.npos) continue;
        ++captures;
        for (const std::uint64_t ack_timeout_ns : {std::uint64_t{0}, std::uint64_t{4096} << 18}) {
            for (const auto& reported : recovery_test::replay(name, ack_timeout_ns).violations)
                ADD_FAILURE() << name << " frame " << reported.frame << " kind " << static_cast<int>(reported.kind)
                              << " value " << reported.value;
        }
    }
    EXPECT_GE(captures, 40u);
}

/// The first recovery of that capture, stamps as tshark shows them: the first packet past the hole at 12249820, the
/// NAK, the packet itself.
TEST(RecoveriesOfRxe, AreTimed) {
    Outcome outcome = recovery_test::replay("rxe-loss1pct-send-bw.pcap.gz", 0);
    ASSERT_EQ(outcome.steps[RecoveryStep::nak_generation].size(), 8u);
    ASSERT_EQ(outcome.steps[RecoveryStep::nak_reaction].size(), 8u);
    ASSERT_EQ(outcome.steps[RecoveryStep::total].size(), 8u);
    for (unsigned i = 0; i < 8; ++i) {
        EXPECT_EQ(outcome.steps[RecoveryStep::nak_generation][i] + outcome.steps[RecoveryStep::nak_reaction][i],
                  outcome.steps[RecoveryStep::total][i]);
    }
    EXPECT_EQ(outcome.steps[RecoveryStep::nak_reaction][0] / 1000, 2252u);    // 21.118326 - 21.116074 s
    EXPECT_EQ(outcome.steps[RecoveryStep::nak_generation][0] / 1000, 1119u);  // 21.116074 - 21.114955 s
}

}  // namespace
