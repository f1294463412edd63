// Classes of packets, and flows whose packets have several. Expected values are counted by hand.
#include "metrics/figures/packet_class.h"

#include <gtest/gtest.h>
#include <vector>

#include "metrics/figures/snapshot.h"
#include "metrics/figures/snapshot_codec.h"

namespace metrics {
namespace {

const PacketClass af31 = PacketClass::of(106, 0xffff);  // DSCP 26 with ECT(0)
const PacketClass best_effort = PacketClass::of(0, 0xffff);

FlowSnapshot flow(std::uint64_t id, PacketClass first, std::uint64_t packets) {
    FlowSnapshot made;
    made.id = id;
    made.destination.qpn = 0x11;
    made.packet_class = first;
    made.packets = packets;
    made.wire_bytes = packets * 100;
    made.first_ns = static_cast<std::int64_t>(id);
    made.last_ns = made.first_ns + 10;
    return made;
}

Snapshot with(FlowSnapshot made) {
    Snapshot snapshot;
    snapshot.capture.packets = made.packets;
    snapshot.flows.push_back(std::move(made));
    return snapshot;
}

TEST(PacketClass, has_what_headers_say) {
    EXPECT_FALSE(PacketClass().known());
    EXPECT_EQ(af31.dscp(), 26);
    EXPECT_EQ(af31.partition_key(), 0xffff);
    EXPECT_EQ(af31.vlan_priority(), std::nullopt);
    EXPECT_EQ(PacketClass::of(104, 0xffff), af31);  // ECN is no part of it
    EXPECT_EQ(af31.with_vlan_priority(0).vlan_priority(), 0);
    EXPECT_EQ(af31.with_service_level(15).service_level(), 15);
    EXPECT_EQ(af31.with_service_level(15).vlan_priority(), std::nullopt);
    EXPECT_NE(af31.with_vlan_priority(0), af31);
    EXPECT_EQ(PacketClass::of(0).partition_key(), std::nullopt);
    EXPECT_EQ(PacketClass::of(0, 0x8001).with_partition_of(af31), best_effort);
}

TEST(Classes, of_a_flow_add_up_to_its_packets) {
    FlowSnapshot made = flow(1, af31, 10);
    made.other_classes = {{best_effort, 3, 300, 5, 6}};
    const std::vector<ClassFigures> classes = made.classes();
    ASSERT_EQ(classes.size(), 2U);
    EXPECT_EQ(classes[0], (ClassFigures{af31, 7, 700, 1, 1}));
    EXPECT_EQ(classes[1], (ClassFigures{best_effort, 3, 300, 5, 6}));
    EXPECT_TRUE(flow(1, PacketClass(), 10).classes().empty());
}

TEST(Classes, are_merged_and_subtracted) {
    FlowSnapshot part = flow(20, best_effort, 4);
    part.other_classes = {{af31, 1, 100, 22, 22}};
    Snapshot all = with(flow(1, af31, 10));
    merge(all, with(part));
    ASSERT_EQ(all.flows.size(), 1U);
    EXPECT_EQ(all.flows[0].packet_class, af31);
    ASSERT_EQ(all.flows[0].other_classes.size(), 1U);
    EXPECT_EQ(all.flows[0].other_classes[0], (ClassFigures{best_effort, 3, 300, 20, 20}));
    EXPECT_EQ(all.flows[0].classes()[0].packets, 11U);

    const Snapshot rest = difference(with(flow(1, af31, 10)), all);
    ASSERT_EQ(rest.flows.size(), 1U);
    EXPECT_EQ(rest.flows[0].classes()[0].packets, 1U);
    EXPECT_EQ(rest.flows[0].classes()[1].packets, 3U);
}

TEST(Classes, survive_the_codec) {
    FlowSnapshot made = flow(7, af31.with_vlan_priority(3), 10);
    made.class_changes = 4;
    made.connection->service_id = 0x1061144;
    made.other_classes = {{best_effort, 3, 300, 9, 8}};
    std::vector<std::byte> octets;
    encode(with(made), octets);
    const auto back = decode_snapshot(octets);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->flows[0].packet_class, made.packet_class);
    EXPECT_EQ(back->flows[0].class_changes, 4U);
    EXPECT_EQ(back->flows[0].other_classes, made.other_classes);
    EXPECT_EQ(back->flows[0].connection->service_id, 0x1061144U);
    // Earlier versions have the traffic class alone.
    octets.clear();
    made.traffic_class = 106;
    encode(with(made), octets, 8);
    EXPECT_EQ(decode_snapshot(octets)->flows[0].packet_class, PacketClass::of(104));
}

}  // namespace
}  // namespace metrics
