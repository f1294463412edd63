#include <gtest/gtest.h>

#include "tests/model/model_analysis.h"
#include "tests/model/scenarios.h"

/// Every counter and every latency against the model's own.
namespace {

using namespace model;
using metrics::FlowSnapshot;

struct Case {
    Scenario scenario;
    Framing framing = Framing::roce2_ipv4;
    Tap tap;
    std::string name;
};

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const Scenario& each : scenarios()) {
        all.push_back({each, Framing::roce2_ipv4, tap_at(0), each.name + "_sender"});
        all.push_back({each, Framing::roce2_ipv4, tap_at(1), each.name + "_receiver"});
        all.push_back({each, Framing::roce2_ipv4, middle_tap, each.name + "_middle"});
    }
    for (const char* name : {"mix", "loss_behind", "rnr"}) {
        all.push_back({scenario(name), Framing::roce2_ipv6, tap_at(0), std::string(name) + "_ipv6"});
        all.push_back({scenario(name), Framing::roce1, tap_at(0), std::string(name) + "_roce1"});
        all.push_back({scenario(name), Framing::infiniband, tap_at(0), std::string(name) + "_infiniband"});
    }
    return all;
}

class FiguresTest : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        Plan plan = GetParam().scenario.plan;
        plan.framing = GetParam().framing;
        history_ = run(plan);
        truth_ = figures(history_, GetParam().tap);
        snapshot_ = analyse(capture(history_, GetParam().tap, false), options_for(history_));
    }
    template <class Check>
    void each_flow(Check check) {
        for (std::uint32_t side = 0; side < truth_.size(); ++side) {
            if (truth_[side].packets == 0) continue;
            const FlowSnapshot* flow = flow_of(snapshot_, history_, side);
            ASSERT_NE(flow, nullptr) << "side " << side;
            SCOPED_TRACE("side " + std::to_string(side));
            check(*flow, truth_[side], side);
        }
    }
    History history_;
    std::vector<Figures> truth_;
    metrics::Snapshot snapshot_;
};

void same(const metrics::Histogram& measured, const Samples& truth) {
    EXPECT_EQ(measured.count(), truth.size());
    EXPECT_EQ(measured.sum(), sum(truth));
    if (truth.empty()) return;
    EXPECT_EQ(measured.min(), *std::min_element(truth.begin(), truth.end()));
    EXPECT_EQ(measured.max(), *std::max_element(truth.begin(), truth.end()));
}

TEST_P(FiguresTest, OneFlowADirection) {
    std::size_t expected = 0;
    for (const Figures& each : truth_) expected += each.packets != 0 ? 1 : 0;
    EXPECT_EQ(snapshot_.flows.size(), expected);
    EXPECT_EQ(snapshot_.capture.packets, seen(history_, GetParam().tap).size());
}

TEST_P(FiguresTest, PacketsAndOctets) {
    each_flow([&](const FlowSnapshot& flow, const Figures& truth, std::uint32_t) {
        EXPECT_EQ(flow.packets, truth.packets);
        EXPECT_EQ(flow.wire_bytes, truth.wire_bytes);
        EXPECT_EQ(flow.payload_bytes, truth.payload_bytes);
        EXPECT_EQ(flow.acknowledgement_packets, truth.acknowledgement_packets);
        // A flow lives as long as its conversation: the answers to its last packet are its own.
        EXPECT_LE(flow.first_ns, history_.plan.epoch_ns + truth.first_ns);
        EXPECT_GE(flow.last_ns, history_.plan.epoch_ns + truth.last_ns);
    });
}

TEST_P(FiguresTest, Operations) {
    each_flow([](const FlowSnapshot& flow, const Figures& truth, std::uint32_t) {
        for (std::size_t i = 0; i < metrics::operation_count; ++i) {
            SCOPED_TRACE(metrics::operation_names[i]);
            EXPECT_EQ(flow.operations[i].count, truth.operations[i].count);
            EXPECT_EQ(flow.operations[i].bytes, truth.operations[i].bytes);
        }
    });
}

TEST_P(FiguresTest, Latencies) {
    each_flow([](const FlowSnapshot& flow, const Figures& truth, std::uint32_t) {
        for (std::size_t i = 0; i < metrics::operation_count; ++i) {
            SCOPED_TRACE(metrics::operation_names[i]);
            same(flow.operations[i].latency_ns, truth.operations[i].latency_ns);
            same(flow.operations[i].first_response_ns, truth.operations[i].first_response_ns);
        }
    });
}

TEST_P(FiguresTest, RepeatsAndLosses) {
    each_flow([](const FlowSnapshot& flow, const Figures& truth, std::uint32_t) {
        EXPECT_EQ(flow.retransmitted_packets.value_or(0), truth.retransmitted_packets);
        EXPECT_EQ(flow.duplicate_packets.value_or(0), truth.duplicate_packets);
        EXPECT_EQ(flow.reordered_packets.value_or(0), truth.late_packets);
        EXPECT_EQ(flow.missing_packets.value_or(0), truth.missing_packets);
        EXPECT_EQ(flow.unseen_acknowledged_packets, 0u);
    });
}

TEST_P(FiguresTest, Complaints) {
    each_flow([&](const FlowSnapshot& flow, const Figures& truth, std::uint32_t side) {
        EXPECT_EQ(flow.naks[0], truth.sequence_naks);
        EXPECT_EQ(flow.rnr_naks, truth.rnr_naks);
        EXPECT_EQ(flow.cnp_packets, truth.cnp_packets);
        EXPECT_EQ(flow.ecn_ce_packets, truth.ecn_ce_packets);
        EXPECT_EQ(flow.ecn_capable_packets, truth.ecn_capable_packets);
        EXPECT_EQ(flow.timeouts, history_.sides[side].timeouts);
    });
}

TEST_P(FiguresTest, QueueDepth) {
    each_flow([&](const FlowSnapshot& flow, const Figures& truth, std::uint32_t) {
        EXPECT_EQ(flow.messages_max, truth.messages_max());
        ASSERT_GT(flow.wall_ns(), 0u);
        const std::uint64_t area =
            truth.message_ns(flow.first_ns - history_.plan.epoch_ns, flow.last_ns - history_.plan.epoch_ns);
        EXPECT_NEAR(flow.messages_mean, static_cast<double>(area) / static_cast<double>(flow.wall_ns()), 1e-6);
    });
}

TEST_P(FiguresTest, Partners) {
    each_flow([&](const FlowSnapshot& flow, const Figures&, std::uint32_t side) {
        const FlowSnapshot* partner = flow_of(snapshot_, history_, side ^ 1);
        ASSERT_NE(partner, nullptr);
        EXPECT_EQ(flow.reverse, partner->id);
        EXPECT_EQ(flow.source.qpn, history_.end(side).qpn);
    });
}

TEST_P(FiguresTest, Place) {
    each_flow([&](const FlowSnapshot& flow, const Figures& truth, std::uint32_t side) {
        std::uint64_t messages = 0;
        for (const OperationTruth& each : truth.operations) messages += each.count;
        if (messages == 0) return;  // a direction of acknowledgements alone has no half round trips of its own
        const metrics::Vantage expected = GetParam().tap.in_the_middle                     ? metrics::Vantage::mid_path
                                          : GetParam().tap.host == history_.end(side).host ? metrics::Vantage::sender
                                                                                           : metrics::Vantage::receiver;
        // Where nothing ever reacts to anything there is nothing to compare: unknown is an honest answer.
        if (flow.vantage != metrics::Vantage::unknown) {
            EXPECT_EQ(metrics::name_of(flow.vantage), metrics::name_of(expected));
        }
    });
}

TEST_P(FiguresTest, StatesSumToTheWallTime) {
    for (const FlowSnapshot& flow : snapshot_.flows) EXPECT_EQ(sum(flow.state_ns), flow.wall_ns());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, FiguresTest, testing::ValuesIn(cases()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
