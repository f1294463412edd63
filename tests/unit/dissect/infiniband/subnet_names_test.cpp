/// Which node has which LID and GID, as facts come in and contradict each other.
#include "dissect/subnet/subnet_names.h"

#include <array>
#include <gtest/gtest.h>
#include <string>

namespace {

using dissect::subnet::Gid;
using dissect::subnet::Guid;
using dissect::subnet::Lid;
using dissect::subnet::SubnetNames;

constexpr Guid node_a = 0x0002c9030000aa00;
constexpr Guid port_a = 0x0002c9030000aa01;
constexpr Guid node_b = 0x0002c9030000bb00;
constexpr Guid port_b = 0x0002c9030000bb01;

Gid gid_of(Guid port, std::uint8_t prefix = 0xfe) {
    Gid gid{prefix, 0x80};
    for (std::size_t i = 0; i < 8; ++i) gid[8 + i] = static_cast<std::uint8_t>(port >> (56 - 8 * i));
    return gid;
}

TEST(SubnetNames, a_lid_has_the_description_of_its_node) {
    SubnetNames names;
    EXPECT_TRUE(names.find(Lid{4}).empty());
    names.assign_node(4, 0, node_a, 1);
    EXPECT_EQ(names.find(Lid{4}).guid, node_a);
    EXPECT_EQ(names.find(Lid{4}).description, "");
    names.describe_node(node_a, "host01 mlx5_0", 2);
    EXPECT_EQ(names.find(Lid{4}).description, "host01 mlx5_0");
    EXPECT_TRUE(names.find(Lid{5}).empty());
}

TEST(SubnetNames, a_port_has_several_lids) {
    SubnetNames names;
    names.describe_node(node_a, "host01", 1);
    names.assign_node(8, 2, node_a, 2);  // 2^2 of them
    for (const Lid lid : std::to_array<Lid>({8, 9, 10, 11})) EXPECT_EQ(names.find(lid).description, "host01") << lid;
    EXPECT_TRUE(names.find(Lid{12}).empty());
    EXPECT_TRUE(names.find(Lid{7}).empty());
}

TEST(SubnetNames, a_lid_passes_to_another_node) {
    SubnetNames names;
    names.describe_node(node_a, "host01", 1);
    names.describe_node(node_b, "host02", 1);
    names.assign_node(4, 0, node_a, 2);
    names.assign_node(4, 0, node_b, 9);
    EXPECT_EQ(names.find(Lid{4}).description, "host02");
    names.assign_node(4, 0, node_a, 5);  // an older fact, from another thread
    EXPECT_EQ(names.find(Lid{4}).description, "host02");
}

TEST(SubnetNames, a_description_without_a_guid_ends_with_the_node) {
    SubnetNames names;
    names.describe_lid(4, "host01", 1);
    EXPECT_EQ(names.find(Lid{4}).description, "host01");
    names.assign_node(4, 0, node_a, 2);
    EXPECT_EQ(names.find(Lid{4}).description, "host01");
    names.assign_node(4, 0, node_b, 3);
    EXPECT_EQ(names.find(Lid{4}).description, "");
    EXPECT_EQ(names.find(Lid{4}).guid, node_b);
}

TEST(SubnetNames, gids_and_lids_of_paths) {
    SubnetNames names;
    names.assign_gid(gid_of(port_a), 4, 1);
    EXPECT_EQ(names.find(Lid{4}).guid, port_a);  // nothing better is known
    EXPECT_EQ(names.find(gid_of(port_a)).guid, port_a);
    names.add_port(port_a, node_a, 2);
    names.describe_node(node_a, "host01", 2);
    EXPECT_EQ(names.find(Lid{4}).description, "host01");
    EXPECT_EQ(names.find(gid_of(port_a)).description, "host01");
    // A later path has another port at the LID.
    names.add_port(port_b, node_b, 3);
    names.describe_node(node_b, "host02", 3);
    names.assign_node(4, 0, node_a, 4);
    names.assign_gid(gid_of(port_b), 4, 5);
    EXPECT_EQ(names.find(Lid{4}).description, "host02");
}

TEST(SubnetNames, an_alias_does_not_rename_its_port) {
    SubnetNames names;
    names.describe_node(node_a, "host01", 1);
    names.assign_node(4, 0, node_a, 1);
    const Gid alias = gid_of(0xfeedfeed00000001);
    names.assign_gid(alias, 4, 2);
    EXPECT_EQ(names.find(Lid{4}).description, "host01");
    EXPECT_EQ(names.find(alias).description, "host01");
}

TEST(SubnetNames, hostile_descriptions_are_printable) {
    SubnetNames names;
    names.assign_node(4, 0, node_a, 1);
    const auto described = [&](std::string_view text) {
        static std::uint64_t frame = 1;
        names.describe_node(node_a, text, ++frame);
        return std::string(names.find(Lid{4}).description);
    };
    EXPECT_EQ(described(std::string_view("host01\0\x1b[31m", 12)), "host01");
    EXPECT_EQ(described("a\x1b[2J\nb\x07"), "a\\x1b[2J\\nb\\x07");
    EXPECT_EQ(described("x\xe2\x80\xaetxt.exe"), "x\\xe2\\x80\\xaetxt.exe");  // U+202E turns the rest round
    EXPECT_EQ(described("\xc2\x9b"
                        "31m"),
              "\\xc2\\x9b"
              "31m");  // a control character of C1
    EXPECT_EQ(described("  blanks \n "), "  blanks");
    EXPECT_EQ(described(std::string(200, 'x')), std::string(64, 'x'));
    EXPECT_EQ(described(""), "");
}

TEST(SubnetNames, addresses_that_no_node_has) {
    SubnetNames names;
    names.assign_node(0, 0, node_a, 1);
    names.assign_node(0xc000, 0, node_a, 1);  // multicast
    names.assign_node(0xffff, 0, node_a, 1);  // permissive
    names.assign_node(4, 0, 0, 1);
    names.assign_node(0xbfff, 7, node_a, 1);  // the range ends where multicast begins
    names.assign_gid(gid_of(0), 4, 1);
    EXPECT_TRUE(names.find(Lid{0}).empty());
    EXPECT_TRUE(names.find(Lid{0xc000}).empty());
    EXPECT_TRUE(names.find(Lid{4}).empty());
    EXPECT_EQ(names.find(Lid{0xbfff}).guid, node_a);
}

TEST(SubnetNames, what_several_have_learnt) {
    SubnetNames one;
    SubnetNames other;
    one.assign_node(4, 0, node_a, 1);
    one.describe_node(node_b, "host02", 1);
    other.describe_node(node_a, "host01", 7);
    other.assign_node(5, 0, node_b, 8);
    other.assign_node(4, 0, node_a, 9);
    one.merge(other);
    EXPECT_EQ(one.find(Lid{4}).description, "host01");
    EXPECT_EQ(one.find(Lid{5}).description, "host02");
}

TEST(SubnetNames, memory_is_bounded) {
    SubnetNames names;
    for (Guid guid = 1; guid <= 2 * SubnetNames::max_nodes; ++guid) {
        names.describe_node(guid, std::string(64, 'x'), guid);
        names.add_port(guid, guid, guid);
        names.add_port(guid << 32, guid, guid);
        names.assign_gid(gid_of(guid, static_cast<std::uint8_t>(guid)), static_cast<Lid>(guid % 0xbfff + 1), guid);
        names.assign_node(static_cast<Lid>(guid % 0xbfff + 1), 0, guid, guid);
    }
    EXPECT_LT(names.octets(), std::size_t{48} << 20);
}

}  // namespace
