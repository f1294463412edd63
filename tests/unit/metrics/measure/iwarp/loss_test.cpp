#include <gtest/gtest.h>

#include "metrics/measure/iwarp/loss_recovery.h"
#include "metrics/measure/iwarp/loss_reports.h"

namespace metrics {
namespace {

using iwarp::LossRecovery;
using iwarp::LossReports;

TEST(LossReports, three_duplicates_report_a_loss) {
    LossReports reports;
    EXPECT_TRUE(reports.duplicate(100)) << "the first one begins it";
    EXPECT_FALSE(reports.duplicate(200));
    EXPECT_FALSE(reports.duplicates_show_loss());
    EXPECT_FALSE(reports.duplicate(300));
    EXPECT_TRUE(reports.duplicates_show_loss());
    EXPECT_EQ(reports.duplicate_acks(), 3);
    EXPECT_EQ(reports.take_first_ns(), 100);
    EXPECT_EQ(reports.take_first_ns(), std::nullopt) << "each report is taken once";
}

TEST(LossReports, an_acknowledgement_that_goes_further_ends_the_duplicates) {
    LossReports reports;
    reports.duplicate(100);
    reports.duplicate(200);
    reports.advance();
    EXPECT_FALSE(reports.in_duplicates());
    EXPECT_EQ(reports.take_first_ns(), std::nullopt);
    EXPECT_TRUE(reports.duplicate(300));
    EXPECT_FALSE(reports.duplicates_show_loss()) << "the two before belong to another loss";
}

TEST(LossReports, cover_what_lies_before_the_farthest_report) {
    LossReports reports;
    reports.believe(5000);
    reports.believe(3000);
    EXPECT_TRUE(reports.cover(4999));
    EXPECT_FALSE(reports.cover(5000));
    reports.forget_positions();
    EXPECT_FALSE(reports.cover(0));
}

TEST(LossRecovery, lasts_until_what_was_sent_before_it_is_acknowledged) {
    LossRecovery recovery;
    EXPECT_FALSE(recovery.is_under_way(1000));
    recovery.repeat(1000, 1000, 8000);
    EXPECT_TRUE(recovery.is_under_way(7999));
    EXPECT_FALSE(recovery.is_under_way(8000));
}

TEST(LossRecovery, a_run_goes_on_with_later_segments_and_begins_with_earlier_ones) {
    LossRecovery recovery;
    EXPECT_TRUE(recovery.begins(2000));
    recovery.repeat(2000, 1000, 8000);
    EXPECT_FALSE(recovery.begins(3000));
    EXPECT_TRUE(recovery.begins(2000));
    EXPECT_TRUE(recovery.begins(1000));
    recovery.end_run();
    EXPECT_TRUE(recovery.begins(3000)) << "new data passed since";
}

TEST(LossRecovery, the_head_is_lost_again_unless_the_receiver_reports_what_was_sent_after_it) {
    LossRecovery recovery;
    recovery.repeat(1000, 1000, 8000);
    recovery.selective(2000, 6000, 6000);
    EXPECT_TRUE(recovery.lost_again(1000)) << "of the flight that it was lost of";
    recovery.selective(8000, 9000, 9000);
    EXPECT_FALSE(recovery.lost_again(1000)) << "sent after the repeat";
    EXPECT_FALSE(recovery.lost_again(2000)) << "not the head";
}

}  // namespace
}  // namespace metrics
