/// The tables of attributes: each field lies within the data of its class, and the records of a table are found in its
/// segments.
#include "wire/mad_attributes.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "wire/mad.h"
#include "wire/mad_class.h"

namespace {

using wire::mad::Attribute;

/// The last octet that an attribute's fields reach, from its start, plus one.
std::size_t extent_of(const Attribute& attribute) {
    std::size_t end = 0;
    for (const auto& part : attribute.parts)
        for (const auto& field : part.fields)
            end = std::max<std::size_t>(
                end, part.octet + (part.count - 1U) * part.stride + (field.bit_offset + field.bit_width + 7U) / 8U);
    return end;
}

/// IBTA vol. 1, 14.2.1, 15.2.1, 16.1.1, 16.3.1 and A10.4: 64, 200 and 192 octets of data.
TEST(MadAttributes, LieWithinTheDataOfTheirClass) {
    const struct {
        std::uint8_t management_class;
        std::size_t octets;
    } classes[] = {{wire::subnet_management, 64},      {wire::directed_subnet_management, 64},
                   {wire::subnet_administration, 200}, {wire::performance_management, 192},
                   {wire::device_management, 192},     {wire::congestion_management, 192}};
    for (const auto& [management_class, octets] : classes)
        for (const Attribute& attribute : wire::mad::attributes_of(management_class)) {
            EXPECT_LE(extent_of(attribute), octets) << attribute.name;
            EXPECT_EQ(wire::mad::find_attribute(management_class, attribute.id)->name, attribute.name);
        }
}

/// The sum of the widths in the specification, IBTA vol. 1, 14.2.5 and 16.1.3, and in libibmad for PortXmitWait and
/// QP1Dropped.
TEST(MadAttributes, EndWhereTheSpecificationEndsThem) {
    EXPECT_EQ(extent_of(*wire::mad::find_attribute(wire::subnet_management, 0x15)), 64U);
    EXPECT_EQ(extent_of(*wire::mad::find_attribute(wire::subnet_management, 0x11)), 40U);
    EXPECT_EQ(extent_of(*wire::mad::find_attribute(wire::subnet_administration, 0x11)), 108U);
    EXPECT_EQ(extent_of(*wire::mad::find_attribute(wire::performance_management, 0x12)), 44U);
    EXPECT_EQ(extent_of(*wire::mad::find_attribute(wire::performance_management, 0x1d)), 184U);
}

TEST(MadAttributes, NoFieldIsShownTwiceAtOnePlace) {
    for (const std::uint8_t management_class : {wire::subnet_management, wire::subnet_administration,
                                                wire::performance_management, wire::congestion_management})
        for (const Attribute& attribute : wire::mad::attributes_of(management_class))
            for (const auto& part : attribute.parts)
                for (std::size_t i = 1; i < part.fields.size(); ++i)
                    EXPECT_FALSE(part.fields[i].name == part.fields[i - 1].name &&
                                 part.fields[i].bit_offset == part.fields[i - 1].bit_offset)
                        << attribute.name;
}

TEST(MadStatus, IsSaidInWords) {
    EXPECT_EQ(wire::mad_status_text(wire::subnet_administration, 0), "");
    EXPECT_EQ(wire::mad_status_text(wire::subnet_administration, 0x0300), "no records");
    EXPECT_EQ(wire::mad_status_text(wire::subnet_management, 0x001c), "a value is not valid");
    EXPECT_EQ(wire::mad_status_text(wire::subnet_management, 0x000c), "attribute not supported with this method");
    EXPECT_EQ(wire::mad_status_text(wire::performance_management, 0x0001), "busy");
    EXPECT_EQ(wire::mad_status_text(wire::directed_subnet_management, 0x8000), "") << "the direction is no status";
}

/// A datagram with a segment of a table of Subnet Administration: IBTA vol. 1, 13.6.
std::vector<std::byte> segment(std::uint8_t flags, std::uint32_t number, std::uint32_t payload,
                               std::uint16_t record_octets) {
    std::vector<std::byte> mad(wire::mad_octets);
    const auto put = [&](std::size_t at, std::uint32_t value, int octets) {
        for (int i = 0; i < octets; ++i)
            mad[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * (octets - 1 - i)));
    };
    put(25, 1, 1);
    put(26, 0xf8U | flags, 1);
    put(28, number, 4);
    put(32, payload, 4);
    put(44, record_octets / 8U, 2);
    return mad;
}

/// Five records of 112 octets are 560: segments of 200, 200 and 160. Records begin at 0, 112, 224, 336 and 448 of the
/// table, so that the second, the fourth and no other record lies in two segments.
TEST(MadRecords, ThatLieWholeInASegmentAreFound) {
    const auto first = wire::mad::records_of(segment(3, 1, 620, 112));
    EXPECT_EQ(first.first, 0U);
    EXPECT_EQ(first.octet, 56U);
    EXPECT_EQ(first.count, 1U);
    const auto second = wire::mad::records_of(segment(1, 2, 0, 112));
    EXPECT_EQ(second.first, 2U);
    EXPECT_EQ(second.octet, 56U + 24U);
    EXPECT_EQ(second.count, 1U);
    const auto third = wire::mad::records_of(segment(5, 3, 180, 112));
    EXPECT_EQ(third.first, 4U);
    EXPECT_EQ(third.octet, 56U + 48U);
    EXPECT_EQ(third.count, 1U);
}

TEST(MadRecords, HostileHeadersMakeNone) {
    EXPECT_EQ(wire::mad::records_of(segment(1, 0, 0, 112)).count, 0U) << "segments are counted from 1";
    EXPECT_EQ(wire::mad::records_of(segment(1, 1, 0, 0)).count, 0U) << "records of no octets";
    EXPECT_EQ(wire::mad::records_of(segment(5, 1, 5, 8)).count, 0U) << "a payload shorter than its header";
    EXPECT_EQ(wire::mad::records_of(segment(5, 1, 0xffffffff, 8)).count, 25U) << "no more than a datagram holds";
    EXPECT_EQ(wire::mad::records_of(segment(1, 0xffffffff, 0, 0xfff8)).count, 0U) << "a record longer than a datagram";
}

}  // namespace
