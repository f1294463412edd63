#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"

namespace support {

/// Pairs of queue pairs, on RoCEv2: one sends, the other one acknowledges.
class PairTraffic {
public:
    struct Pace {
        std::uint32_t pairs = 0;  ///< that talk at once, at most
        std::int64_t rounds = 0;  ///< messages of each in an interval
        std::int64_t interval_ns = 0;
    };
    struct Some {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };
    PairTraffic(metrics::Analyzer& analyzer, const Pace& pace) : analyzer_(analyzer), pace_(pace) {}

    /// An interval in which some of the pairs talk.
    void play(std::int64_t begin_ns, Some pairs) {
        if (psns_.size() < pairs.first + pairs.count) psns_.resize(pairs.first + pairs.count);
        const std::int64_t apart_ns = pace_.interval_ns / pace_.rounds / pace_.pairs;
        for (std::int64_t round = 0; round < pace_.rounds; ++round)
            for (std::uint32_t i = 0; i < pairs.count; ++i)
                exchange(pairs.first + i, begin_ns + (round * pace_.pairs + i) * apart_ns);
    }

private:
    static constexpr std::uint8_t send_only = 0x04;
    static constexpr std::uint8_t acknowledge = 0x11;

    /// Each power of two of sizes and latencies is as likely as any other.
    std::uint64_t spread(double least, double greatest) {
        return static_cast<std::uint64_t>(
            std::exp(std::uniform_real_distribution(std::log(least), std::log(greatest))(random_)));
    }
    void exchange(std::uint32_t pair, std::int64_t now_ns) {
        std::uint32_t& psn = psns_[pair];
        emit(pair, send_only, psn, spread(4, 1024), now_ns);
        emit(pair, acknowledge, psn, 4, now_ns + static_cast<std::int64_t>(spread(2'000, 500'000)));
        psn = (psn + 1) & 0xffffff;
    }
    void emit(std::uint32_t pair, std::uint8_t opcode, std::uint32_t psn, std::uint64_t bytes, std::int64_t now_ns) {
        constexpr std::size_t ip_at = 14;
        constexpr std::size_t udp_at = 34;
        constexpr std::size_t bth_at = 42;
        constexpr std::size_t rest_at = 54;
        constexpr std::size_t icrc_bytes = 4;
        const bool answer = opcode == acknowledge;
        KeptFrame kept;
        kept.octets.assign(rest_at + bytes + icrc_bytes, std::byte{0});
        std::byte* const at = kept.octets.data();
        const auto put16 = [&](std::size_t offset, std::size_t value) {
            at[offset] = static_cast<std::byte>(value >> 8);
            at[offset + 1] = static_cast<std::byte>(value);
        };
        const auto put32 = [&](std::size_t offset, std::size_t value) {
            put16(offset, value >> 16);
            put16(offset + 2, value & 0xffff);
        };
        constexpr std::size_t ipv4 = 0x0800;
        constexpr std::size_t udp_protocol = 0x4011;  // TTL 64
        constexpr std::size_t roce_port = 4791;
        constexpr std::size_t network = 0x0a000000;
        put16(12, ipv4);
        put16(ip_at, 0x4500);
        put16(ip_at + 2, kept.octets.size() - ip_at);
        put16(ip_at + 8, udp_protocol);
        put32(ip_at + 12, network + (answer ? 2 : 1));
        put32(ip_at + 16, network + (answer ? 1 : 2));
        put16(udp_at, 49152 + pair);
        put16(udp_at + 2, roce_port);
        put16(udp_at + 4, kept.octets.size() - udp_at);
        at[bth_at] = static_cast<std::byte>(opcode);
        put16(bth_at + 2, 0xffff);
        put32(bth_at + 4, (answer ? 0x1000u : 0x2000u) + pair);
        put32(bth_at + 8, psn);
        kept.wire_length = static_cast<std::uint32_t>(kept.octets.size());
        kept.time_ns = now_ns;
        const wire::Frame frame = kept.frame(++number_);
        analyzer_.feed({&frame, 1});
    }

    metrics::Analyzer& analyzer_;
    Pace pace_;
    std::mt19937_64 random_{1};
    std::vector<std::uint32_t> psns_ = {};
    std::uint64_t number_ = 0;
};

}  // namespace support
