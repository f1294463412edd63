#include "capture/filter/bpf.h"

#include <array>
#include <gmock/gmock.h>

#include "capture/link_type.h"
#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;

std::string udp(unsigned port) {
    Maker frame(true);
    frame.text(std::string(12, '\1')).u16(0x800);
    frame.u8(0x45).u8(0).u16(28).u32(0).u8(64).u8(17).u16(0).u32(0xc0000201).u32(0xc0000202);
    return frame.u16(1000).u16(port).u16(8).u16(0).str();
}

wire::Frame frame_with(const std::string& data) {
    wire::Frame frame;
    frame.bytes = std::as_bytes(std::span(data));
    frame.wire_length = static_cast<std::uint32_t>(data.size());
    return frame;
}

TEST(PacketFilter, matches_what_the_expression_says) {
    auto filter = PacketFilter::compile("udp dst port 4791 and host 192.0.2.2", {});
    ASSERT_TRUE(filter.ok()) << filter.error().text();
    const std::string roce = udp(4791);
    const std::string other = udp(53);
    EXPECT_TRUE(filter->matches(frame_with(roce)));
    EXPECT_FALSE(filter->matches(frame_with(other)));
    EXPECT_FALSE(filter->matches(frame_with(roce.substr(0, 20)))) << "truncated";
    EXPECT_EQ(filter->expression(), "udp dst port 4791 and host 192.0.2.2");
}

TEST(PacketFilter, a_nul_does_not_end_the_expression) {
    for (const std::string& expression : {std::string("\0", 1), std::string("udp\0 port 53", 12)})
        EXPECT_FALSE(PacketFilter::compile(expression, {}).ok());
}

TEST(PacketFilter, empty_matches_all) {
    auto filter = PacketFilter::compile("", {});
    ASSERT_TRUE(filter.ok());
    EXPECT_TRUE(filter->matches(frame_with("")));
}

TEST(PacketFilter, length_is_that_on_the_wire) {
    auto filter = PacketFilter::compile("greater 1000", {});
    ASSERT_TRUE(filter.ok());
    const std::string data = udp(1);
    wire::Frame frame = frame_with(data);
    EXPECT_FALSE(filter->matches(frame));
    frame.wire_length = 1000;
    EXPECT_TRUE(filter->matches(frame));
}

TEST(PacketFilter, link_types_have_their_own_code) {
    const std::string ip = udp(4791).substr(14);
    auto filter = PacketFilter::compile("udp port 4791", {.link_type = wire::LinkType::raw});
    ASSERT_TRUE(filter.ok()) << filter.error().text();
    EXPECT_TRUE(filter->matches(frame_with(ip)));
}

TEST(PacketFilter, errors_show_the_expression_and_the_reason) {
    const auto filter = PacketFilter::compile("udp porrt 4791", {});
    ASSERT_FALSE(filter.ok());
    EXPECT_THAT(filter.error().text(), HasSubstr("`udp porrt 4791`"));
    EXPECT_THAT(filter.error().text(), HasSubstr("syntax error"));
    EXPECT_THAT(filter.error().text(), testing::Not(HasSubstr("-Y")));
}

TEST(PacketFilter, infiniband_is_sent_to_the_display_filter) {
    const auto filter = PacketFilter::compile("udp port 4791", {.link_type = wire::LinkType::infiniband});
    ASSERT_FALSE(filter.ok());
    EXPECT_THAT(filter.error().text(), HasSubstr("-Y"));
}

/// The text is tcpdump's own, taken from `tcpdump -d`, `-dd` and `-ddd` on `ether[0] = 1`.
TEST(PacketFilter, listings_are_those_of_tcpdump) {
    auto filter = PacketFilter::compile("ether[0] = 1", {.snaplen = 262'144});
    ASSERT_TRUE(filter.ok());
    EXPECT_EQ(filter->listing(PacketFilter::Listing::mnemonics),
              "(000) ldb      [0]\n"
              "(001) jeq      #0x1             jt 2	jf 3\n"
              "(002) ret      #262144\n"
              "(003) ret      #0\n");
    EXPECT_EQ(filter->listing(PacketFilter::Listing::c_fragment),
              "{ 0x30, 0, 0, 0x00000000 },\n"
              "{ 0x15, 0, 1, 0x00000001 },\n"
              "{ 0x6, 0, 0, 0x00040000 },\n"
              "{ 0x6, 0, 0, 0x00000000 },\n");
    EXPECT_EQ(filter->listing(PacketFilter::Listing::decimal),
              "4\n"
              "48 0 0 0\n"
              "21 0 1 1\n"
              "6 0 0 262144\n"
              "6 0 0 0\n");
}

TEST(PacketFilter, optimiser_can_be_switched_off) {
    auto with = PacketFilter::compile("udp port 4791", {});
    auto without = PacketFilter::compile("udp port 4791", {.optimise = false});
    ASSERT_TRUE(with.ok() && without.ok());
    EXPECT_LT(with->listing(PacketFilter::Listing::mnemonics).size(),
              without->listing(PacketFilter::Listing::mnemonics).size());
}

TEST(LinkType, numbers_of_files_and_of_the_machine) {
    EXPECT_EQ(dlt_of(wire::LinkType::raw), 12);
    EXPECT_EQ(link_type_of(12), wire::LinkType::raw);
    EXPECT_EQ(dlt_of(wire::LinkType::ethernet), 1);
    EXPECT_EQ(link_type_name(wire::LinkType::ethernet), "EN10MB");
    EXPECT_EQ(link_type_description(wire::LinkType::ethernet), "Ethernet");
    EXPECT_EQ(link_type_named("LINUX_SLL2"), wire::LinkType::linux_sll2);
    EXPECT_EQ(link_type_named("raw"), wire::LinkType::raw);
    EXPECT_EQ(link_type_named("nonsense"), std::nullopt);
    EXPECT_EQ(link_type_name(static_cast<wire::LinkType>(60'000)), "60000");
}

}  // namespace
}  // namespace capture::test
