#include "iwarp/transport/tcp_probe.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace iwarp::transport {
namespace {

/// As inet_pton(3) has it.
sockaddr_in v4(const char* host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET, host, &address.sin_addr), 1);
    return address;
}

sockaddr_in6 v6(const char* host, std::uint16_t port) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET6, host, &address.sin6_addr), 1);
    return address;
}

template <class Abi>
TcpAddress of(const Abi& address) {
    return address_of(reinterpret_cast<const sockaddr*>(&address)).value();
}

bool same_octets(const TcpAddress& address, const void* expected, socklen_t size) {
    return address.size == size && std::memcmp(&address.storage, expected, size) == 0;
}

bool has_ipv6() {
    return base::Descriptor(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)) && [] {
        const base::Descriptor probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_in6 loopback = v6("::1", 0);
        return bind(probe.number(), reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
    }();
}

TEST(TcpProbe, ReadsWhatTextOfWrites) {
    const sockaddr_in four = v4("192.0.2.1", 4791);
    const auto address = address_of("192.0.2.1:4791");
    ASSERT_TRUE(address);
    EXPECT_TRUE(same_octets(*address, &four, sizeof four));
    EXPECT_EQ(text_of(*address), "192.0.2.1:4791");

    const sockaddr_in6 six = v6("2001:db8::1", 4791);
    const auto longer = address_of("[2001:db8::1]:4791");
    ASSERT_TRUE(longer);
    EXPECT_TRUE(same_octets(*longer, &six, sizeof six));
    EXPECT_EQ(text_of(*longer), "[2001:db8::1]:4791");
}

TEST(TcpProbe, RefusesWhatIsNoAddressWithAPort) {
    for (const char* text : {"", ":", "192.0.2.1", "192.0.2.1:", "192.0.2.1:65536", "192.0.2.1:-1", "192.0.2.1:80x",
                             "192.0.2.1: 80", "[2001:db8::1]"})
        EXPECT_FALSE(address_of(std::string(text))) << text;
}

TEST(TcpProbe, TakesSocketAddressesOfBothFamilies) {
    const sockaddr_in four = v4("127.0.0.1", 80);
    const sockaddr_in6 six = v6("::1", 80);
    EXPECT_TRUE(same_octets(of(four), &four, sizeof four));
    EXPECT_TRUE(same_octets(of(six), &six, sizeof six));
    EXPECT_FALSE(address_of(static_cast<const sockaddr*>(nullptr)));
    sockaddr_storage other{};
    for (const int family : {AF_UNSPEC, AF_UNIX, AF_INET + 1000}) {
        other.ss_family = static_cast<sa_family_t>(family);
        EXPECT_FALSE(address_of(reinterpret_cast<const sockaddr*>(&other))) << family;
    }
}

TEST(TcpProbe, KnowsTheAddressThatMeansAll) {
    EXPECT_TRUE(is_any(of(v4("0.0.0.0", 1))));
    EXPECT_TRUE(is_any(of(v6("::", 1))));
    EXPECT_FALSE(is_any(of(v4("0.0.0.1", 0))));
    EXPECT_FALSE(is_any(of(v6("::1", 0))));
}

TEST(TcpProbe, ComparesHostsWithoutTheirPorts) {
    EXPECT_TRUE(same_host(of(v4("192.0.2.1", 1)), of(v4("192.0.2.1", 2))));
    EXPECT_TRUE(same_host(of(v4("192.0.2.1", 1)), of(v6("::ffff:192.0.2.1", 1))));
    EXPECT_TRUE(same_host(of(v6("2001:db8::1", 1)), of(v6("2001:db8:0:0::1", 9))));
    EXPECT_FALSE(same_host(of(v4("192.0.2.1", 1)), of(v4("192.0.2.2", 1))));
    EXPECT_FALSE(same_host(of(v4("192.0.2.1", 1)), of(v6("::192.0.2.1", 1))));
    EXPECT_FALSE(same_host(of(v4("127.0.0.1", 1)), of(v6("::1", 1))));
}

TEST(TcpProbe, WritesAHostWithoutItsScope) {
    EXPECT_EQ(bare_host_text(of(v4("192.0.2.1", 80))), "192.0.2.1");
    EXPECT_EQ(bare_host_text(of(v6("2001:db8::1", 80))), "2001:db8::1");
    sockaddr_in6 local = v6("fe80::1", 80);
    local.sin6_scope_id = 1;
    EXPECT_EQ(bare_host_text(of(local)), "fe80::1");
}

TEST(TcpProbe, SetsThePortOfBothFamilies) {
    for (TcpAddress address : {of(v4("192.0.2.1", 1)), of(v6("2001:db8::1", 1))}) {
        set_port(address, 0xabcd);
        EXPECT_EQ(port_of(address), 0xabcd);
    }
    TcpAddress six = of(v6("2001:db8::1", 1));
    set_port(six, 4791);
    const sockaddr_in6 expected = v6("2001:db8::1", 4791);
    EXPECT_TRUE(same_octets(six, &expected, sizeof expected));
}

TEST(TcpProbe, AsksTheRoutingTables) {
    // Everything in 127/8 is reached from 127.0.0.1, unless that very address is this machine's own: then from itself.
    for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{4791}}) {
        const auto source = source_towards(of(v4("127.0.0.1", port)));
        ASSERT_TRUE(source);
        const sockaddr_in expected = v4("127.0.0.1", 0);
        EXPECT_TRUE(same_host(*source, of(expected)));
        EXPECT_EQ(port_of(*source), 0);
    }
    if (!has_ipv6()) return;
    const auto source = source_towards(of(v6("::1", 0)));
    ASSERT_TRUE(source);
    EXPECT_EQ(text_of(*source), "[::1]:0");
}

TEST(TcpProbe, SaysThatThereIsNoRoute) {
    errno = 0;
    EXPECT_FALSE(source_towards(of(v4("255.255.255.255", 9))));  // broadcast needs a right that it does not ask for
    EXPECT_EQ(errno, EACCES);
}

TEST(TcpProbe, ReservesAPortUntilItGoes) {
    auto held = reserve(of(v4("127.0.0.1", 0)), false);
    ASSERT_TRUE(held);
    const std::uint16_t port = port_of(held->address);
    EXPECT_NE(port, 0);
    // Another program, without SO_REUSEADDR, is refused; a listener of the transport, which sets it, is not.
    const auto bind_there = [&](bool reuse) {
        const base::Descriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const int on = 1;
        if (reuse) setsockopt(other.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        const sockaddr_in there = v4("127.0.0.1", port);
        return bind(other.number(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 ? 0 : errno;
    };
    EXPECT_EQ(bind_there(false), EADDRINUSE);
    EXPECT_EQ(bind_there(true), 0);
    held.reset();
    EXPECT_EQ(bind_there(false), 0);
}

TEST(TcpProbe, SaysWhyAnAddressCannotBeReserved) {
    errno = 0;
    EXPECT_FALSE(reserve(of(v4("192.0.2.1", 0)), false));  // RFC 5737: an address of no host
    EXPECT_EQ(errno, EADDRNOTAVAIL);
}

TEST(TcpProbe, ReservesIpv6AloneWhereAsked) {
    if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
    const auto held = reserve(of(v6("::", 0)), true);
    ASSERT_TRUE(held);
    const base::Descriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in four = v4("0.0.0.0", port_of(held->address));
    EXPECT_EQ(bind(other.number(), reinterpret_cast<const sockaddr*>(&four), sizeof four), 0) << std::strerror(errno);
}

}  // namespace
}  // namespace iwarp::transport
