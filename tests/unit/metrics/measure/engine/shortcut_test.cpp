/// Plain packets skip the dissector; no figure may show that.
#include <gtest/gtest.h>
#include <map>

#include "dissect/dissector.h"
#include "metrics/measure/engine/analyzer.h"
#include "metrics/measure/hosts/host_clock.h"
#include "metrics/measure/packet/packet_addresses.h"
#include "tests/support/captures.h"
#include "tests/unit/metrics/figures/snapshot_text.h"
#include "wire/bth_opcode.h"

namespace {

using namespace metrics;

const std::vector<support::KeptCapture>& captures() {
    static const std::vector<support::KeptCapture> all = support::load_captures(SIZE_MAX);
    return all;
}

std::string figures_of(const std::vector<support::KeptFrame>& frames, bool shortcut, bool verify_crc) {
    AnalyzerOptions options;
    options.engine.shortcut = shortcut;
    options.dissector.parse.verify_crc = verify_crc;
    Analyzer analyzer(options);
    std::uint64_t number = 0;
    for (const support::KeptFrame& kept : frames) {
        const wire::Frame frame = kept.frame(++number);
        analyzer.feed({&frame, 1}, true);
    }
    analyzer.finish();
    Snapshot snapshot = analyzer.snapshot();
    snapshot.memory_octets = 0;  // both ways are free to hold what they need
    return test::text_of(snapshot);
}

/// Every frame with a bit of its headers turned, its end cut off, octets after it, or another length on the wire.
std::vector<support::KeptFrame> damaged(const std::vector<support::KeptFrame>& frames, std::uint64_t seed) {
    const auto next = [&seed](std::size_t below) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>((seed >> 33) % below);
    };
    std::vector<support::KeptFrame> out = frames;
    for (support::KeptFrame& frame : out) {
        std::vector<std::byte>& octets = frame.octets;
        if (octets.empty()) continue;
        switch (next(8)) {
            case 0: octets.resize(next(octets.size() + 1)); break;
            case 1: octets.resize(octets.size() + 1 + next(70)); break;
            case 2: frame.wire_length += static_cast<std::uint32_t>(1 + next(70)); break;
            case 3: break;
            default: octets[next(std::min<std::size_t>(octets.size(), 74))] ^= static_cast<std::byte>(1u << next(8));
        }
        frame.wire_length = std::max(frame.wire_length, static_cast<std::uint32_t>(octets.size()));
    }
    return out;
}

TEST(Shortcut, ChangesNoFigureOfAnyCapture) {
    for (const support::KeptCapture& capture : captures()) {
        SCOPED_TRACE(capture.name);
        for (const bool verify_crc : {false, true})
            EXPECT_EQ(figures_of(capture.frames, true, verify_crc), figures_of(capture.frames, false, verify_crc));
    }
}

TEST(Shortcut, ChangesNoFigureOfDamagedFrames) {
    for (const support::KeptCapture& capture : captures()) {
        SCOPED_TRACE(capture.name);
        for (const std::uint64_t seed : {1u, 2u}) {
            const std::vector<support::KeptFrame> frames = damaged(capture.frames, seed);
            for (const bool verify_crc : {false, true})
                EXPECT_EQ(figures_of(frames, true, verify_crc), figures_of(frames, false, verify_crc));
        }
    }
}

/// Datagrams from the management queue pairs carry MADs, wherever they go to. IBTA vol. 1, 13.5.1.
TEST(Shortcut, ChangesNoFigureOfDatagramsFromManagement) {
    constexpr std::size_t bth = 14 + 20 + 8;
    constexpr std::size_t source_qp = bth + 12 + 5;
    unsigned changed = 0;
    for (const support::KeptCapture& capture : captures()) {
        if (capture.name.find("rxe-ud-") != 0) continue;
        SCOPED_TRACE(capture.name);
        for (const std::uint8_t sender : {std::uint8_t{0}, std::uint8_t{1}}) {
            std::vector<support::KeptFrame> frames = capture.frames;
            for (std::size_t i = 0; i < frames.size(); i += 3) {
                std::vector<std::byte>& octets = frames[i].octets;
                if (octets.size() < source_qp + 3 || octets[bth] != std::byte{0x64}) continue;  // UD SEND Only
                octets[source_qp] = octets[source_qp + 1] = std::byte{0};
                octets[source_qp + 2] = std::byte{sender};
                ++changed;
            }
            EXPECT_EQ(figures_of(frames, true, false), figures_of(frames, false, false));
        }
    }
    EXPECT_GT(changed, 10u);
}

bool is_whole_and_sound(const dissect::Dissection& dissection) {
    return dissection.has(dissect::LayerId::bth) && dissection.has(dissect::LayerId::udp) &&
           !dissection.has(dissect::LayerId::mad);
}

/// What a context says, counted the slow way from what the dissector says of each frame.
TEST(Shortcut, ContextsAreThoseOfTheDissectorsView) {
    struct Sums {
        std::uint64_t sent = 0;
        std::uint64_t requests = 0;
    };
    std::uint64_t plain = 0;
    std::uint64_t all = 0;
    for (const support::KeptCapture& capture : captures()) {
        if (capture.name.find("rxe-") != 0) continue;  // RoCEv2 on Ethernet, one interface, nothing in fragments
        SCOPED_TRACE(capture.name);
        HostClock clock{std::uint64_t{100'000'000'000}};
        std::map<Address, Sums> sums;
        auto dissection = std::make_unique<dissect::Dissection>();
        std::uint64_t number = 0;
        for (const support::KeptFrame& kept : capture.frames) {
            const wire::Frame frame = kept.frame(++number);
            const FrameContext context = clock.observe(frame);
            dissect::dissect_frame(frame, {}, *dissection);
            const Address source = source_address(*dissection, frame.bytes);
            const Address destination = destination_address(*dissection, frame.bytes);
            ++all;
            if (context.plain_bth != 0) {
                ++plain;
                ASSERT_TRUE(is_whole_and_sound(*dissection)) << "frame " << number;
                ASSERT_EQ(context.plain_bth, dissection->find(dissect::LayerId::bth)->offset);
            }
            if (source.family == wire::AddressFamily::none) continue;
            ASSERT_FALSE(context.seen_twice);
            ASSERT_EQ(context.source_bits_per_sec, 100'000'000'000u);
            ASSERT_EQ(context.source_wire_bytes, sums[source].sent) << "frame " << number;
            ASSERT_EQ(context.destination_requests, sums[destination].requests) << "frame " << number;
            ASSERT_EQ(context.source_pauses, 0u);
            sums[source].sent += frame.wire_length + 24;  // preamble 8, FCS 4, gap 12
            const bool bth = dissection->has(dissect::LayerId::bth);
            const bool segment = dissection->has(dissect::LayerId::tcp) && dissection->tcp.payload_length != 0;
            if (segment || (bth && wire::bth_opcode(dissection->bth.opcode).role == wire::BthRole::request))
                ++sums[destination].requests;
        }
    }
    // Soft-RoCE's traffic is of that shape almost throughout.
    EXPECT_GT(plain * 10, all * 8);
}

}  // namespace
