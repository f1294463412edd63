#include "capture/filter/rdma_filter.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <random>
#include <set>
#include <sys/socket.h>

#include "support.h"
#include "tests/support/pcaps.h"

namespace capture::test {
namespace {

constexpr std::uint32_t snaplen = 192;

bool passes(const BpfProgram& program, const std::string& octets) {
    const std::uint32_t kept =
        run(program, std::as_bytes(std::span(octets)), static_cast<std::uint32_t>(octets.size()));
    EXPECT_TRUE(kept == 0 || kept == snaplen) << kept;
    return kept != 0;
}
bool passes(const RdmaFilter& filter, const std::string& octets) {
    return passes(compile(filter, wire::LinkType::ethernet, snaplen), octets);
}

std::string ethernet(unsigned type, const std::string& payload) {
    return std::string(12, '\2') + Maker(true).u16(type).str() + payload;
}
std::string tagged(const std::string& frame, std::initializer_list<unsigned> types) {
    std::string tags;
    for (const unsigned type : types) tags += Maker(true).u16(type).u16(0x6005).str();
    return frame.substr(0, 12) + tags + frame.substr(12);
}
std::string ipv4(unsigned protocol, const std::string& payload, unsigned fragment = 0, unsigned options = 0) {
    Maker header(true);
    header.u8(0x45 + options).u8(0).u16(static_cast<unsigned>(20 + 4 * options + payload.size())).u16(1).u16(fragment);
    header.u8(64).u8(protocol).u16(0).u32(0x0a000001).u32(0x0a000002).text(std::string(4 * options, '\1'));
    return header.str() + payload;
}
std::string ipv6(unsigned next, const std::string& payload) {
    return Maker(true).u32(0x60000000).u16(static_cast<unsigned>(payload.size())).u8(next).u8(64).str() +
           std::string(32, '\3') + payload;
}
std::string udp(unsigned source, unsigned destination) {
    return Maker(true).u16(source).u16(destination).u16(28).u16(0).text(std::string(20, '\0')).str();
}
std::string tcp(unsigned source, unsigned destination, unsigned flags = 0x10, const std::string& payload = {},
                unsigned options = 0) {
    Maker header(true);
    header.u16(source).u16(destination).u32(1).u32(2).u8((5 + options) << 4).u8(flags).u16(100).u32(0);
    return header.text(std::string(4 * options, '\1')).str() + payload;
}

std::string error(unsigned type, unsigned code, const std::string& quoted) {
    return Maker(true).u8(type).u8(code).u16(0).u32(0).str() + quoted;
}

constexpr std::string_view mpa_request_key = "MPA ID Req Frame";
constexpr std::string_view mpa_reply_key = "MPA ID Rep Frame";

struct FilterCase {
    std::string name;
    std::string frame;
    bool passes;
};

/// Frames with what annex A17 of the InfiniBand specification, RFC 5044 and rdma_filter.h make of them; ports: 7174.
std::vector<FilterCase> cases() {
    const std::string start(mpa_request_key);
    return {
        {"RoCEv2", ethernet(0x0800, ipv4(17, udp(49152, 4791))), true},
        {"RoCEv2 from its port", ethernet(0x0800, ipv4(17, udp(4791, 1000))), true},
        {"RoCEv2, IPv4 options", ethernet(0x0800, ipv4(17, udp(49152, 4791), 0, 3)), true},
        {"RoCEv2, don't fragment", ethernet(0x0800, ipv4(17, udp(49152, 4791), 0x4000)), true},
        {"RoCEv2, first fragment", ethernet(0x0800, ipv4(17, udp(49152, 4791), 0x2000)), true},
        {"later fragment", ethernet(0x0800, ipv4(17, udp(49152, 4791), 0x2010)), false},
        {"last fragment", ethernet(0x0800, ipv4(17, udp(49152, 4791), 0x0010)), false},
        {"RoCEv2, IPv6", ethernet(0x86dd, ipv6(17, udp(49152, 4791))), true},
        {"RoCEv2, IPv6 hop-by-hop",
         ethernet(0x86dd, ipv6(0, std::string("\x11\x01", 2) + std::string(14, '\0') + udp(1, 4791))), true},
        {"RoCEv2, IPv6 first fragment",
         ethernet(0x86dd, ipv6(44, std::string("\x11\0\0\x01\0\0\0\1", 8) + udp(1, 4791))), true},
        {"RoCEv2, IPv6 later fragment",
         ethernet(0x86dd, ipv6(44, std::string("\x11\0\0\x09\0\0\0\1", 8) + udp(1, 4791))), false},
        {"DNS", ethernet(0x0800, ipv4(17, udp(40000, 53))), false},
        {"DNS, IPv6", ethernet(0x86dd, ipv6(17, udp(40000, 53))), false},
        {"VXLAN", ethernet(0x0800, ipv4(17, udp(40000, 4789))), false},
        {"RoCEv1", ethernet(0x8915, std::string(60, '\0')), true},
        {"pause", ethernet(0x8808, std::string("\0\1\0\7", 4) + std::string(42, '\0')), true},
        {"ARP", ethernet(0x0806, std::string(46, '\0')), false},
        {"LLDP", ethernet(0x88cc, std::string(46, '\0')), false},
        {"ICMP", ethernet(0x0800, ipv4(1, std::string(32, '\0'))), false},
        {"802.3 length", ethernet(46, std::string(46, '\0')), false},
        {"SSH", ethernet(0x0800, ipv4(6, tcp(50000, 22, 0x18, "SSH-2.0-OpenSSH_9.2\r\n"))), false},
        {"SSH, its SYN", ethernet(0x0800, ipv4(6, tcp(50000, 22, 0x02))), true},
        {"SSH, its SYN ACK", ethernet(0x0800, ipv4(6, tcp(22, 50000, 0x12))), true},
        {"SSH, its FIN", ethernet(0x0800, ipv4(6, tcp(22, 50000, 0x11))), false},
        {"port known, destination", ethernet(0x0800, ipv4(6, tcp(50000, 7174))), true},
        {"port known, source", ethernet(0x0800, ipv4(6, tcp(7174, 50000))), true},
        {"port known, IPv6", ethernet(0x86dd, ipv6(6, tcp(50000, 7174))), true},
        {"port known, IPv4 options", ethernet(0x0800, ipv4(6, tcp(50000, 7174), 0, 2)), true},
        {"port beside", ethernet(0x0800, ipv4(6, tcp(50000, 7175))), false},
        {"Request", ethernet(0x0800, ipv4(6, tcp(50000, 5001, 0x18, start))), true},
        {"Request behind options", ethernet(0x0800, ipv4(6, tcp(50000, 5001, 0x18, start, 8), 0, 1)), true},
        {"Reply", ethernet(0x0800, ipv4(6, tcp(5001, 50000, 0x18, std::string(mpa_reply_key)))), true},
        {"Reply, IPv6", ethernet(0x86dd, ipv6(6, tcp(5001, 50000, 0x18, std::string(mpa_reply_key)))), true},
        {"not quite a Request", ethernet(0x0800, ipv4(6, tcp(50000, 5001, 0x18, "MPA IT Req Frame"))), false},
        {"a Request's text later", ethernet(0x0800, ipv4(6, tcp(50000, 5001, 0x18, " " + start))), false},
        {"port unreachable, RoCEv2", ethernet(0x0800, ipv4(1, error(3, 3, ipv4(17, udp(49152, 4791))))), true},
        {"port unreachable, from RoCEv2", ethernet(0x0800, ipv4(1, error(3, 3, ipv4(17, udp(4791, 1000))))), true},
        {"fragmentation needed, quoted options",
         ethernet(0x0800, ipv4(1, error(3, 4, ipv4(17, udp(49152, 4791), 0x4000, 3)), 0, 2)), true},
        {"time exceeded, RoCEv2", ethernet(0x0800, ipv4(1, error(11, 0, ipv4(17, udp(49152, 4791))))), true},
        {"parameter problem, RoCEv2", ethernet(0x0800, ipv4(1, error(12, 0, ipv4(17, udp(49152, 4791))))), true},
        {"source quench, TCP", ethernet(0x0800, ipv4(1, error(4, 0, ipv4(6, tcp(50000, 5001))))), true},
        {"port unreachable, TCP", ethernet(0x0800, ipv4(1, error(3, 3, ipv4(6, tcp(50000, 5001, 2))))), true},
        {"port unreachable, 8 bytes of TCP",
         ethernet(0x0800, ipv4(1, error(3, 3, ipv4(6, tcp(50000, 5001, 2)).substr(0, 28)))), true},
        {"port unreachable, DNS", ethernet(0x0800, ipv4(1, error(3, 3, ipv4(17, udp(40000, 53))))), false},
        {"port unreachable, later fragment", ethernet(0x0800, ipv4(1, error(3, 3, ipv4(17, udp(49152, 4791), 0x0010)))),
         false},
        {"port unreachable, an error", ethernet(0x0800, ipv4(1, error(3, 3, ipv4(1, udp(49152, 4791))))), false},
        {"redirect", ethernet(0x0800, ipv4(1, error(5, 1, ipv4(17, udp(49152, 4791))))), false},
        {"echo", ethernet(0x0800, ipv4(1, error(8, 0, ipv4(17, udp(49152, 4791))))), false},
        {"ICMPv6 unreachable, RoCEv2", ethernet(0x86dd, ipv6(58, error(1, 4, ipv6(17, udp(49152, 4791))))), true},
        {"ICMPv6 too big, RoCEv2", ethernet(0x86dd, ipv6(58, error(2, 0, ipv6(17, udp(49152, 4791))))), true},
        {"ICMPv6 time exceeded, hop-by-hop quoted",
         ethernet(0x86dd,
                  ipv6(58, error(3, 0, ipv6(0, std::string("\x11\x01", 2) + std::string(14, '\0') + udp(1, 4791))))),
         true},
        {"ICMPv6 unreachable, TCP", ethernet(0x86dd, ipv6(58, error(1, 1, ipv6(6, tcp(50000, 5001, 2))))), true},
        {"ICMPv6 unreachable, DNS", ethernet(0x86dd, ipv6(58, error(1, 4, ipv6(17, udp(40000, 53))))), false},
        {"ICMPv6 echo", ethernet(0x86dd, ipv6(58, error(128, 0, ipv6(17, udp(49152, 4791))))), false},
        {"neighbour advertisement", ethernet(0x86dd, ipv6(58, error(136, 0, std::string(24, '\3')))), false},
        {"GRE", ethernet(0x0800, ipv4(47, std::string(60, '\0'))), false},
    };
}

TEST(RdmaFilter, passes_rdma_and_nothing_else) {
    const RdmaFilter filter{.tcp_ports = {7174}};
    for (const FilterCase& each : cases()) EXPECT_EQ(passes(filter, each.frame), each.passes) << each.name;
}

TEST(RdmaFilter, tags_are_stepped_over) {
    const BpfProgram program = compile({.tcp_ports = {7174}}, wire::LinkType::ethernet, snaplen);
    for (const FilterCase& each : cases()) {
        EXPECT_EQ(passes(program, tagged(each.frame, {0x8100})), each.passes) << each.name;
        EXPECT_EQ(passes(program, tagged(each.frame, {0x88a8, 0x8100})), each.passes) << each.name;
        EXPECT_EQ(passes(program, tagged(each.frame, {0x9100, 0x8100})), each.passes) << each.name;
        EXPECT_FALSE(passes(program, tagged(each.frame, {0x88a8, 0x88a8, 0x8100}))) << each.name;
    }
}

TEST(RdmaFilter, raw_ip_begins_with_the_ip_header) {
    const BpfProgram program = compile({.tcp_ports = {7174}}, wire::LinkType::raw, snaplen);
    for (const FilterCase& each : cases()) {
        const std::string type = each.frame.substr(12, 2);
        const bool ip = type == std::string("\x08\0", 2) || type == "\x86\xdd";
        if (ip) {
            EXPECT_EQ(passes(program, each.frame.substr(14)), each.passes) << each.name;
        }
    }
}

TEST(RdmaFilter, cut_frames_pass_only_where_what_counts_is_there) {
    const BpfProgram program = compile({.tcp_ports = {7174}}, wire::LinkType::ethernet, snaplen);
    for (const FilterCase& each : cases())
        for (std::size_t size = 0; size < each.frame.size(); ++size)
            if (passes(program, each.frame.substr(0, size))) {
                EXPECT_TRUE(each.passes) << each.name << " cut to " << size;
            }
    EXPECT_TRUE(passes(program, ethernet(0x0800, ipv4(6, tcp(1, 7174))).substr(0, 54)));
}

TEST(RdmaFilter, all_tcp) {
    EXPECT_TRUE(passes(RdmaFilter{.all_tcp = true}, ethernet(0x0800, ipv4(6, tcp(50000, 22)))));
    EXPECT_TRUE(passes(RdmaFilter{.all_tcp = true}, ethernet(0x86dd, ipv6(6, tcp(50000, 22)))));
    EXPECT_FALSE(passes(RdmaFilter{.all_tcp = true}, ethernet(0x0800, ipv4(17, udp(50000, 53)))));
}

TEST(RdmaFilter, every_port_of_any_set_and_no_other) {
    std::mt19937 random(7);
    for (const std::size_t count : {0U, 1U, 4U, 5U, 9U, 33U, 63U, 64U}) {
        RdmaFilter filter;
        std::set<std::uint16_t> ports;
        while (ports.size() < count) ports.insert(static_cast<std::uint16_t>(random()));
        if (count > 3) ports.insert({0});
        while (ports.size() > count) ports.erase(std::next(ports.begin()));
        filter.tcp_ports.assign(ports.begin(), ports.end());
        std::shuffle(filter.tcp_ports.begin(), filter.tcp_ports.end(), random);
        const BpfProgram program = compile(filter, wire::LinkType::ethernet, snaplen);
        const std::uint16_t other = ports.contains(22) ? 23 : 22;
        int wrong = 0;
        for (unsigned port = 0; port < 65536; ++port) {
            const bool known = ports.contains(static_cast<std::uint16_t>(port));
            wrong += passes(program, ethernet(0x0800, ipv4(6, tcp(port, other)))) != known ? 1 : 0;
            wrong += passes(program, ethernet(0x0800, ipv4(6, tcp(other, port)))) != known ? 1 : 0;
        }
        EXPECT_EQ(wrong, 0) << count << " ports";
    }
}

TEST(RdmaFilter, too_many_ports_pass_all_tcp) {
    RdmaFilter filter;
    for (std::uint16_t port = 1000; filter.tcp_ports.size() <= max_filtered_ports; ++port)
        filter.tcp_ports.push_back(port);
    EXPECT_TRUE(passes(filter, ethernet(0x0800, ipv4(6, tcp(50000, 22)))));
    EXPECT_THAT(text_of(filter), testing::EndsWith(" or tcp"));
}

std::uint32_t kept(const BpfProgram& program, const std::string& octets) {
    return run(program, std::as_bytes(std::span(octets)), static_cast<std::uint32_t>(octets.size()));
}
std::string bth(unsigned destination) {
    return Maker(true).u32(0x64400000).u32(destination).u32(1).text(std::string(300, '\0')).str();
}
std::string udp_with(unsigned destination_port, const std::string& payload) {
    return Maker(true).u16(49152).u16(destination_port).u16(0).u16(0).str() + payload;
}

/// RoCE v1 and v2 to queue pair 1; the 8 bits next to its number are reserved. IBTA vol. 1, 9.2 and annex A17.
TEST(RdmaFilter, management_is_kept_and_nothing_else_is_longer) {
    const auto program = [](const RdmaFilter& filter) {
        return keep_management(compile(filter, wire::LinkType::ethernet, snaplen), wire::LinkType::ethernet, snaplen);
    };
    const BpfProgram ours = program({.tcp_ports = {7174}});
    const std::vector<std::pair<std::string, std::uint32_t>> frames{
        {ethernet(0x0800, ipv4(17, udp_with(4791, bth(1)))), management_octets},
        {ethernet(0x0800, ipv4(17, udp_with(4791, bth(0xff000001)))), management_octets},
        {ethernet(0x0800, ipv4(17, udp_with(4791, bth(1)), 0, 3)), management_octets},
        {ethernet(0x0800, ipv4(17, udp_with(4791, bth(1)), 0x2000)), management_octets},
        {ethernet(0x86dd, ipv6(17, udp_with(4791, bth(1)))), management_octets},
        {ethernet(0x8915, std::string(40, '\0') + bth(1)), management_octets},
        {ethernet(0x0800, ipv4(17, udp_with(4791, bth(0x010001)))), snaplen},
        {ethernet(0x0800, ipv4(17, udp_with(4791, bth(17)))), snaplen},
        {ethernet(0x86dd, ipv6(17, udp_with(4791, bth(0)))), snaplen},
        {ethernet(0x8915, std::string(40, '\0') + bth(2)), snaplen},
        {ethernet(0x0800, ipv4(6, tcp(50000, 7174, 0x18, bth(1)))), snaplen},
        {ethernet(0x0800, ipv4(17, udp_with(4789, bth(1)))), 0},
    };
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const auto& [frame, expected] = frames[i];
        EXPECT_EQ(kept(ours, frame), expected) << i;
        EXPECT_EQ(kept(ours, tagged(frame, {0x8100})), expected) << i;
        EXPECT_EQ(kept(ours, tagged(frame, {0x88a8, 0x8100})), expected) << i;
    }
}

/// Whatever the program is, and wherever a frame ends.
TEST(RdmaFilter, a_frame_that_passes_is_not_dropped_for_its_length) {
    std::vector<std::string> frames;
    for (const FilterCase& each : cases()) frames.push_back(each.frame);
    for (const std::string& payload : {bth(1), bth(2)}) {
        frames.push_back(ethernet(0x0800, ipv4(17, udp_with(4791, payload), 0, 10)));
        frames.push_back(ethernet(0x86dd, ipv6(17, udp_with(4791, payload))));
        frames.push_back(ethernet(0x8915, std::string(40, '\0') + payload));
        frames.push_back(tagged(frames[frames.size() - 3], {0x88a8, 0x8100}));
    }
    for (const auto link_type : {wire::LinkType::ethernet, wire::LinkType::raw}) {
        for (const BpfProgram& given :
             {compile({.tcp_ports = {7174}}, link_type, snaplen), *compile_for_socket("", {}, link_type, snaplen),
              *compile_for_socket("len > 60", {}, link_type, snaplen)}) {
            const BpfProgram ours = keep_management(given, link_type, snaplen);
            for (const std::string& frame : frames)
                for (std::size_t size = 0; size <= frame.size(); ++size)
                    for (const std::size_t from : {std::size_t{0}, std::size_t{14}}) {
                        if (from > size) continue;
                        const std::string cut = frame.substr(from, size - from);
                        const std::uint32_t before = kept(given, cut);
                        const std::uint32_t now = kept(ours, cut);
                        ASSERT_TRUE(now == before || (before == snaplen && now == management_octets))
                            << before << " became " << now << " at " << cut.size();
                    }
        }
    }
    const BpfProgram whole = compile({}, wire::LinkType::ethernet, 1000);
    EXPECT_EQ(keep_management(whole, wire::LinkType::ethernet, 1000), whole) << "more is kept already";
}

/// The kernel checks every program before it takes it; any socket will do.
TEST(RdmaFilter, the_kernel_takes_it) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(socket, 0);
    for (const std::size_t count : {0U, 1U, 17U, 64U}) {
        RdmaFilter filter;
        for (std::size_t i = 0; i < count; ++i) filter.tcp_ports.push_back(static_cast<std::uint16_t>(5000 + 3 * i));
        for (const auto link_type : {wire::LinkType::ethernet, wire::LinkType::raw}) {
            const BpfProgram program = compile(filter, link_type, snaplen);
            const auto attached = attach(socket, program);
            EXPECT_TRUE(attached.ok()) << count << " ports: " << (attached.ok() ? "" : attached.error().text());
            EXPECT_TRUE(attach(socket, without_leaving(program)).ok());
            const BpfProgram longer = keep_management(program, link_type, snaplen);
            EXPECT_GT(longer.size(), program.size());
            EXPECT_TRUE(attach(socket, without_leaving(longer)).ok());
        }
    }
    const auto refused = attach(socket, {{.code = 0xffff}});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().text(), testing::HasSubstr("1 instructions"));
    EXPECT_FALSE(attach(socket, BpfProgram(bpf_longest + 1)).ok());
    ::close(socket);
}

/// The second source is libpcap's compiler: what people read in `status` is what the kernel does, on all real frames.
TEST(RdmaFilter, agrees_with_its_text_on_every_capture) {
    std::size_t frames = 0;
    std::size_t passed = 0;
    for (const RdmaFilter& filter :
         {RdmaFilter{}, RdmaFilter{.tcp_ports = {7174, 18515}}, RdmaFilter{.all_tcp = true}}) {
        const BpfProgram ours = compile(filter, wire::LinkType::ethernet, snaplen);
        const auto theirs = compile_for_socket(text_of(filter), {}, wire::LinkType::ethernet, snaplen);
        const auto no_tags = compile_for_socket(
            "not ether proto 0x8100 and not ether proto 0x88a8 and not ether proto 0x9100 and "
            "not (ip6 and (tcp or ip6[6] = 0 or ip6[6] = 44 or ip6[6] = 60))",
            {}, wire::LinkType::ethernet, snaplen);
        ASSERT_TRUE(theirs.ok()) << theirs.error().text();
        ASSERT_TRUE(no_tags.ok()) << no_tags.error().text();
        for (const auto& file : std::filesystem::directory_iterator(support::pcaps())) {
            if (file.path().native().find(".pcap") == std::string::npos) continue;
            const Contents all = read_all(file.path(), {}, 64);
            int different = 0;
            for (const Kept& frame : all.frames) {
                const auto octets = std::as_bytes(std::span(frame.bytes));
                if (frame.link_type != 1 || run(*no_tags, octets, frame.wire_length) == 0) continue;
                const bool mine = run(ours, octets, frame.wire_length) != 0;
                different += mine != (run(*theirs, octets, frame.wire_length) != 0) ? 1 : 0;
                ++frames;
                passed += mine ? 1 : 0;
            }
            EXPECT_EQ(different, 0) << file.path();
        }
    }
    EXPECT_GT(frames, 100'000U);
    EXPECT_GT(passed, 50'000U);
    EXPECT_LT(passed, frames);
}

TEST(KernelFilter, expressions) {
    const auto program = compile_for_socket("udp port 4791", {}, wire::LinkType::ethernet, snaplen);
    ASSERT_TRUE(program.ok());
    EXPECT_TRUE(passes(*program, ethernet(0x0800, ipv4(17, udp(1, 4791)))));
    EXPECT_FALSE(passes(*program, ethernet(0x0800, ipv4(17, udp(1, 4792)))));
    const auto all = compile_for_socket("", {}, wire::LinkType::raw, snaplen);
    ASSERT_TRUE(all.ok());
    EXPECT_TRUE(passes(*all, "x"));
    const auto wrong = compile_for_socket("udp port ssh-or-so", {}, wire::LinkType::ethernet, snaplen);
    ASSERT_FALSE(wrong.ok());
    EXPECT_THAT(wrong.error().text(), testing::HasSubstr("`udp port ssh-or-so` is not valid"));
}

}  // namespace
}  // namespace capture::test
