#include "wire/carrier.h"

#include <gtest/gtest.h>

namespace {

using wire::Carrier;
using wire::CarrierCounts;
using wire::CarrierKind;

TEST(CarrierText, NamesTheRegistryAndWhatIsKnownOfTheNumber) {
    EXPECT_EQ(wire::text_of(Carrier{CarrierKind::ether_type, 0x8999}), "EtherType 0x8999");
    EXPECT_EQ(wire::text_of(Carrier{CarrierKind::ether_type, 0x88e5}), "EtherType 0x88e5 (MACsec, encrypted)");
    EXPECT_EQ(wire::text_of(Carrier{CarrierKind::ip_protocol, 50}), "IP protocol 50 (ESP, encrypted)");
    EXPECT_EQ(wire::text_of(Carrier{CarrierKind::ip_protocol, 253}), "IP protocol 253");
    EXPECT_EQ(wire::text_of(Carrier{CarrierKind::udp_port, 51820}), "UDP port 51820 (WireGuard, encrypted)");
    EXPECT_EQ(wire::text_of(Carrier{CarrierKind::udp_port, 4793}), "UDP port 4793 (UET, Ultra Ethernet)");
    EXPECT_EQ(wire::text_of(Carrier{CarrierKind::ppp_protocol, 0xfd}), "PPP protocol 0x00fd (compressed)");
    EXPECT_EQ(wire::text_of(Carrier{}), "");
}

TEST(CarrierCountsTest, KeepAsManyKindsAsThereIsRoomForAndCountTheRestTogether) {
    CarrierCounts counts;
    EXPECT_TRUE(counts.empty());
    for (std::uint16_t i = 0; i < 20; ++i)
        counts.add({CarrierKind::ether_type, static_cast<std::uint16_t>(0x9000 - i)});
    counts.add({CarrierKind::ether_type, 0x9000}, 5);
    ASSERT_EQ(counts.rows().size(), CarrierCounts::most_rows);
    EXPECT_EQ(counts.others(), 20 - CarrierCounts::most_rows);
    EXPECT_EQ(counts.frames(), 25u);
    EXPECT_EQ(counts.rows().back().frames, 6u);
    for (std::size_t i = 1; i < counts.rows().size(); ++i)
        EXPECT_LT(counts.rows()[i - 1].carrier, counts.rows()[i].carrier);
}

TEST(CarrierCountsTest, SumAndDifferenceAreOpposites) {
    CarrierCounts earlier;
    earlier.add({CarrierKind::ip_protocol, 50}, 3);
    CarrierCounts more;
    more.add({CarrierKind::ip_protocol, 50}, 2);
    more.add({CarrierKind::ether_type, 0x8999}, 12);
    more.add_others(4);
    CarrierCounts both = earlier;
    both.add(more);
    EXPECT_EQ(both.frames(), 21u);
    both.subtract(earlier);
    EXPECT_EQ(both, more);
    both.subtract(more);
    EXPECT_TRUE(both.empty());
}

TEST(CarrierCountsTest, AreSaidInOneSentence) {
    CarrierCounts counts;
    EXPECT_EQ(wire::text_of(counts), "");
    counts.add({CarrierKind::ip_protocol, 50});
    EXPECT_EQ(wire::text_of(counts), "1 frame of IP protocol 50 (ESP, encrypted) was not looked into");
    counts.add({CarrierKind::ether_type, 0x8999}, 1200);
    counts.add_others(7);
    EXPECT_EQ(wire::text_of(counts),
              "1,200 frames of EtherType 0x8999, 1 of IP protocol 50 (ESP, encrypted), 7 of other carriers were not "
              "looked into");
}

}  // namespace
