#include "capture/live/packet_ring.h"

#include <arpa/inet.h>
#include <chrono>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include "capture/live/packet_socket.h"
#include "support.h"

namespace capture::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

TEST(RingShape, holds_the_buffer_in_whole_blocks) {
    if (::sysconf(_SC_PAGESIZE) != 4096) GTEST_SKIP() << "worked out for pages of 4096 octets";
    EXPECT_EQ(ring_shape(64 * mib, 192), (RingShape{1U << 20, 64}));
    EXPECT_EQ(ring_shape(64 * mib + 1, 192), (RingShape{1U << 20, 65}));
    EXPECT_EQ(ring_shape(2 * mib, 192), (RingShape{1U << 19, 4}));
    EXPECT_EQ(ring_shape(100'000, 192), (RingShape{16384, 7})) << "at least four blocks";
    EXPECT_EQ(ring_shape(0, 192), (RingShape{4096, 2})) << "one to be filled while the other is read";
    EXPECT_EQ(ring_shape(mib, 262'144), (RingShape{1U << 19, 2})) << "a frame fits a block";
    EXPECT_EQ(ring_shape(std::uint64_t{16} << 30, 192), (RingShape{1U << 20, 16384}));
}

/// The loopback interface, or nothing where this machine lets nobody capture.
std::unique_ptr<PacketRing> open_ring(PacketRingOptions options) {
    options.interface = "lo";
    options.buffer_octets = mib;
    auto ring = PacketRing::open(options);
    if (ring.ok()) return std::move(ring).value();
    EXPECT_THAT(ring.error().text(),
                testing::AnyOf(HasSubstr("no permission to capture"), HasSubstr("no such interface")));
    return nullptr;
}

#define NEEDS_RING(ring) \
    if (!(ring)) GTEST_SKIP() << "this machine does not let us capture"

void send(std::uint16_t port, std::string_view data) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::sendto(socket, data.data(), data.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    ::close(socket);
}

ReadStatus wait_for_frame(PacketRing& ring, wire::Frame& frame) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    ReadStatus status = ring.next(frame);
    while (status == ReadStatus::timeout && std::chrono::steady_clock::now() < until) {
        pollfd readable{ring.descriptor(), POLLIN, 0};
        ::poll(&readable, 1, 100);
        status = ring.next(frame);
    }
    return status;
}

TEST(PacketRing, frames_of_loopback) {
    auto ring = open_ring({.snaplen = 50, .filter = "udp dst port 45911"});
    NEEDS_RING(ring);
    send(45910, "not this");
    send(45911, "but this");
    send(45911, "and that");
    wire::Frame frame;
    ASSERT_EQ(wait_for_frame(*ring, frame), ReadStatus::frame);
    EXPECT_THAT(std::string(text_of(frame)), EndsWith("but this"));
    EXPECT_EQ(frame.bytes.size(), 50U);
    EXPECT_EQ(frame.wire_length, 14U + 20 + 8 + 8);
    EXPECT_EQ(frame.number, 1U);
    ASSERT_EQ(wait_for_frame(*ring, frame), ReadStatus::frame);
    EXPECT_THAT(std::string(text_of(frame)), EndsWith("and that"));
    EXPECT_EQ(frame.number, 2U);
    EXPECT_EQ(ring->statistics().received, 2U) << "each came once";
    EXPECT_EQ(ring->statistics().kernel_dropped, 0U);
    const InterfaceInfo& info = ring->interfaces().at(0);
    EXPECT_EQ(info.name, "lo");
    EXPECT_EQ(info.filter, "udp dst port 45911");
    EXPECT_EQ(info.snaplen, management_octets) << "of RoCE's management";
    EXPECT_EQ(info.ticks_per_sec, 1'000'000'000U);
}

TEST(PacketRing, filters_change_while_it_runs) {
    auto ring = open_ring({.filter = "udp dst port 1"});
    NEEDS_RING(ring);
    send(4791, "one of mine");
    ASSERT_TRUE(ring->set_filter(RdmaFilter{.tcp_ports = {7174}}).ok());
    EXPECT_THAT(ring->interfaces().front().filter, HasSubstr("tcp port 7174"));
    send(4791, "two of mine");
    wire::Frame frame;
    do {  // other tests may send to this port, too
        ASSERT_EQ(wait_for_frame(*ring, frame), ReadStatus::frame);
        ASSERT_THAT(std::string(text_of(frame)), testing::Not(EndsWith("one of mine")));
    } while (!text_of(frame).ends_with("two of mine"));
    const auto refused = ring->set_filter(std::string("udp prot 4791"));
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().text(), HasSubstr("lo: the capture filter `udp prot 4791` is not valid"));
    EXPECT_THAT(ring->interfaces().front().filter, HasSubstr("tcp port 7174"));
    ASSERT_TRUE(ring->set_snaplen(44).ok());
    const std::string three(100, '3');
    send(4791, three);
    do ASSERT_EQ(wait_for_frame(*ring, frame), ReadStatus::frame);
    while (frame.wire_length != 142);
    EXPECT_THAT(std::string(text_of(frame)), EndsWith("33"));
    EXPECT_EQ(frame.bytes.size(), 44U);
}

TEST(PacketRing, no_such_interface) {
    const auto ring = PacketRing::open({.interface = "no-such-link"});
    ASSERT_FALSE(ring.ok());
    EXPECT_THAT(ring.error().text(), testing::AnyOf(HasSubstr("no-such-link: no such interface; there are: "),
                                                    HasSubstr("no permission to capture")));
}

}  // namespace
}  // namespace capture::test
