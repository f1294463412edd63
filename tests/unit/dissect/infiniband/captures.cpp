/// The invariant CRC on captures of Linux rxe: every complete packet's is good, and every changed bit is noticed.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/dissector.h"

namespace {

using dissect::CrcStatus;
using dissect::LayerId;
using dissect::Outcome;

/// A little-endian pcap file of Ethernet frames, as all of these are.
struct Capture {
    explicit Capture(const std::filesystem::path& path) {
        std::ifstream file{path, std::ios::binary};
        content.assign(std::istreambuf_iterator<char>{file}, {});
        for (std::size_t at = 24; at + 16 <= content.size();) {
            const std::uint32_t captured = number(at + 8);
            wire::Frame frame;
            frame.wire_length = number(at + 12);
            at += 16;
            if (at + captured > content.size()) break;
            frame.bytes = std::as_bytes(std::span{content}).subspan(at, captured);
            frames.push_back(frame);
            at += captured;
        }
    }
    std::uint32_t number(std::size_t at) const {
        std::uint32_t value = 0;
        std::memcpy(&value, content.data() + at, sizeof value);
        return value;
    }

    std::string content;
    std::vector<wire::Frame> frames;
};

TEST(IcrcOnCaptures, EveryCompletePacketIsGood) {
    std::uint64_t checked = 0;
    for (const auto& entry : std::filesystem::directory_iterator{RDMASCOPE_PCAPS}) {
        const std::string name = entry.path().filename();
        const bool rxe = name.starts_with("rxe-") || name.ends_with("-rxe.pcap") || name.starts_with("roce-icrc");
        if (!rxe || entry.path().extension() != ".pcap") continue;
        const Capture capture{entry.path()};
        dissect::Dissection found;
        for (const wire::Frame& frame : capture.frames) {
            dissect::dissect_frame(frame, {}, found);
            if (!found.has(LayerId::bth) || frame.bytes.size() < frame.wire_length) continue;
            ASSERT_EQ(found.bth.icrc, CrcStatus::good) << name;
            ++checked;
        }
    }
    EXPECT_GT(checked, 10000u);
}

/// Whether the network may change an octet of a RoCEv2 frame over Ethernet and IPv4 without options.
bool may_change(std::size_t octet) {
    constexpr std::size_t ip = 14, udp = 34, bth = 42;
    return octet < ip || octet == ip + 1 || octet == ip + 8 || octet == ip + 10 || octet == ip + 11 ||
           octet == udp + 6 || octet == udp + 7 || octet == bth + 4;
}

TEST(IcrcOnCaptures, EveryChangedBitIsNoticed) {
    const Capture capture{std::filesystem::path{RDMASCOPE_PCAPS} / "rxe-verbs-atomic.pcap"};
    ASSERT_GT(capture.frames.size(), 12u);
    for (std::size_t i = 0; i < 12; ++i) {
        std::vector<std::byte> bytes{capture.frames[i].bytes.begin(), capture.frames[i].bytes.end()};
        wire::Frame frame = capture.frames[i];
        frame.bytes = bytes;
        dissect::Dissection found;
        for (std::size_t bit = 14 * 8; bit < bytes.size() * 8; ++bit) {
            const std::byte mask = std::byte{0x80} >> (bit % 8);
            bytes[bit / 8] ^= mask;
            dissect::dissect_frame(frame, {}, found);
            const bool good =
                found.has(LayerId::bth) && found.bth.icrc == CrcStatus::good && found.stop.outcome == Outcome::complete;
            EXPECT_EQ(good, may_change(bit / 8)) << "frame " << i + 1 << " bit " << bit;
            bytes[bit / 8] ^= mask;
        }
    }
}

}  // namespace
