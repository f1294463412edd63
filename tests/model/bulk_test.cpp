#include "tests/model/bulk.h"

#include <gtest/gtest.h>

#include "dissect/dissector.h"

namespace {

using namespace model;

struct Counting : dissect::Sink {
    void on_unit(const dissect::Unit& unit) override {
        ++units;
        const dissect::Dissection& dissection = unit.dissection;
        const bool ib = unit.transport != wire::Transport::iwarp;
        const bool start = !ib && !dissection.has(dissect::LayerId::ddp_tagged);
        const dissect::CrcStatus crc = ib ? dissection.bth.icrc : dissection.ddp.crc;
        bad += !start && crc != dissect::CrcStatus::good ? 1 : 0;
        repeats += unit.repeats_frame != 0 ? 1 : 0;
    }
    void on_notice(const dissect::Notice&) override { ++notices; }
    std::uint64_t units = 0;
    std::uint64_t bad = 0;
    std::uint64_t repeats = 0;
    std::uint64_t notices = 0;
};

class BulkTest : public testing::TestWithParam<BulkKind> {};

TEST_P(BulkTest, IsWellFormedThroughout) {
    BulkTraffic traffic(GetParam(), 3, 5);
    dissect::Dissector dissector;
    Counting counting;
    for (std::uint64_t i = 1; i <= 5000; ++i) dissector.dissect(traffic.next().frame(i), counting);
    dissector.finish(counting);
    EXPECT_EQ(dissector.counters().malformed, 0u);
    EXPECT_EQ(dissector.counters().odd, 0u);
    EXPECT_EQ(counting.bad, 0u);
    EXPECT_EQ(counting.repeats, 0u);
    EXPECT_EQ(counting.notices, 0u);
    // iWARP: 15 set-ups of 5 frames with two units, then rounds with one frame that has none (the ACK).
    const std::uint64_t iwarp_rounds = (5000 - 15 * 5) / (GetParam() == BulkKind::iwarp_64 ? 5 : 3);
    if (GetParam() == BulkKind::roce_1k || GetParam() == BulkKind::roce_64)
        EXPECT_EQ(counting.units, 5000u);
    else
        EXPECT_EQ(counting.units, 15 * 2 + (5000 - 15 * 5) - iwarp_rounds);
}

INSTANTIATE_TEST_SUITE_P(Kinds, BulkTest,
                         testing::Values(BulkKind::roce_1k, BulkKind::roce_64, BulkKind::iwarp_64,
                                         BulkKind::iwarp_1420));

}  // namespace
