/// Speed from memory, one core: `./dev bench micro`. `allocations` is operator new's calls per packet after warm-up.
#include <array>
#include <benchmark/benchmark.h>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "capture/files/file_source.h"
#include "dissect/dissector.h"
#include "dissect/field_collector.h"
#include "dissect/filter/filter.h"
#include "dissect/registry.h"
#include "tests/support/allocations.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"
#include "wire/crc32c.h"
#include "wire/icrc.h"

namespace {

using support::KeptFrame;

std::vector<KeptFrame> load(std::initializer_list<const char*> names, std::size_t limit_of_each = SIZE_MAX) {
    std::vector<KeptFrame> frames;
    for (const char* name : names) support::load_capture(support::pcaps() + "/" + name, limit_of_each, frames);
    return frames;
}

/// The captures a RoCE mix is made of: small and large messages, both directions, SEND, WRITE, READ and atomics.
std::vector<KeptFrame> roce_mix() {
    return load({"rxe-write-bw-64k.pcap", "rxe-read-bw-64.pcap", "rxe-send-bw-64.pcap", "rxe-verbs-atomic.pcap",
                 "rxe-rping.pcap"},
                1000);
}

std::vector<wire::Frame> views_of(const std::vector<KeptFrame>& kept) {
    std::vector<wire::Frame> frames;
    for (const KeptFrame& frame : kept) frames.push_back(frame.frame(frames.size() + 1));
    return frames;
}

class CountingSink final : public dissect::Sink {
public:
    void on_unit(const dissect::Unit& unit) override {
        ++units;
        benchmark::DoNotOptimize(unit.dissection.bth.psn);
    }
    std::uint64_t units = 0;
};

/// Runs `pass` over all frames again and again, the first time as warm-up, and reports packets and allocations.
template <class Pass>
void measure(benchmark::State& state, std::size_t packets_per_pass, Pass&& pass) {
    pass();
    const std::uint64_t before = support::allocations();
    std::uint64_t packets = 0;
    for (auto _ : state) {
        pass();
        packets += packets_per_pass;
    }
    const std::uint64_t after = support::allocations();
    state.SetItemsProcessed(static_cast<std::int64_t>(packets));
    state.counters["allocations"] = static_cast<double>(after - before) / static_cast<double>(packets);
}

/// All layers of a RoCE packet down to BTH and extended headers.
void roce_headers(benchmark::State& state) {
    const auto kept = roce_mix();
    const auto frames = views_of(kept);
    const dissect::ParseOptions options{.verify_crc = state.range(0) != 0};
    dissect::Dissection dissection;
    std::uint64_t found = 0;
    measure(state, frames.size(), [&] {
        for (const wire::Frame& frame : frames) {
            dissect::dissect_frame(frame, options, dissection);
            found += dissection.has(dissect::LayerId::bth) ? 1u : 0u;
            benchmark::DoNotOptimize(dissection);
        }
    });
    if (found == 0) state.SkipWithError("no BTH was found");
}
BENCHMARK(roce_headers)->ArgName("icrc")->Arg(0)->Arg(1);

/// The same through the dissector: units, retransmissions, counters.
void roce_units(benchmark::State& state) {
    const auto kept = roce_mix();
    auto frames = views_of(kept);
    dissect::DissectorOptions options;
    options.parse.verify_crc = false;
    options.find_repeats = state.range(0) != 0;
    dissect::Dissector dissector(options);
    CountingSink sink;
    std::uint64_t number = 0;
    measure(state, frames.size(), [&] {
        for (wire::Frame& frame : frames) {
            frame.number = ++number;
            dissector.dissect(frame, sink);
        }
    });
    if (sink.units == 0) state.SkipWithError("no unit was found");
}
BENCHMARK(roce_units)->ArgName("repeats")->Arg(0)->Arg(1);

/// One direction of an iWARP connection without end: its start, then the same segments with sequence numbers that go
/// on.
class EndlessStream {
public:
    /// `fpdus` FPDUs of a Send of `payload` octets in each of 64 segments.
    EndlessStream(std::size_t fpdus, std::size_t payload) {
        for (const KeptFrame& frame : load({"made-rdmap.pcap"}, 5)) start_.push_back(frame);
        std::vector<std::byte> segment;
        std::uint32_t msn = 0;
        for (int i = 0; i < 64; ++i) {
            KeptFrame frame = start_[3];  // the MPA request: A's side
            frame.octets.resize(headers);
            for (std::size_t j = 0; j < fpdus; ++j) append_send(frame.octets, ++msn, payload);
            base::store_be16(&frame.octets[16], static_cast<std::uint16_t>(frame.octets.size() - 14));
            put_checksum(frame.octets);
            frame.wire_length = static_cast<std::uint32_t>(frame.octets.size());
            segments_.push_back(frame);
        }
        sequence_ = base::load_be32(&start_[3].octets[38]) + 20;
        for (const KeptFrame& frame : segments_) frames_.push_back(frame.frame(0));
    }

    void begin(dissect::Dissector& dissector, dissect::Sink& sink) {
        for (const KeptFrame& frame : start_) dissector.dissect(frame.frame(++number_), sink);
    }
    void next(dissect::Dissector& dissector, dissect::Sink& sink) {
        for (std::size_t i = 0; i < segments_.size(); ++i) {
            place_at(segments_[i].octets, sequence_);
            sequence_ += static_cast<std::uint32_t>(segments_[i].octets.size() - headers);
            frames_[i].number = ++number_;
            dissector.dissect(frames_[i], sink);
        }
    }
    std::size_t segments() const { return segments_.size(); }

private:
    static constexpr std::size_t headers = 54;

    static void append_send(std::vector<std::byte>& out, std::uint32_t msn, std::size_t payload) {
        const std::size_t first = out.size();
        out.resize(first + 2 + 18 + payload + (4 - (2 + 18 + payload) % 4) % 4 + 4);
        base::store_be16(&out[first], static_cast<std::uint16_t>(18 + payload));
        out[first + 2] = std::byte{0x41};  // untagged, last, version 1
        out[first + 3] = std::byte{0x43};  // RDMAP version 1, Send
        base::store_be32(&out[first + 12], msn);
        const auto crc = wire::crc32c_octets(wire::crc32c(std::span(out).subspan(first, out.size() - first - 4)));
        std::copy(crc.begin(), crc.end(), out.end() - 4);
    }

    static std::uint32_t folded(std::uint32_t sum) {
        while (sum >> 16 != 0) sum = (sum >> 16) + (sum & 0xffff);
        return sum;
    }
    /// TCP's checksum over pseudo-header, header and payload. RFC 9293 section 3.1.
    static void put_checksum(std::vector<std::byte>& frame) {
        base::store_be16(&frame[50], 0);
        std::uint32_t sum = 6 + static_cast<std::uint32_t>(frame.size() - 34);
        for (std::size_t i = 26; i + 1 < frame.size(); i += 2) sum += base::load_be16(&frame[i]);
        if (frame.size() % 2 != 0) sum += static_cast<std::uint32_t>(base::load_u8(&frame.back())) << 8;
        base::store_be16(&frame[50], static_cast<std::uint16_t>(~folded(sum)));
    }
    /// Another sequence number, and the checksum changed by as much. RFC 1624.
    static void place_at(std::vector<std::byte>& frame, std::uint32_t sequence) {
        const std::uint32_t old = base::load_be32(&frame[38]);
        std::uint32_t sum = ~base::load_be16(&frame[50]) & 0xffffu;
        sum += (~old & 0xffff) + (~old >> 16) + (sequence & 0xffff) + (sequence >> 16);
        base::store_be16(&frame[50], static_cast<std::uint16_t>(~folded(sum)));
        base::store_be32(&frame[38], sequence);
    }

    std::vector<KeptFrame> start_;
    std::vector<KeptFrame> segments_;
    std::vector<wire::Frame> frames_;
    std::uint32_t sequence_ = 0;
    std::uint64_t number_ = 0;
};

/// Items are FPDUs.
void iwarp_fpdus(benchmark::State& state) {
    const auto fpdus = static_cast<std::size_t>(state.range(1));
    EndlessStream stream(fpdus, static_cast<std::size_t>(state.range(2)));
    dissect::DissectorOptions options;
    options.parse.verify_crc = state.range(0) != 0;
    dissect::Dissector dissector(options);
    CountingSink sink;
    stream.begin(dissector, sink);
    const std::uint64_t start = sink.units;
    measure(state, stream.segments() * fpdus, [&] { stream.next(dissector, sink); });
    const auto expected = static_cast<std::uint64_t>(state.items_processed()) + stream.segments() * fpdus;
    if (sink.units - start != expected) state.SkipWithError("not every FPDU was found");
}
BENCHMARK(iwarp_fpdus)
    ->ArgNames({"crc", "per_segment", "payload"})
    ->Args({0, 1, 64})
    ->Args({1, 1, 64})
    ->Args({0, 16, 64})
    ->Args({1, 16, 64})
    ->Args({0, 1, 1420})
    ->Args({1, 1, 1420});

/// A file in the page cache, frame by frame, nothing dissected.
void reader(benchmark::State& state) {
    const std::string path = support::pcaps() + "/rxe-write-bw-64.pcap";
    std::array<wire::Frame, 256> frames;
    std::uint64_t count = 0;
    for (auto _ : state) {
        auto source = capture::open_file(path, {.access = capture::Access::mapped});
        if (!source.ok()) return state.SkipWithError("the capture cannot be read");
        for (capture::Batch batch = (*source)->next_batch(frames); batch.count != 0;
             batch = (*source)->next_batch(frames)) {
            count += batch.count;
            benchmark::DoNotOptimize(frames);
        }
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(count));
}
BENCHMARK(reader);

/// A display filter over dissected packets: gathering its fields and deciding.
void filter(benchmark::State& state) {
    const auto kept = roce_mix();
    const auto frames = views_of(kept);
    std::vector<dissect::Dissection> dissections(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i)
        dissect::dissect_frame(frames[i], {.verify_crc = false}, dissections[i]);
    const dissect::FieldRegistry registry;
    dissect::FieldCollector collector(registry);
    auto compiled = dissect::filter::Filter::compile("infiniband.bth.opcode == 17 && infiniband.bth.psn > 100",
                                                     registry, collector);
    if (!compiled.ok()) return state.SkipWithError(compiled.error().text().c_str());
    std::uint64_t matched = 0;
    measure(state, frames.size(), [&] {
        for (std::size_t i = 0; i < frames.size(); ++i) {
            collector.begin_frame(frames[i].bytes);
            collector.add(dissections[i], frames[i].bytes);
            matched += compiled->matches(collector) ? 1u : 0u;
        }
    });
    if (matched == 0) state.SkipWithError("nothing matched");
}
BENCHMARK(filter);

void icrc(benchmark::State& state) {
    const auto kept = load({"rxe-write-bw-64k-mtu4096.pcap"}, 100);
    const KeptFrame* large = nullptr;
    for (const KeptFrame& frame : kept)
        if (large == nullptr || frame.octets.size() > large->octets.size()) large = &frame;
    const auto size = std::min(large->octets.size(), static_cast<std::size_t>(state.range(0)));
    const base::Bytes packet = std::span(large->octets).first(size);
    for (auto _ : state)
        benchmark::DoNotOptimize(wire::icrc({.lrh = {},
                                             .network = packet.subspan(14, 20),
                                             .udp = packet.subspan(34, 8),
                                             .transport = packet.subspan(42, size - 46)}));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(size - 18));
}
BENCHMARK(icrc)->ArgName("octets")->Arg(128)->Arg(1100)->Arg(4200);

void crc32c(benchmark::State& state) {
    const std::vector<std::byte> octets(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
    for (auto _ : state) benchmark::DoNotOptimize(wire::crc32c(octets));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(crc32c)->ArgName("octets")->Arg(64)->Arg(1448)->Arg(65536);

}  // namespace

BENCHMARK_MAIN();
