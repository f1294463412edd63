#include <algorithm>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using namespace mpa_test;
namespace fault = iwarp::fault;

/// Two right FPDUs, then `bad`, then two more right ones.
struct Wounded {
    Stream stream;
    std::size_t bad_begin = 0;
    std::size_t bad_end = 0;
};
Wounded wounded(bool crc, bool markers, const Octets& bad) {
    std::mt19937 random{5};
    Wounded out{Stream{.crc = crc, .markers = markers, .octets = {}, .ulpdus = {}, .ends = {}}};
    out.stream.add(true, pattern(random, 30));
    out.stream.add(false, pattern(random, 7));
    out.bad_begin = out.stream.octets.size();
    out.stream.fpdu(bad);
    out.bad_end = out.stream.octets.size();
    out.stream.add(true, pattern(random, 30));
    out.stream.add(false, pattern(random, 7));
    return out;
}

/// The fault, and that nothing is delivered from it on, however the stream is cut.
void expect_fault(const FpduReader::Settings& settings, const Wounded& sent, const Fault& expected,
                  std::optional<std::size_t> latest = std::nullopt) {
    const base::Bytes all = sent.stream.octets;
    for (const std::size_t size : {all.size(), std::size_t{1}, std::size_t{3}, std::size_t{40}, std::size_t{700}}) {
        Sink sink;
        FpduReader reader{settings, sink};
        unsigned faults = 0;
        for (std::size_t at = 0; at < all.size(); at += size) {
            const auto found = give(reader, all.subspan(at, std::min(size, all.size() - at)));
            if (!found) continue;
            ASSERT_EQ(*found, expected) << name(settings) << " in pieces of " << size;
            if (latest && size == 1) {
                EXPECT_LT(at, *latest) << name(settings);
            }
            ++faults;
        }
        EXPECT_EQ(faults, 1u) << name(settings) << " in pieces of " << size;
        EXPECT_EQ(sink.ulpdus.size(), 2u) << name(settings) << " in pieces of " << size;
        EXPECT_EQ(reader.fpdus(), 2u);
        EXPECT_FALSE(reader.at_boundary());
        EXPECT_TRUE(reader.room(0).empty());
    }
}

// RFC 5044 section 8, code 2; section 6: nothing is delivered after it.
TEST(Faults, every_bit_under_the_crc) {
    const Octets payload = octets("101112131415161718191a1b1c");
    for (const auto& settings : all_settings()) {
        if (!settings.crc) continue;
        const Wounded sent = wounded(true, settings.markers, joined({header(true), payload}));
        for (std::size_t at = sent.bad_begin; at < sent.bad_end; ++at) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                Octets damaged(sent.stream.octets.begin(),
                               sent.stream.octets.begin() + static_cast<std::ptrdiff_t>(sent.bad_end));
                damaged[at] ^= static_cast<std::byte>(1u << bit);
                // A damaged length makes the FPDU longer: octets to fill it.
                damaged.resize(damaged.size() + 66000);
                Sink sink;
                FpduReader reader{settings, sink};
                // Where the length became less its CRC is looked for too early, else with or after the last octet.
                auto found = give(reader, base::Bytes{damaged}.first(sent.bad_end - 1));
                if (!found) found = give(reader, base::Bytes{damaged}.subspan(sent.bad_end - 1));
                ASSERT_EQ(found, fault::crc) << name(settings) << at << ' ' << bit;
                ASSERT_EQ(give(reader, damaged), std::nullopt);
                ASSERT_EQ(sink.ulpdus.size(), 2u) << name(settings) << at << ' ' << bit;
                ASSERT_FALSE(reader.at_boundary());
            }
        }
    }
}

TEST(Faults, bad_crc_ends_the_stream) {
    for (const auto& settings : all_settings()) {
        if (!settings.crc) continue;
        for (const std::size_t length : {0u, 1u, 100u, 5000u}) {
            Wounded sent = wounded(true, settings.markers, joined({header(false), Octets(length)}));
            sent.stream.octets[sent.bad_end - 1] ^= std::byte{1};
            expect_fault(settings, sent, fault::crc, sent.bad_end);
        }
    }
}

// Section 8, code 3. Fewer octets than the header of their kind.
TEST(Faults, ulpdu_without_room_for_its_header) {
    for (const auto& settings : all_settings()) {
        for (const bool tagged : {true, false}) {
            const Octets head = header(tagged);
            for (std::size_t length = 0; length < head.size(); ++length) {
                const Octets ulpdu(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(length));
                const Wounded sent = wounded(settings.crc, settings.markers, ulpdu);
                expect_fault(settings, sent, fault::marker_or_length, sent.bad_end);
            }
        }
    }
}

// "In the event that the CRC is valid": a bad CRC is reported instead.
TEST(Faults, bad_crc_goes_before_a_bad_length) {
    for (const auto& settings : all_settings()) {
        if (!settings.crc) continue;
        Wounded sent = wounded(true, settings.markers, octets("c140"));
        sent.stream.octets[sent.bad_end - 3] ^= std::byte{0x10};
        expect_fault(settings, sent, fault::crc, sent.bad_end);
    }
}

TEST(Faults, marker_that_points_elsewhere) {
    for (const auto& settings : all_settings()) {
        if (!settings.markers) continue;
        // The first marker within the third FPDU, and that FPDU's last one.
        for (const std::size_t which : {0u, 2u}) {
            for (const unsigned bits : {0x0004u, 0x0200u, 0x8000u}) {
                Wounded sent = wounded(settings.crc, true, joined({header(true), Octets(1500)}));
                const std::size_t at = 512 * (sent.bad_begin / 512 + 1 + which);
                ASSERT_LT(at, sent.bad_end);
                Octets& octets = sent.stream.octets;
                octets[at + 2] ^= static_cast<std::byte>(bits >> 8);
                octets[at + 3] ^= static_cast<std::byte>(bits & 0xff);
                if (settings.crc) {
                    const base::Bytes covered =
                        base::Bytes{octets}.subspan(sent.bad_begin, sent.bad_end - 4 - sent.bad_begin);
                    const Octets crc = slow_crc(covered);
                    std::copy(crc.begin(), crc.end(), octets.begin() + static_cast<std::ptrdiff_t>(sent.bad_end - 4));
                }
                expect_fault(settings, sent, fault::marker_or_length, sent.bad_end);
            }
        }
    }
}

TEST(Faults, marker_between_fpdus_points_to_nothing) {
    Octets first = octets("00000004 0010 c140 00000b07 0000000000001000 0102 0000");
    const Octets crc = slow_crc(first);
    first.insert(first.end(), crc.begin(), crc.end());
    Sink sink;
    FpduReader reader{{true, true, true}, sink};
    EXPECT_EQ(give(reader, first), fault::marker_or_length);
    EXPECT_EQ(sink.begun, 0u);
}

// What the sink refuses, or finds wrong at the end, ends the stream the same way in every mode.
TEST(Faults, of_the_sink) {
    for (const auto& settings : all_settings()) {
        for (const bool at_end : {false, true}) {
            for (const std::size_t length : {0u, 9u, 3000u}) {
                const Wounded sent = wounded(settings.crc, settings.markers, joined({header(true), Octets(length)}));
                const base::Bytes all = sent.stream.octets;
                for (const std::size_t size : {all.size(), std::size_t{1}, std::size_t{50}}) {
                    Sink sink;
                    (at_end ? sink.fault_at : sink.refuse_at) = 2;
                    sink.fault = fault::tagged_bounds;
                    FpduReader reader{settings, sink};
                    unsigned faults = 0;
                    for (std::size_t at = 0; at < all.size(); at += size) {
                        const auto found = give(reader, all.subspan(at, std::min(size, all.size() - at)));
                        if (!found) continue;
                        ASSERT_EQ(*found, fault::tagged_bounds);
                        ++faults;
                    }
                    EXPECT_EQ(faults, 1u) << name(settings) << length << ' ' << size;
                    EXPECT_EQ(sink.ulpdus.size(), 2u);
                    EXPECT_EQ(sink.begun, 3u);
                }
            }
        }
    }
}

TEST(Faults, refused_header_of_a_damaged_fpdu_is_a_bad_crc) {
    for (const bool strict : {true, false}) {
        Wounded sent = wounded(true, false, joined({header(true), Octets(3000)}));
        sent.stream.octets[sent.bad_begin + 5] ^= std::byte{0x40};  // the STag
        for (const std::size_t size : {sent.stream.octets.size(), std::size_t{1}, std::size_t{100}}) {
            Sink sink;
            sink.refuse_at = 2;
            FpduReader reader{{true, false, strict}, sink};
            std::optional<Fault> found;
            for (std::size_t at = 0; at < sent.stream.octets.size() && !found; at += size)
                found = give(reader, base::Bytes{sent.stream.octets}.subspan(
                                         at, std::min(size, sent.stream.octets.size() - at)));
            EXPECT_EQ(found, fault::crc);
            EXPECT_EQ(sink.ulpdus.size(), 2u);
        }
    }
}

TEST(Faults, random_octets_never_reach_the_sink_with_crcs) {
    std::mt19937 random{11};
    for (unsigned round = 0; round < 2000; ++round) {
        const auto settings = all_settings()[random() % 8];
        Sink sink;
        sink.piece_sizes = {100, 3};
        FpduReader reader{settings, sink};
        for (unsigned i = 0; i < 20; ++i) {
            Octets octets = pattern(random, random() % 300);
            if (random() % 2 == 0 && !octets.empty()) octets[0] = std::byte{0};
            static_cast<void>(give(reader, octets));
            const auto room = reader.room(random() % 50);
            std::size_t offered = 0;
            for (const auto piece : room) offered += piece.size();
            if (offered != 0) static_cast<void>(reader.received(random() % (offered + 1)));
        }
        if (settings.crc) {
            ASSERT_TRUE(sink.ulpdus.empty());
        }
    }
}

struct Outcome {
    std::optional<Fault> fault;
    std::vector<Octets> ulpdus;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};
Outcome outcome(const FpduReader::Settings& settings, base::Bytes all, std::mt19937& random, std::size_t most,
                bool ask_for_room) {
    Sink sink;
    sink.piece_sizes = {1 + random() % 700, random() % 3, 1 + random() % 3000};
    sink.refuse_at = 5;
    FpduReader reader{settings, sink};
    Outcome found;
    for (std::size_t at = 0; at < all.size() && !found.fault;) {
        std::size_t part = std::min(all.size() - at, 1 + random() % most);
        const auto room = ask_for_room ? reader.room(1) : std::span<const base::MutableBytes>{};
        if (room.empty()) {
            found.fault = give(reader, all.subspan(at, part));
        } else {
            base::Bytes left = all.subspan(at, part);
            for (const base::MutableBytes piece : room) {
                const base::Bytes fits = left.first(std::min(left.size(), piece.size()));
                std::ranges::copy(fits, piece.begin());
                left = left.subspan(fits.size());
            }
            part -= left.size();
            found.fault = reader.received(part);
        }
        at += part;
    }
    found.ulpdus = std::move(sink.ulpdus);
    return found;
}

// A damaged stream has one outcome, whatever its cuts, with CRCs also whether it is read strictly or not.
TEST(Faults, cuts_do_not_matter) {
    std::mt19937 random{31};
    for (unsigned round = 0; round < 400; ++round) {
        Stream sent{.crc = random() % 2 == 0, .markers = random() % 2 == 0, .octets = {}, .ulpdus = {}, .ends = {}};
        for (unsigned i = 0; i < 7; ++i)
            sent.add(random() % 2 == 0, pattern(random, random() % (i % 2 == 0 ? 60 : 3000)));
        for (unsigned i = random() % 4; i != 0; --i)
            sent.octets[random() % sent.octets.size()] = static_cast<std::byte>(random() & 0xff);
        // Zeros after it, so that even a damaged length finds its FPDU complete.
        sent.octets.resize(sent.octets.size() + 70000);
        const FpduReader::Settings strict{sent.crc, sent.markers, true};
        const Outcome expected = outcome(strict, sent.octets, random, sent.octets.size(), false);
        ASSERT_TRUE(expected.fault);
        for (const std::size_t most : {std::size_t{1}, std::size_t{50}, std::size_t{4000}, sent.octets.size()}) {
            for (const bool direct : {false, true}) {
                const FpduReader::Settings settings{sent.crc, sent.markers, !direct};
                ASSERT_EQ(outcome(settings, sent.octets, random, most, direct), expected) << name(settings) << most;
            }
        }
    }
}

}  // namespace
