/// ICRC and VCRC against published packets and against a calculation bit by bit, as IBTA vol. 1, 7.8, describes it.
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "hex_octets.h"
#include "wire/icrc.h"
#include "wire/vcrc.h"

namespace {

/// Shifts the octets, least significant bit first, through a register that starts with ones and ends inverted.
std::uint32_t bit_wise(const std::vector<std::byte>& bytes, std::uint32_t reversed_polynomial, std::uint32_t ones) {
    std::uint32_t crc = ones;
    for (const std::byte octet : bytes)
        for (unsigned bit = 0; bit < 8; ++bit) {
            const std::uint32_t in = (std::to_integer<std::uint32_t>(octet) >> bit & 1) ^ (crc & 1);
            crc = crc >> 1 ^ (in != 0 ? reversed_polynomial : 0);
        }
    return crc ^ ones;
}

/// The number that the CRC's octets make, the first of them most significant; it is sent least significant octet first.
std::uint32_t icrc_of_masked(const std::vector<std::byte>& masked) {
    return __builtin_bswap32(bit_wise(masked, 0xedb88320, 0xffffffff));
}

struct Packet {
    std::vector<std::byte> bytes;
    unsigned lrh, network, udp, transport;  // octets of each

    wire::IcrcPieces pieces() const {
        const base::Bytes all{bytes};
        return {all.first(lrh), all.subspan(lrh, network), all.subspan(lrh + network, udp),
                all.subspan(lrh + network + udp, transport)};
    }
    std::uint32_t icrc() const { return wire::icrc(pieces()); }
};

// IBTA vol. 1, 7.8.3.
const Packet local{octets("7012375C000E17D2 0A2024870087B1B3000DEC2A 01710A1C015D400238F27A050000000E"
                          "BB884D85FD5CFBA4728BC0690ED40000"),
                   8, 0, 0, 44};
// Published in scapy's test suite: a CNP of a ConnectX-4 Lx, two RoCEv1 packets.
const Packet cnp_packet{octets("45c2003c718c4000401191610a0011010a001201 000012b700280000 8100ffff4000011800000000"
                               "00000000000000000000000000000000"),
                        0, 20, 8, 28};
const Packet write{octets("6020000000281b4000000000000000000000ffff0f00000200000000000000000000ffff0f000002"
                          "0a70ffff0000010a80a788bc000055d4c0726000000047b3000000050000000001000000"),
                   0, 40, 0, 36};
const Packet acknowledge{octets("6020000000141b4000000000000000000000ffff0f00000200000000000000000000ffff0f000002"
                                "1140ffff0000010900a788c000000005"),
                         0, 40, 0, 16};
// Linux rxe over IPv6, from rxe-write-bw-4k-ipv6.pcap.
const Packet over_ipv6{octets("60000000001c114020010db800000000000000000000000120010db8000000000000000000000002"
                              "c55912b7001c0000 1100ffff000000250093129d1f000001"),
                       0, 40, 8, 16};

TEST(Icrc, PublishedPackets) {
    EXPECT_EQ(local.icrc(), 0x9625b75au);
    EXPECT_EQ(cnp_packet.icrc(), 0x82fd002au);
    EXPECT_EQ(write.icrc(), 0xe3d856bbu);
    EXPECT_EQ(acknowledge.icrc(), 0x25f0c038u);
    EXPECT_EQ(over_ipv6.icrc(), 0x1bd0fcf0u);
}

TEST(Icrc, Ipv4Options) {
    Packet packet = cnp_packet;
    const auto options = octets("94040000 01010100");
    packet.bytes.insert(packet.bytes.begin() + 20, options.begin(), options.end());
    packet.bytes[0] = std::byte{0x47};
    packet.network = 28;
    auto masked = packet.bytes;
    masked[1] = masked[8] = masked[10] = masked[11] = masked[28 + 6] = masked[28 + 7] = masked[28 + 8 + 4] =
        std::byte{0xff};
    masked.insert(masked.begin(), 8, std::byte{0xff});
    EXPECT_EQ(packet.icrc(), icrc_of_masked(masked));
}

TEST(Icrc, Ipv6ExtensionHeaders) {
    Packet packet = over_ipv6;
    const auto extension = octets("1100010400000000 ");
    packet.bytes.insert(packet.bytes.begin() + 40, extension.begin(), extension.end());
    packet.bytes[6] = std::byte{60};
    packet.network = 48;
    auto masked = packet.bytes;
    masked[0] = std::byte{0x6f};
    masked[1] = masked[2] = masked[3] = masked[7] = masked[48 + 6] = masked[48 + 7] = masked[48 + 8 + 4] =
        std::byte{0xff};
    masked.insert(masked.begin(), 8, std::byte{0xff});
    EXPECT_EQ(packet.icrc(), icrc_of_masked(masked));
}

/// A global packet's LRH counts as ones as a whole, so RoCEv1's CRC is that of the same packet on InfiniBand.
TEST(Icrc, GlobalPacket) {
    Packet packet = write;
    const auto lrh = octets("7013375C001817D2");
    packet.bytes.insert(packet.bytes.begin(), lrh.begin(), lrh.end());
    packet.lrh = 8;
    EXPECT_EQ(packet.icrc(), 0xe3d856bbu);
}

/// A packet with what the network may change of it: some bits of its first octet, and whole octets.
struct Kind {
    const char* name;
    const Packet& packet;
    unsigned headers;  // octets
    std::byte first;
    std::vector<unsigned> others;

    std::vector<std::byte> variant(std::size_t size) const {
        std::vector<std::byte> bits(size);
        bits[0] = first;
        for (const unsigned at : others) bits[at] = std::byte{0xff};
        return bits;
    }
};
const Kind kinds[] = {
    {"InfiniBand", local, 20, std::byte{0xf0}, {12}},
    {"RoCEv1", write, 52, std::byte{0x0f}, {1, 2, 3, 7, 44}},
    {"RoCEv2 over IPv4", cnp_packet, 40, std::byte{0}, {1, 8, 10, 11, 26, 27, 32}},
    {"RoCEv2 over IPv6", over_ipv6, 60, std::byte{0x0f}, {1, 2, 3, 7, 46, 47, 52}},
};

/// Payloads up to where wider registers take over, in packets that lie in one piece and in some whose parts do not.
TEST(Icrc, EveryPayloadLength) {
    const auto apart = [](base::Bytes piece) { return std::vector<std::byte>(piece.begin(), piece.end()); };
    for (const Kind& kind : kinds) {
        Packet packet = kind.packet;
        packet.bytes.resize(kind.headers);
        for (unsigned length = 0; length < 1500; ++length) {
            packet.transport = 12 + length;
            auto masked = kind.variant(packet.bytes.size());
            for (std::size_t i = 0; i < masked.size(); ++i) masked[i] |= packet.bytes[i];
            if (packet.lrh == 0) masked.insert(masked.begin(), 8, std::byte{0xff});
            const std::uint32_t expected = icrc_of_masked(masked);
            // Its copy ends where its memory does, for a sanitizer to see what is read after it.
            const Packet exact = packet;
            ASSERT_EQ(exact.icrc(), expected) << kind.name << ", " << length;
            const wire::IcrcPieces pieces = packet.pieces();
            const auto lrh = apart(pieces.lrh);
            const auto network = apart(pieces.network);
            const auto udp = apart(pieces.udp);
            const auto transport = apart(pieces.transport);
            ASSERT_EQ(wire::icrc({lrh, network, udp, transport}), expected) << kind.name << " apart, " << length;
            packet.bytes.push_back(static_cast<std::byte>(length * 37 + 11));
        }
    }
}

/// A changed bit is found, unless it is one that the network may change.
TEST(Icrc, EveryBit) {
    for (const Kind& kind : kinds) {
        const Packet& packet = kind.packet;
        const std::uint32_t right = packet.icrc();
        const auto variant = kind.variant(packet.bytes.size());
        // The first four bits are the version: another one is another packet.
        for (unsigned bit = packet.network == 0 ? 0 : 4; bit < packet.bytes.size() * 8; ++bit) {
            Packet flipped = packet;
            flipped.bytes[bit / 8] ^= std::byte{0x80} >> (bit % 8);
            const bool may_change = (variant[bit / 8] & std::byte{0x80} >> (bit % 8)) != std::byte{0};
            EXPECT_EQ(flipped.icrc() == right, may_change) << kind.name << ", " << bit;
        }
    }
}

TEST(Vcrc, AgainstBits) {
    auto packet = local.bytes;
    const auto check = [](const std::vector<std::byte>& bytes) {
        const std::uint32_t crc = bit_wise(bytes, 0xd008, 0xffff);  // 0x100B with its bits in reverse
        EXPECT_EQ(wire::vcrc(bytes), ((crc << 8 | crc >> 8) & 0xffff));
    };
    check(packet);
    const auto icrc = octets("9625b75a");
    packet.insert(packet.end(), icrc.begin(), icrc.end());
    check(packet);
    check({});
    // Calculated with a program of a few lines in another language.
    EXPECT_EQ(wire::vcrc(packet), 0x45fa);
}

TEST(Vcrc, EveryBit) {
    const std::uint16_t right = wire::vcrc(local.bytes);
    for (unsigned bit = 0; bit < local.bytes.size() * 8; ++bit) {
        auto packet = local.bytes;
        packet[bit / 8] ^= std::byte{0x80} >> (bit % 8);
        EXPECT_NE(wire::vcrc(packet), right) << bit;
    }
}

}  // namespace
