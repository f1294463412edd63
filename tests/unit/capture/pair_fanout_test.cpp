#include "capture/filter/pair_fanout.h"

#include <array>
#include <gmock/gmock.h>
#include <linux/if_packet.h>
#include <pcap/bpf.h>
#include <random>
#include <set>

#include "base/bytes.h"

namespace capture::test {
namespace {

using Octets = std::vector<std::uint8_t>;
using Ipv4 = std::array<std::uint8_t, 4>;
using Ipv6 = std::array<std::uint8_t, 16>;

/// A frame as the kernel holds it when it chooses a ring. networking/filter.rst: the program runs at the IP header of
/// frames that arrive and at the MAC header of frames that leave.
struct Buffer {
    Octets frame;
    bool leaves = false;
    bool has_link_header = true;

    std::size_t begin() const { return leaves || !has_link_header ? 0 : 14; }
};

/// Classic BPF by its definition (networking/filter.rst), with the places that Linux has beside the frame.
class Machine {
public:
    Machine(const BpfProgram& program, const Buffer& buffer) : program_(program), buffer_(buffer) {}

    std::uint32_t run() {
        for (std::size_t at = 0;;) {
            const BpfInstruction& now = program_.at(at++);
            const std::uint32_t operand = (now.code & BPF_X) != 0 ? x_ : now.k;
            switch (now.code & 0x07) {
                case BPF_LD:
                    if (!load(now)) return 0;
                    break;
                case BPF_LDX: x_ = BPF_MODE(now.code) == BPF_MEM ? memory_.at(now.k) : now.k; break;
                case BPF_ST: memory_.at(now.k) = a_; break;
                case BPF_ALU: calculate(now.code, operand); break;
                case BPF_JMP:
                    if (BPF_OP(now.code) == BPF_JA)
                        at += now.k;
                    else
                        at += a_ == operand ? now.if_true : now.if_false;
                    break;
                case BPF_MISC:
                    (BPF_MISCOP(now.code) == BPF_TAX ? x_ : a_) = now.code == (BPF_MISC | BPF_TAX) ? a_ : x_;
                    break;
                default: return BPF_RVAL(now.code) == BPF_A ? a_ : now.k;
            }
        }
    }

private:
    bool load(const BpfInstruction& now) {
        if (BPF_MODE(now.code) == BPF_MEM) {
            a_ = memory_.at(now.k);
            return true;
        }
        constexpr std::uint32_t beside = 0xffff'f000;  // SKF_AD_OFF: protocol at 0, packet type at 4
        constexpr std::uint32_t link = 0xffe0'0000;    // SKF_LL_OFF
        std::size_t at = buffer_.begin() + now.k + (BPF_MODE(now.code) == BPF_IND ? x_ : 0);
        if (BPF_MODE(now.code) == BPF_ABS && now.k == beside) {
            a_ = static_cast<std::uint32_t>(buffer_.frame.at(12) << 8 | buffer_.frame.at(13));
            return true;
        }
        if (BPF_MODE(now.code) == BPF_ABS && now.k == beside + 4) {
            a_ = buffer_.leaves ? PACKET_OUTGOING : PACKET_HOST;
            return true;
        }
        if (BPF_MODE(now.code) == BPF_ABS && now.k >= link && now.k < link + 0x10000) at = now.k - link;
        const std::size_t size = BPF_SIZE(now.code) == BPF_B ? 1 : BPF_SIZE(now.code) == BPF_H ? 2 : 4;
        if (at + size > buffer_.frame.size()) return false;
        a_ = 0;
        for (std::size_t i = 0; i < size; ++i) a_ = a_ << 8 | buffer_.frame[at + i];
        return true;
    }

    void calculate(std::uint16_t code, std::uint32_t operand) {
        switch (BPF_OP(code)) {
            case BPF_ADD: a_ += operand; break;
            case BPF_MUL: a_ *= operand; break;
            case BPF_RSH: a_ >>= operand; break;
            case BPF_XOR: a_ ^= operand; break;
            case BPF_MOD: a_ %= operand; break;
            default: ADD_FAILURE() << "an operation that is not expected: " << code;
        }
    }

    const BpfProgram& program_;
    const Buffer& buffer_;
    std::uint32_t a_ = 0;
    std::uint32_t x_ = 0;
    std::array<std::uint32_t, 16> memory_ = {};
};

void append(Octets& out, const auto& more) { out.insert(out.end(), more.begin(), more.end()); }

Octets link_header(std::uint16_t type, std::initializer_list<std::uint16_t> tags = {}) {
    Octets frame{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    for (const std::uint16_t tag : tags)
        append(frame, std::array{static_cast<std::uint8_t>(tag >> 8), static_cast<std::uint8_t>(tag), std::uint8_t{0},
                                 std::uint8_t{5}});
    append(frame, std::array{static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type)});
    return frame;
}

Octets ipv4_header(const Ipv4& source, const Ipv4& destination, std::uint8_t last = 0) {
    Octets header{0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0};
    append(header, source);
    append(header, destination);
    header.insert(header.end(), 20, last);
    return header;
}

Octets ipv6_header(const Ipv6& source, const Ipv6& destination) {
    Octets header{0x60, 0, 0, 0, 0, 20, 17, 64};
    append(header, source);
    append(header, destination);
    header.insert(header.end(), 20, 0);
    return header;
}

Octets joined(Octets one, const Octets& other) {
    append(one, other);
    return one;
}

Ipv4 ipv4_of(unsigned host) { return {10, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host)}; }

constexpr unsigned rings = 1000;  // few pairs share one by chance

std::uint32_t ring_of(const Buffer& buffer, unsigned count = rings) {
    const auto type = buffer.has_link_header ? wire::LinkType::ethernet : wire::LinkType::raw;
    const BpfProgram program = pair_fanout(type, count);
    return Machine(program, buffer).run();
}

TEST(PairFanout, both_directions_have_one_ring) {
    std::mt19937 random(1);
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 200; ++i) {
        Ipv6 one{};
        Ipv6 other{};
        for (auto& each : one) each = static_cast<std::uint8_t>(random());
        for (auto& each : other) each = static_cast<std::uint8_t>(random());
        Ipv4 short_one{};
        Ipv4 short_other{};
        std::copy_n(one.begin(), 4, short_one.begin());
        std::copy_n(other.begin(), 4, short_other.begin());
        const std::uint32_t ring = ring_of({joined(link_header(0x0800), ipv4_header(short_one, short_other))});
        seen.insert(ring);
        EXPECT_EQ(ring_of({joined(link_header(0x0800), ipv4_header(short_other, short_one, 7))}), ring);
        EXPECT_EQ(ring_of({joined(link_header(0x0800), ipv4_header(short_other, short_one)), true}), ring);
        EXPECT_EQ(ring_of({joined(link_header(0x0800, {0x8100}), ipv4_header(short_one, short_other))}), ring);
        EXPECT_EQ(ring_of({joined(link_header(0x0800, {0x88a8, 0x8100}), ipv4_header(short_one, short_other)), true}),
                  ring);
        EXPECT_EQ(ring_of({ipv4_header(short_other, short_one), false, false}), ring);
        const std::uint32_t long_ring = ring_of({joined(link_header(0x86dd), ipv6_header(one, other))});
        EXPECT_EQ(ring_of({joined(link_header(0x86dd), ipv6_header(other, one)), true}), long_ring);
        EXPECT_EQ(ring_of({ipv6_header(other, one), false, false}), long_ring);
    }
    EXPECT_GT(seen.size(), 150U);
}

TEST(PairFanout, other_frames_have_a_ring_by_their_macs) {
    std::set<std::uint32_t> seen;
    for (std::uint8_t i = 0; i < 100; ++i) {
        Octets frame = joined(link_header(0x8915), Octets(60));
        frame[11] = i;
        const std::uint32_t ring = ring_of({frame});
        seen.insert(ring);
        std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
        EXPECT_EQ(ring_of({frame}), ring);
        EXPECT_EQ(ring_of({frame, true}), ring);
    }
    EXPECT_GT(seen.size(), 80U);
}

/// Neighbours have addresses that differ by one: of 4,096 pairs each ring gets nearly the same share. The bound is six
/// times the standard deviation of what chance would deal.
TEST(PairFanout, spreads_neighbours) {
    for (const unsigned count : {2U, 3U, 4U, 8U}) {
        std::vector<unsigned> dealt(count);
        for (unsigned one = 0; one < 64; ++one)
            for (unsigned other = 0; other < 64; ++other)
                ++dealt.at(
                    ring_of({joined(link_header(0x0800), ipv4_header(ipv4_of(one), ipv4_of(256 + other)))}, count));
        const double share = 4096.0 / count;
        for (const unsigned each : dealt) EXPECT_NEAR(each, share, 6 * std::sqrt(share)) << count;
    }
}

TEST(PairFanout, one_server_with_many_clients_is_spread) {
    std::array<unsigned, 4> dealt{};
    for (unsigned client = 0; client < 400; ++client)
        ++dealt.at(ring_of({joined(link_header(0x0800), ipv4_header(ipv4_of(client), ipv4_of(5000)))}, dealt.size()));
    for (const unsigned each : dealt) EXPECT_NEAR(each, 100, 60);
}

TEST(PairFanout, a_frame_that_is_cut_has_the_first_ring) {
    Octets frame = joined(link_header(0x0800), ipv4_header({1, 2, 3, 4}, {5, 6, 7, 8}));
    frame.resize(14 + 15);
    EXPECT_EQ(ring_of({frame}), 0U);
    EXPECT_EQ(ring_of({joined(link_header(0x0800), ipv4_header({1, 2, 3, 4}, {5, 6, 7, 8}))}, 1), 0U);
}

}  // namespace
}  // namespace capture::test
