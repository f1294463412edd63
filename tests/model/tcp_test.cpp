#include <fmt/core.h>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/model/model_analysis.h"
#include "tests/model/tcp_model.h"

/// iWARP against what the model knows.
namespace {

using namespace model;
using metrics::FlowSnapshot;

class TcpTest : public testing::TestWithParam<TcpPlan> {
protected:
    void measure(bool at_receiver, bool midway = false) {
        history_ = run(GetParam());
        metrics::AnalyzerOptions options;
        options.engine.link_bits_per_sec = GetParam().bits_per_sec;
        Frames frames = capture(history_, at_receiver);
        if (midway) frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(frames.size() / 2));
        snapshot_ = analyse(frames, options);
        for (const FlowSnapshot& flow : snapshot_.flows)
            if (flow.destination.port == 4420) flow_ = &flow;
        ASSERT_NE(flow_, nullptr);
        ASSERT_EQ(snapshot_.flows.size(), 2u);
    }
    void attribute(bool at_receiver, double least, bool midway = false) {
        measure(at_receiver, midway);
        const std::int64_t epoch = 1'700'000'000'000'000'000 + (at_receiver ? GetParam().delay_ns : 0);
        const metrics::StateTimes real = history_.sender.states(flow_->first_ns - epoch, flow_->last_ns - epoch);
        std::uint64_t apart = 0;
        for (std::size_t i = 0; i < real.size(); ++i)
            apart += std::max(real[i], flow_->state_ns[i]) - std::min(real[i], flow_->state_ns[i]);
        const double agreement = 1 - static_cast<double>(apart) / 2 / static_cast<double>(sum(real));
        fmt::print("iwarp {} at the {}{}: {:.1f} %\n", GetParam().name, at_receiver ? "receiver" : "sender",
                   midway ? ", midway" : "", agreement * 100);
        for (std::size_t i = 0; i < real.size(); ++i)
            if (real[i] + flow_->state_ns[i] != 0)
                fmt::print("    {:<22} {:6.2f} % {:6.2f} %\n", metrics::state_names[i],
                           static_cast<double>(flow_->state_ns[i]) / static_cast<double>(sum(real)) * 100,
                           static_cast<double>(real[i]) / static_cast<double>(sum(real)) * 100);
        EXPECT_GE(agreement, least);
    }
    /// A lone segment that is lost on its way leaves no trace at the receiver: its repetition looks like a first one.
    static bool undecidable() { return GetParam().depth == 1 && !GetParam().losses.empty(); }

    TcpHistory history_;
    metrics::Snapshot snapshot_;
    const FlowSnapshot* flow_ = nullptr;
};

TEST_P(TcpTest, MessagesAndSegments) {
    for (const bool at_receiver : {false, true}) {
        measure(at_receiver);
        const metrics::OperationFigures& operation = flow_->operations[index_of(GetParam().operation)];
        EXPECT_EQ(operation.count, GetParam().messages);
        EXPECT_EQ(operation.bytes, GetParam().messages * GetParam().bytes);
        EXPECT_EQ(flow_->payload_bytes, GetParam().messages * GetParam().bytes);
        EXPECT_EQ(flow_->crc_bad, 0u);
        EXPECT_EQ(sum(flow_->state_ns), flow_->wall_ns());
        ASSERT_TRUE(flow_->tcp);
        EXPECT_EQ(flow_->tcp->mss, 1460u);
        if (at_receiver && undecidable()) continue;
        EXPECT_EQ(flow_->timeouts, history_.sender.timeouts);
        EXPECT_EQ(flow_->tcp->retransmitted_segments, history_.retransmitted);
        EXPECT_EQ(flow_->retransmitted_packets, history_.retransmitted);
    }
}

TEST_P(TcpTest, Latency) {
    measure(false);
    const metrics::OperationFigures& operation = flow_->operations[index_of(GetParam().operation)];
    EXPECT_EQ(operation.latency_ns.count(), history_.latency_ns.size());
    EXPECT_EQ(operation.latency_ns.sum(), sum(history_.latency_ns));
}

TEST_P(TcpTest, StatesAtTheSender) { attribute(false, 0.95); }
TEST_P(TcpTest, StatesAtTheReceiver) { attribute(true, undecidable() ? 0 : 0.90); }

TEST_P(TcpTest, FiguresDoNotDependOnTheSequenceNumber) {
    TcpPlan plan = GetParam();
    plan.messages = 40;
    metrics::AnalyzerOptions options;
    options.engine.link_bits_per_sec = plan.bits_per_sec;
    const std::string expected = text_of(analyse(capture(run(plan), false), options));
    for (std::uint32_t back = 1; back < 6000; back += 131) {
        plan.start_sequence = 0u - back;
        ASSERT_EQ(text_of(analyse(capture(run(plan), false), options)), expected) << back;
    }
}

INSTANTIATE_TEST_SUITE_P(Plans, TcpTest, testing::ValuesIn(tcp_plans()),
                         [](const auto& each) { return each.param.name; });

class PacedTcpTest : public TcpTest {};
TEST_P(PacedTcpTest, FromTheSetUpOn) {
    attribute(false, 0.95);
    attribute(true, 0.95);
}
TEST_P(PacedTcpTest, BegunMidway) {
    attribute(false, 0.95, true);
    attribute(true, 0.95, true);
}
INSTANTIATE_TEST_SUITE_P(Paced, PacedTcpTest, testing::ValuesIn(paced_tcp_plans()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
