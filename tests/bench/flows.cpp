/// Frames in memory -> flows, one core: what a packet costs through dissection and metrics, whatever the number of
/// flows.
#include <array>
#include <benchmark/benchmark.h>
#include <vector>

#include "base/bytes.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/allocations.h"
#include "wire/icrc.h"

namespace {

/// RoCEv2 RC traffic without end: every flow sends messages of one packet in turn, its peer acknowledges each fourth.
/// Frames are made by patching a few buffers, so that the memory they come from is not what is measured.
class Traffic {
public:
    Traffic(std::uint32_t flows, std::size_t payload) : flows_(flows) {
        for (std::size_t i = 0; i < batch; ++i) {
            requests_[i] = frame_of(0x04, payload);  // RC SEND Only
            answers_[i] = frame_of(0x11, 4);         // RC Acknowledge: its AETH
            base::store_be32(&answers_[i][54], 31u << 24);
        }
    }

    /// The next few frames, each patched for its flow; valid until the next call.
    const std::vector<wire::Frame>& next() {
        frames_.clear();
        for (std::size_t i = 0; i < batch; ++i) {
            // A prime: every flow has one turn in each round.
            const auto flow = static_cast<std::uint32_t>(turn_ * 2654435761u % flows_);
            const auto psn = static_cast<std::uint32_t>(turn_ / flows_);
            if (psn % 5 != 4)
                add(requests_[i], flow, psn - psn / 5, false);
            else
                add(answers_[i], flow, psn - psn / 5 - 1, true);
            ++turn_;
        }
        return frames_;
    }
    static constexpr std::size_t batch = 64;

private:
    static std::vector<std::byte> frame_of(std::uint8_t opcode, std::size_t payload) {
        std::vector<std::byte> out(54 + payload + 4);
        base::store_be16(&out[12], 0x0800);
        out[14] = std::byte{0x45};
        base::store_be16(&out[16], static_cast<std::uint16_t>(out.size() - 14));
        out[22] = std::byte{64};
        out[23] = std::byte{17};
        base::store_be16(&out[34], 0xc000);
        base::store_be16(&out[36], 4791);
        base::store_be16(&out[38], static_cast<std::uint16_t>(out.size() - 34));
        out[42] = std::byte{opcode};
        out[43] = std::byte{0x40};
        base::store_be16(&out[44], 0xffff);
        return out;
    }

    void add(std::vector<std::byte>& octets, std::uint32_t flow, std::uint32_t psn, bool answer) {
        // 64 pairs of hosts share the flows; a pair's queue pairs are numbered on both sides alike.
        const std::uint32_t client = 0x0a000000u + flow % 64;
        const std::uint32_t server = 0x0a010000u + flow % 64;
        base::store_be32(&octets[26], answer ? server : client);
        base::store_be32(&octets[30], answer ? client : server);
        base::store_be32(&octets[46], answer ? flow / 64 + 0x400000 : flow / 64 + 16);
        base::store_be32(&octets[50], (0x80u << 24) | ((psn + flow * 977u) & 0xffffff));
        wire::Frame frame;
        frame.bytes = octets;
        frame.wire_length = static_cast<std::uint32_t>(octets.size());
        frame.number = ++number_;
        frame.time_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(number_ * 100);
        frames_.push_back(frame);
    }

    std::uint32_t flows_;
    std::array<std::vector<std::byte>, batch> requests_;
    std::array<std::vector<std::byte>, batch> answers_;
    std::vector<wire::Frame> frames_;
    std::uint64_t turn_ = 0;
    std::uint64_t number_ = 0;
};

/// Items are packets. `flows` is the number of requesters; each has a reverse flow besides.
void roce_flows(benchmark::State& state) {
    const auto flows = static_cast<std::uint32_t>(state.range(0));
    Traffic traffic(flows, static_cast<std::size_t>(state.range(1)));
    metrics::AnalyzerOptions options;
    options.engine.max_flows = 4'000'000;
    options.dissector.parse.verify_crc = false;
    metrics::Analyzer analyzer(options);
    for (std::uint64_t warm = 0; warm < std::uint64_t{12} * flows; warm += Traffic::batch)
        analyzer.feed(traffic.next());
    const std::uint64_t before = support::allocations();
    std::uint64_t packets = 0;
    for (auto _ : state) {
        analyzer.feed(traffic.next());
        packets += Traffic::batch;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(packets));
    state.counters["allocations"] = static_cast<double>(support::allocations() - before) / static_cast<double>(packets);
    if (flows <= 1000) {
        const metrics::Snapshot snapshot = analyzer.snapshot();
        if (snapshot.flows.size() != std::size_t{2} * flows) state.SkipWithError("not the flows that were sent");
        for (const metrics::FlowSnapshot& flow : snapshot.flows)
            if (flow.retransmitted_packets.value_or(1) != 0 || flow.missing_packets.value_or(1) != 0)
                state.SkipWithError("packets were taken for lost or repeated");
    }
}
BENCHMARK(roce_flows)
    ->ArgNames({"flows", "payload"})
    ->Args({1, 1024})
    ->Args({1000, 1024})
    ->Args({1000, 64})
    ->Args({1'000'000, 64});

/// The making of the frames alone: to be taken off the above.
void roce_frames_made(benchmark::State& state) {
    Traffic traffic(static_cast<std::uint32_t>(state.range(0)), 64);
    std::uint64_t packets = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(traffic.next().data());
        packets += Traffic::batch;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(packets));
}
BENCHMARK(roce_frames_made)->ArgName("flows")->Arg(1000)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
