#include "capture/filter/rdma_filter.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <fmt/core.h>
#include <pcap/pcap.h>
#include <span>
#include <utility>

#include "wire/ether_type.h"
#include "wire/ip_protocol.h"
#include "wire/udp_port.h"

namespace capture::inline filter {
namespace {

namespace ether_type = wire::ether_type;
namespace ip_protocol = wire::ip_protocol;

constexpr std::uint16_t load_octet = BPF_LD | BPF_B | BPF_IND;  // at X + k
constexpr std::uint16_t load_half = BPF_LD | BPF_H | BPF_IND;
constexpr std::uint16_t load_word = BPF_LD | BPF_W | BPF_IND;
constexpr std::uint16_t equal = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t greater = BPF_JMP | BPF_JGT | BPF_K;
constexpr std::uint16_t greater_than_x = BPF_JMP | BPF_JGT | BPF_X;
constexpr std::uint16_t at_least = BPF_JMP | BPF_JGE | BPF_K;
constexpr std::uint16_t any_bit = BPF_JMP | BPF_JSET | BPF_K;

constexpr std::uint32_t mpa_first_word = 0x4d50'4120;   // "MPA "
constexpr std::uint32_t mpa_second_word = 0x4944'2052;  // "ID R", of a Request and of a Reply
constexpr std::uint32_t syn = 0x02;
constexpr std::uint32_t icmp_header = 8;

class Assembler {
public:
    using Label = std::size_t;

    explicit Assembler(std::uint32_t snaplen) : snaplen_(snaplen) {}

    Label label() {
        places_.push_back(0);
        return places_.size() - 1;
    }
    void place(Label label) { places_[label] = code_.size(); }

    void op(unsigned code, std::uint32_t k = 0) { code_.push_back({static_cast<std::uint16_t>(code), 0, 0, k}); }
    void go(Label to) {
        jumps_.push_back({code_.size(), to, Jump::When::always});
        op(BPF_JMP | BPF_JA);
    }
    /// To `to` or on; not further than 255 instructions.
    void go_if(std::uint16_t test, std::uint32_t k, Label to) {
        jumps_.push_back({code_.size(), to, Jump::When::so});
        op(test, k);
    }
    void go_unless(std::uint16_t test, std::uint32_t k, Label to) {
        jumps_.push_back({code_.size(), to, Jump::When::not_so});
        op(test, k);
    }
    void pass() { pass(snaplen_); }
    void pass(std::uint32_t octets) { op(BPF_RET | BPF_K, octets); }
    void drop() { op(BPF_RET | BPF_K, 0); }
    void pass_if(std::uint16_t test, std::uint32_t k) {
        code_.push_back({test, 0, 1, k});
        pass();
    }
    void drop_if(std::uint16_t test, std::uint32_t k) {
        code_.push_back({test, 0, 1, k});
        drop();
    }
    void drop_unless(std::uint16_t test, std::uint32_t k) {
        code_.push_back({test, 1, 0, k});
        drop();
    }
    void x_is_a() { op(BPF_MISC | BPF_TAX); }
    void add_to_x(std::uint32_t k) {
        op(BPF_MISC | BPF_TXA);
        op(BPF_ALU | BPF_ADD | BPF_K, k);
        x_is_a();
    }
    void keep() { op(BPF_ST, 0); }
    void recall() { op(BPF_LD | BPF_MEM, 0); }

    BpfProgram finish() && {
        for (const Jump& jump : jumps_) {
            const std::size_t distance = places_[jump.to] - jump.from - 1;
            BpfInstruction& from = code_[jump.from];
            assert(jump.when == Jump::When::always || distance <= 255);
            switch (jump.when) {
                case Jump::When::always: from.k = static_cast<std::uint32_t>(distance); break;
                case Jump::When::so: from.if_true = static_cast<std::uint8_t>(distance); break;
                case Jump::When::not_so: from.if_false = static_cast<std::uint8_t>(distance); break;
            }
        }
        return std::move(code_);
    }

private:
    struct Jump {
        enum class When : std::uint8_t { always, so, not_so };
        std::size_t from;
        Label to;
        When when;
    };
    BpfProgram code_ = {};
    std::vector<std::size_t> places_ = {};
    std::vector<Jump> jumps_ = {};
    std::uint32_t snaplen_;
};

/// Passes where A is one of `ports`, ascending, by halving; else goes to `otherwise`.
void pass_ports(Assembler& code, std::span<const std::uint16_t> ports, Assembler::Label otherwise) {
    constexpr std::size_t few = 4;
    if (ports.size() <= few) {
        for (const std::uint16_t port : ports) code.pass_if(equal, port);
        code.go(otherwise);
        return;
    }
    const auto lower = ports.first(ports.size() / 2);
    const Assembler::Label upper = code.label();
    code.go_if(greater, lower.back(), upper);
    pass_ports(code, lower, otherwise);
    code.place(upper);
    pass_ports(code, ports.subspan(lower.size()), otherwise);
}

/// X becomes where the network header is; A its EtherType.
void step_over_tags(Assembler& code) {
    const Assembler::Label dispatch = code.label();
    constexpr std::uint32_t type_at = 12;
    constexpr std::uint32_t tag = 4;
    for (std::uint32_t tags = 0;; ++tags) {
        code.op(BPF_LDX | BPF_W | BPF_IMM, type_at + 2 + tags * tag);
        code.op(BPF_LD | BPF_H | BPF_ABS, type_at + tags * tag);
        if (tags == 2) break;
        const Assembler::Label tagged = code.label();
        for (const std::uint16_t type : {ether_type::vlan, ether_type::qinq, ether_type::qinq_old})
            code.go_if(equal, type, tagged);
        code.go(dispatch);
        code.place(tagged);
    }
    code.place(dispatch);
}

/// From the IP header at X to the transport header at X, its protocol kept.
void step_over_ipv4(Assembler& code, Assembler::Label transport) {
    code.op(load_half, 6);
    code.drop_if(any_bit, 0x1fff);  // not the first piece of its datagram: it has no ports
    code.op(load_octet, 9);
    code.keep();
    code.op(load_octet, 0);
    code.op(BPF_ALU | BPF_AND | BPF_K, 0x0f);
    code.op(BPF_ALU | BPF_LSH | BPF_K, 2);
    code.op(BPF_ALU | BPF_ADD | BPF_X);
    code.x_is_a();
    code.go(transport);
}

void step_over_ipv6(Assembler& code, Assembler::Label transport) {
    const Assembler::Label extension = code.label();
    const Assembler::Label fragment = code.label();
    code.op(load_octet, 6);
    code.keep();
    code.add_to_x(40);
    code.recall();
    code.go_if(equal, ip_protocol::fragment, fragment);
    for (const std::uint8_t next : {ip_protocol::hop_by_hop, ip_protocol::routing, ip_protocol::destination_options})
        code.go_if(equal, next, extension);
    code.go(transport);

    code.place(extension);  // RFC 8200 section 4: next header, length in units of 8 bytes without the first
    code.op(load_octet, 0);
    code.keep();
    code.op(load_octet, 1);
    code.op(BPF_ALU | BPF_LSH | BPF_K, 3);
    code.op(BPF_ALU | BPF_ADD | BPF_K, 8);
    code.op(BPF_ALU | BPF_ADD | BPF_X);
    code.x_is_a();
    code.recall();
    code.go_if(equal, ip_protocol::fragment, fragment);
    code.go(transport);

    code.place(fragment);
    code.op(load_half, 2);
    code.drop_if(any_bit, 0xfff8);
    code.op(load_octet, 0);
    code.keep();
    code.add_to_x(8);
    code.go(transport);
}

/// An ICMP message at X: of an error, X becomes where the quoted IP header is; others are dropped. RFC 792.
void enter_icmp(Assembler& code) {
    constexpr std::array<std::uint32_t, 4> errors{3, 4, 11, 12};
    const Assembler::Label error = code.label();
    code.op(load_octet, 0);
    for (const std::uint32_t type : errors) code.go_if(equal, type, error);
    code.drop();
    code.place(error);
    code.add_to_x(icmp_header);
}

/// RFC 4443, 2.1: the types of errors are below 128.
void enter_icmpv6(Assembler& code) {
    code.op(load_octet, 0);
    code.drop_if(at_least, 128);
    code.add_to_x(icmp_header);
}

/// What an error quotes: the transport header at X, its protocol kept.
void judge_quoted(Assembler& code) {
    code.recall();
    code.pass_if(equal, ip_protocol::tcp);
    code.drop_unless(equal, ip_protocol::udp);
    code.op(load_half, 2);
    code.pass_if(equal, wire::udp_port::roce);
    code.op(load_half, 0);
    code.pass_if(equal, wire::udp_port::roce);
    code.drop();
}

void judge_tcp(Assembler& code, const RdmaFilter& filter) {
    std::vector<std::uint16_t> ports = filter.tcp_ports;
    std::sort(ports.begin(), ports.end());
    ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
    if (filter.all_tcp || ports.size() > max_filtered_ports) return code.pass();
    code.op(load_octet, 13);
    code.pass_if(any_bit, syn);
    for (const std::uint32_t port_at : {0U, 2U}) {
        if (ports.empty()) break;
        const Assembler::Label other = code.label();
        code.op(load_half, port_at);
        pass_ports(code, ports, other);
        code.place(other);
    }
    code.op(load_octet, 12);
    code.op(BPF_ALU | BPF_RSH | BPF_K, 2);
    code.op(BPF_ALU | BPF_AND | BPF_K, 0x3c);
    code.op(BPF_ALU | BPF_ADD | BPF_X);
    code.x_is_a();
    code.op(load_word, 0);  // where the segment ends before it, the program ends, too, and drops it
    code.drop_unless(equal, mpa_first_word);
    code.op(load_word, 4);
    code.drop_unless(equal, mpa_second_word);
    code.pass();
}

/// Continues if the frame has this number of bytes from X on: a load beyond the end would drop the frame.
void go_unless_there(Assembler& code, std::uint32_t octets, Assembler::Label otherwise) {
    code.op(BPF_LD | BPF_W | BPF_LEN);
    code.go_unless(greater_than_x, 0, otherwise);
    code.op(BPF_ALU | BPF_SUB | BPF_X);
    code.go_unless(at_least, octets, otherwise);
}

/// Sets A to the EtherType after up to two tags, and X to the beginning of the network header.
void find_network(Assembler& code, Assembler::Label otherwise) {
    const Assembler::Label found = code.label();
    for (std::uint32_t tags = 0;; ++tags) {
        code.op(BPF_LDX | BPF_W | BPF_IMM, 12 + tags * 4);
        go_unless_there(code, 2, otherwise);
        code.op(load_half, 0);
        if (tags == 2) break;
        const Assembler::Label tagged = code.label();
        for (const std::uint16_t type : {ether_type::vlan, ether_type::qinq, ether_type::qinq_old})
            code.go_if(equal, type, tagged);
        code.go(found);
        code.place(tagged);
    }
    code.place(found);
    code.keep();
    code.add_to_x(2);
    code.recall();
}

/// Continues if the packet whose BTH begins `bth_at` after X is for queue pair 1.
void go_unless_management(Assembler& code, std::uint32_t bth_at, Assembler::Label otherwise) {
    go_unless_there(code, bth_at + 8, otherwise);
    code.op(load_word, bth_at + 4);  // 8 reserved bits, 24 of the destination
    code.op(BPF_ALU | BPF_AND | BPF_K, 0x00ff'ffff);
    code.go_unless(equal, 1, otherwise);
}

/// Returns how much is kept of a frame that is to be kept.
BpfProgram judge_length(wire::LinkType link_type, std::uint32_t snaplen, std::uint32_t least) {
    Assembler code(snaplen);
    const Assembler::Label ipv4 = code.label();
    const Assembler::Label ipv6 = code.label();
    const Assembler::Label udp = code.label();
    const Assembler::Label roce = code.label();
    const Assembler::Label roce_v1 = code.label();
    const Assembler::Label management = code.label();
    const Assembler::Label other = code.label();
    if (link_type == wire::LinkType::ethernet) {
        find_network(code, other);
        code.go_if(equal, ether_type::ipv4, ipv4);
        code.go_if(equal, ether_type::ipv6, ipv6);
        code.go_if(equal, ether_type::roce, roce_v1);
    } else {
        code.op(BPF_LDX | BPF_W | BPF_IMM, 0);
        go_unless_there(code, 1, other);
        code.op(load_octet, 0);
        code.op(BPF_ALU | BPF_AND | BPF_K, 0xf0);
        code.go_if(equal, 0x40, ipv4);
        code.go_if(equal, 0x60, ipv6);
    }
    code.go(other);

    code.place(ipv4);
    go_unless_there(code, 20, other);
    code.op(load_half, 6);
    code.go_if(any_bit, 0x1fff, other);  // not the first piece of its datagram
    code.op(load_octet, 9);
    code.go_unless(equal, ip_protocol::udp, other);
    code.op(load_octet, 0);
    code.op(BPF_ALU | BPF_AND | BPF_K, 0x0f);
    code.op(BPF_ALU | BPF_LSH | BPF_K, 2);
    code.op(BPF_ALU | BPF_ADD | BPF_X);
    code.x_is_a();
    code.go(udp);

    code.place(ipv6);
    go_unless_there(code, 40, other);
    code.op(load_octet, 6);
    code.go_unless(equal, ip_protocol::udp, other);
    code.add_to_x(40);

    code.place(udp);
    go_unless_there(code, 8, other);
    code.op(load_half, 2);
    code.go_if(equal, wire::udp_port::roce, roce);
    code.op(load_half, 0);
    code.go_unless(equal, wire::udp_port::roce, other);
    code.place(roce);
    go_unless_management(code, 8, other);
    code.go(management);

    code.place(roce_v1);  // a GRH, always
    go_unless_management(code, 40, other);
    code.place(management);
    code.pass(least);
    code.place(other);
    code.pass();
    return std::move(code).finish();
}

}  // namespace

BpfProgram keep_management(BpfProgram program, wire::LinkType link_type, std::uint32_t snaplen, std::uint32_t least) {
    if (snaplen >= least) return program;
    const BpfProgram judge = judge_length(link_type, snaplen, least);
    const std::size_t length = program.size();
    if (length + judge.size() > bpf_longest) return program;
    for (std::size_t i = 0; i < length; ++i)
        if (program[i].code == (BPF_RET | BPF_K) && program[i].k != 0)
            program[i] = {BPF_JMP | BPF_JA, 0, 0, static_cast<std::uint32_t>(length - i - 1)};
    program.insert(program.end(), judge.begin(), judge.end());
    return program;
}

BpfProgram compile(const RdmaFilter& filter, wire::LinkType link_type, std::uint32_t snaplen) {
    Assembler code(snaplen);
    const Assembler::Label ipv4 = code.label();
    const Assembler::Label ipv6 = code.label();
    const Assembler::Label transport = code.label();
    const Assembler::Label tcp = code.label();
    const Assembler::Label icmp = code.label();
    const Assembler::Label icmpv6 = code.label();
    const Assembler::Label quoted = code.label();
    if (link_type == wire::LinkType::ethernet) {
        step_over_tags(code);
        code.go_if(equal, ether_type::ipv4, ipv4);
        code.go_if(equal, ether_type::ipv6, ipv6);
        code.pass_if(equal, ether_type::roce);
        code.pass_if(equal, ether_type::mac_control);
    } else {
        code.op(BPF_LDX | BPF_W | BPF_IMM, 0);
        code.op(load_octet, 0);
        code.op(BPF_ALU | BPF_AND | BPF_K, 0xf0);
        code.go_if(equal, 0x40, ipv4);
        code.go_if(equal, 0x60, ipv6);
    }
    code.drop();
    code.place(ipv4);
    step_over_ipv4(code, transport);
    code.place(ipv6);
    step_over_ipv6(code, transport);

    code.place(transport);
    code.recall();
    code.go_if(equal, ip_protocol::tcp, tcp);
    code.go_if(equal, ip_protocol::icmp, icmp);
    code.go_if(equal, ip_protocol::icmpv6, icmpv6);
    code.drop_unless(equal, ip_protocol::udp);
    code.op(load_half, 2);
    code.pass_if(equal, wire::udp_port::roce);
    code.op(load_half, 0);
    code.pass_if(equal, wire::udp_port::roce);
    code.drop();
    code.place(icmp);
    enter_icmp(code);
    step_over_ipv4(code, quoted);
    code.place(icmpv6);
    enter_icmpv6(code);
    step_over_ipv6(code, quoted);
    code.place(quoted);
    judge_quoted(code);
    code.place(tcp);
    judge_tcp(code, filter);
    return std::move(code).finish();
}

std::string text_of(const RdmaFilter& filter) {
    std::string text =
        "udp port 4791 or ether proto 0x8915 or ether proto 0x8808"
        " or ((icmp[0] = 3 or icmp[0] = 4 or icmp[0] = 11 or icmp[0] = 12)"
        " and (icmp[17] = 6 or (icmp[17] = 17 and (icmp[28:2] = 4791 or icmp[30:2] = 4791))))"
        " or (icmp6 and ip6[40] < 128"
        " and (ip6[54] = 6 or (ip6[54] = 17 and (ip6[88:2] = 4791 or ip6[90:2] = 4791))))";
    if (filter.all_tcp || filter.tcp_ports.size() > max_filtered_ports) return text + " or tcp";
    text += " or tcp[tcpflags] & tcp-syn != 0";
    for (const std::uint16_t port : filter.tcp_ports) text += fmt::format(" or tcp port {}", port);
    return text +
           " or (tcp[(tcp[12] & 0xf0) >> 2 : 4] = 0x4d504120 and tcp[((tcp[12] & 0xf0) >> 2) + 4 : 4] = 0x49442052)";
}

}  // namespace capture::filter
