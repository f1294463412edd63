#include "metrics/figures/flow_key.h"

#include <gtest/gtest.h>

namespace metrics {
namespace {

Address ipv4(std::uint8_t last) {
    Address address;
    address.octets = {192, 0, 2, last};
    address.family = wire::AddressFamily::ipv4;
    return address;
}

TEST(FlowKey, ReversedTcpKeyHasThePortsTheOtherWayRound) {
    const FlowKey key{50000u << 16 | 4791u, ipv4(1), ipv4(2), wire::Transport::iwarp, Service::rc};
    const FlowKey reverse = key.reversed();
    EXPECT_EQ(reverse, (FlowKey{4791u << 16 | 50000u, ipv4(2), ipv4(1), wire::Transport::iwarp, Service::rc}));
    EXPECT_EQ(reverse.reversed(), key);
}

TEST(FlowKey, ReversedKeyOfAQueuePairTakesThePeersNumber) {
    const FlowKey key{0x12, ipv4(1), ipv4(2), wire::Transport::roce2, Service::ud};
    EXPECT_EQ(key.reversed(0x34), (FlowKey{0x34, ipv4(2), ipv4(1), wire::Transport::roce2, Service::ud}));
}

}  // namespace
}  // namespace metrics
