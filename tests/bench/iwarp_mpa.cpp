/// ULPDUs -> FPDUs and back, in memory, one core: what framing costs next to the copy and the CRC that it cannot avoid.
#include <algorithm>
#include <array>
#include <benchmark/benchmark.h>
#include <cstring>
#include <vector>

#include "iwarp/mpa/batch.h"
#include "iwarp/mpa/fpdu_reader.h"
#include "iwarp/mpa/fpdu_writer.h"
#include "tests/support/allocations.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"

namespace {

using namespace iwarp::mpa;
using Octets = std::vector<std::byte>;

constexpr std::size_t region_size = std::size_t{1} << 20;
constexpr std::size_t read_size = 256 * 1024;  // what a transport takes from TCP at once

/// RDMA Writes of one region, again and again.
Octets header() {
    Octets out(wire::ddp_tagged_size);
    wire::emit_ddp(std::span<std::byte, wire::ddp_tagged_size>{out},
                   wire::DdpTagged{{true, true, 0, 1}, 0x40, 0x100, 0});
    return out;
}

class Region final : public SegmentSink {
public:
    base::Result<Target, iwarp::Fault> begin_segment(base::Bytes, std::uint32_t payload_length) override {
        if (at_ + payload_length > memory_.size()) at_ = 0;
        piece_ = base::MutableBytes{memory_}.subspan(at_, payload_length);
        at_ += payload_length;
        return Target{std::span{&piece_, 1}};
    }
    std::optional<iwarp::Fault> end_segment() override { return std::nullopt; }

private:
    Octets memory_ = Octets(region_size);
    base::MutableBytes piece_;
    std::size_t at_ = 0;
};

/// A stream of about 4 MiB.
Octets stream(std::size_t ulpdu, FpduWriter::Settings settings) {
    FpduWriter writer{settings};
    Batch batch;
    Octets out;
    const Octets head = header();
    const Octets memory(ulpdu - head.size(), std::byte{0x5a});
    const base::Bytes payload = memory;
    while (out.size() < std::size_t{4} << 20) {
        writer.add(head, std::span{&payload, 1}, batch);
        for (const base::Bytes piece : batch.pieces()) out.insert(out.end(), piece.begin(), piece.end());
        batch.clear();
    }
    return out;
}

/// Counts FPDUs and allocations of the timed loop.
class Report {
public:
    explicit Report(benchmark::State& state) : state_(state), before_(support::allocations()) {}
    void done(std::uint64_t fpdus, std::size_t ulpdu) {
        const auto allocations = static_cast<double>(support::allocations() - before_);
        const auto count = static_cast<double>(fpdus);
        state_.SetBytesProcessed(static_cast<std::int64_t>(fpdus * ulpdu));
        state_.SetItemsProcessed(static_cast<std::int64_t>(fpdus));
        state_.counters["allocations/FPDU"] = allocations / count;
    }

private:
    benchmark::State& state_;
    std::uint64_t before_;
};

void write_fpdus(benchmark::State& state) {
    const auto ulpdu = static_cast<std::size_t>(state.range(0));
    FpduWriter writer{{state.range(1) != 0, state.range(2) != 0}};
    Batch batch;
    const Octets head = header();
    const Octets memory(region_size, std::byte{0x5a});
    std::size_t at = 0;
    const auto fill = [&] {
        while (!batch.full()) {
            if (at + ulpdu > memory.size()) at = 0;
            const base::Bytes payload = base::Bytes{memory}.subspan(at, ulpdu - head.size());
            writer.add(head, std::span{&payload, 1}, batch);
            at += payload.size();
        }
    };
    fill();
    const auto pieces = static_cast<double>(batch.pieces().size());
    batch.clear();
    const std::uint64_t in_batch = writer.fpdus();
    Report report{state};
    for (auto _ : state) {
        fill();
        benchmark::DoNotOptimize(batch.pieces().data());
        batch.consume(batch.octets());
    }
    report.done(writer.fpdus() - in_batch, ulpdu);
    state.counters["pieces/FPDU"] = pieces / static_cast<double>(in_batch);
}

void read_fpdus(benchmark::State& state) {
    const auto ulpdu = static_cast<std::size_t>(state.range(0));
    const FpduReader::Settings settings{state.range(1) != 0, state.range(2) != 0, state.range(3) != 0};
    const Octets octets = stream(ulpdu, {settings.crc, settings.markers});
    Region region;
    const auto pool = std::make_shared<StagePool>();
    std::uint64_t fpdus = 0;
    const auto round = [&] {
        FpduReader reader{settings, region, pool};
        for (std::size_t at = 0; at < octets.size(); at += read_size)
            if (reader.receive(base::Bytes{octets}.subspan(at, std::min(read_size, octets.size() - at))))
                state.SkipWithError("a fault");
        fpdus += reader.fpdus();
    };
    round();
    fpdus = 0;
    Report report{state};
    for (auto _ : state) round();
    report.done(fpdus, ulpdu);
}

/// The octets go where the reader says, as recvmsg would put them there: here by a copy.
void read_directly(benchmark::State& state) {
    const auto ulpdu = static_cast<std::size_t>(state.range(0));
    const Octets octets = stream(ulpdu, {state.range(1) != 0, false});
    Region region;
    std::uint64_t fpdus = 0;
    Report report{state};
    for (auto _ : state) {
        FpduReader reader{{state.range(1) != 0, false, false}, region};
        std::size_t at = 0;
        while (at < octets.size()) {
            std::size_t taken = 0;
            for (const base::MutableBytes piece : reader.room(4096)) {
                const std::size_t part = std::min(piece.size(), octets.size() - at - taken);
                std::memcpy(piece.data(), octets.data() + at + taken, part);
                taken += part;
            }
            if (taken != 0) {
                static_cast<void>(reader.received(taken));
            } else {
                taken = std::min<std::size_t>(20, octets.size() - at);
                static_cast<void>(reader.receive(base::Bytes{octets}.subspan(at, taken)));
            }
            at += taken;
        }
        fpdus += reader.fpdus();
    }
    report.done(fpdus, ulpdu);
}

/// What no reader can save: one CRC and one copy of the same octets.
void crc_and_copy(benchmark::State& state) {
    const auto ulpdu = static_cast<std::size_t>(state.range(0));
    const Octets octets = stream(ulpdu, {false, false});
    Octets memory(region_size);
    std::size_t to = 0;
    std::uint64_t fpdus = 0;
    for (auto _ : state) {
        for (std::size_t at = 0; at + ulpdu <= octets.size(); at += ulpdu, ++fpdus) {
            if (to + ulpdu > memory.size()) to = 0;
            const base::Bytes piece = base::Bytes{octets}.subspan(at, ulpdu);
            if (state.range(1) != 0) benchmark::DoNotOptimize(wire::crc32c(piece));
            std::ranges::copy(piece, memory.begin() + static_cast<std::ptrdiff_t>(to));
            to += ulpdu;
        }
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(fpdus * ulpdu));
    state.SetItemsProcessed(static_cast<std::int64_t>(fpdus));
}

const std::vector<std::int64_t> sizes = {64, 1442, 8192, 64768};

BENCHMARK(write_fpdus)->ArgNames({"ulpdu", "crc", "markers"})->ArgsProduct({sizes, {0, 1}, {0, 1}});
BENCHMARK(read_fpdus)
    ->ArgNames({"ulpdu", "crc", "markers", "strict"})
    ->ArgsProduct({sizes, {0, 1}, {0}, {0, 1}})
    ->ArgsProduct({sizes, {1}, {1}, {1}});
BENCHMARK(read_directly)->ArgNames({"ulpdu", "crc"})->ArgsProduct({{8192, 64768}, {0, 1}});
BENCHMARK(crc_and_copy)->ArgNames({"ulpdu", "crc"})->ArgsProduct({sizes, {0, 1}});

}  // namespace

BENCHMARK_MAIN();
