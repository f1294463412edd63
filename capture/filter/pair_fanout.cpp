#include "capture/filter/pair_fanout.h"

#include <algorithm>
#include <array>
#include <linux/if_packet.h>
#include <pcap/pcap.h>

#include "wire/ether_type.h"

namespace capture::inline filter {
namespace {

namespace ether_type = wire::ether_type;

// linux/filter.h has these, and the same macros as libpcap's header: places that are no bytes of the frame.
constexpr std::uint32_t beside_frame = static_cast<std::uint32_t>(-0x1000);
constexpr std::uint32_t ether_type_beside = beside_frame + 0;                 // SKF_AD_PROTOCOL
constexpr std::uint32_t packet_type_beside = beside_frame + 4;                // SKF_AD_PKTTYPE
constexpr std::uint32_t mac_header = static_cast<std::uint32_t>(-0x20'0000);  // SKF_LL_OFF

constexpr std::uint32_t mac_addresses = 12;
constexpr std::uint32_t tag_bytes = 4;
constexpr std::uint32_t ipv4_source = 12;
constexpr std::uint32_t ipv6_source = 8;
constexpr std::uint32_t words_of_ipv6 = 4;

// Odd numbers whose bits look random: each product spreads an address over the word.
constexpr std::uint32_t first_factor = 0x9e37'79b1;
constexpr std::uint32_t second_factor = 0x85eb'ca77;
constexpr std::uint32_t third_factor = 0xc2b2'ae3d;

/// Memory of the program. The ends are hashed from `source` and `destination`, whatever was
/// read into them.
struct Place {
    static constexpr std::uint32_t source = 0;
    static constexpr std::uint32_t destination = 1;
    static constexpr std::uint32_t words = 2;
    static constexpr std::uint32_t ether_type = words + 2 * words_of_ipv6;
};
constexpr std::array both_ends{Place::source, Place::destination};

/// Code with jumps forward to labels that are placed later.
class FanoutCode {
public:
    using Label = std::size_t;

    Label label() {
        places_.push_back(0);
        return places_.size() - 1;
    }
    void place(Label label) { places_[label] = code_.size(); }
    void op(unsigned code, std::uint32_t k = 0) { code_.push_back({static_cast<std::uint16_t>(code), 0, 0, k}); }
    void go(Label to) { jump(BPF_JMP | BPF_JA, 0, to); }
    void go_if_equal(std::uint32_t k, Label to) { jump(BPF_JMP | BPF_JEQ | BPF_K, k, to); }
    void x_is_a() { op(BPF_MISC | BPF_TAX); }
    void store(std::uint32_t place) { op(BPF_ST, place); }
    void load(std::uint32_t place) { op(BPF_LD | BPF_MEM, place); }

    BpfProgram finish() && {
        for (const auto& [from, to] : jumps_) {
            const std::size_t distance = places_[to] - from - 1;
            if (code_[from].code == (BPF_JMP | BPF_JA))
                code_[from].k = static_cast<std::uint32_t>(distance);
            else
                code_[from].if_true = static_cast<std::uint8_t>(distance);  // the whole program is shorter
        }
        return std::move(code_);
    }

private:
    void jump(unsigned code, std::uint32_t k, Label to) {
        jumps_.emplace_back(code_.size(), to);
        op(code, k);
    }
    BpfProgram code_ = {};
    std::vector<std::size_t> places_ = {};
    std::vector<std::pair<std::size_t, Label>> jumps_ = {};
};

/// A becomes the EtherType, X the place of what follows it.
void find_ether_type(FanoutCode& code) {
    const auto leaves = code.label();
    const auto found = code.label();
    code.op(BPF_LD | BPF_B | BPF_ABS, packet_type_beside);
    code.go_if_equal(PACKET_OUTGOING, leaves);
    code.op(BPF_LD | BPF_H | BPF_ABS, ether_type_beside);
    code.op(BPF_LDX | BPF_IMM, 0);
    code.go(found);
    code.place(leaves);
    code.op(BPF_LD | BPF_H | BPF_ABS, mac_addresses);
    code.op(BPF_LDX | BPF_IMM, mac_addresses + 2);
    code.place(found);
}

/// A tag holds two bytes of its own and the EtherType of what follows.
void step_over_tag(FanoutCode& code) {
    const auto tagged = code.label();
    const auto done = code.label();
    for (const std::uint32_t type : {ether_type::vlan, ether_type::qinq, ether_type::qinq_old})
        code.go_if_equal(type, tagged);
    code.go(done);
    code.place(tagged);
    code.op(BPF_LD | BPF_H | BPF_IND, 2);
    code.store(Place::ether_type);
    code.op(BPF_MISC | BPF_TXA);
    code.op(BPF_ALU | BPF_ADD | BPF_K, tag_bytes);
    code.x_is_a();
    code.load(Place::ether_type);
    code.place(done);
}

void load_ipv4(FanoutCode& code) {
    code.op(BPF_LD | BPF_W | BPF_IND, ipv4_source);
    code.store(Place::source);
    code.op(BPF_LD | BPF_W | BPF_IND, ipv4_source + 4);
    code.store(Place::destination);
}

/// The four words of an address become one. X is needed for the place of the header until all are read.
void load_ipv6(FanoutCode& code) {
    for (std::uint32_t i = 0; i < 2 * words_of_ipv6; ++i) {
        code.op(BPF_LD | BPF_W | BPF_IND, ipv6_source + 4 * i);
        code.store(Place::words + i);
    }
    for (const std::uint32_t end : both_ends) {
        code.load(Place::words + end * words_of_ipv6);
        for (std::uint32_t i = 1; i < words_of_ipv6; ++i) {
            code.op(BPF_ALU | BPF_MUL | BPF_K, first_factor);
            code.op(BPF_LDX | BPF_MEM, Place::words + end * words_of_ipv6 + i);
            code.op(BPF_ALU | BPF_XOR | BPF_X);
        }
        code.store(end);
    }
}

void load_macs(FanoutCode& code) {
    for (const std::uint32_t end : both_ends) {
        const std::uint32_t at = mac_header + (end == Place::destination ? 0 : mac_addresses / 2);
        code.op(BPF_LD | BPF_W | BPF_ABS, at);
        code.op(BPF_ALU | BPF_MUL | BPF_K, first_factor);
        code.x_is_a();
        code.op(BPF_LD | BPF_H | BPF_ABS, at + 4);
        code.op(BPF_ALU | BPF_XOR | BPF_X);
        code.store(end);
    }
}

/// A becomes the hash of the word in A, which shifts of a product mix into the low bits.
void mix(FanoutCode& code, std::uint32_t factor, std::uint32_t shift) {
    code.op(BPF_ALU | BPF_MUL | BPF_K, factor);
    code.x_is_a();
    code.op(BPF_ALU | BPF_RSH | BPF_K, shift);
    code.op(BPF_ALU | BPF_XOR | BPF_X);
}

/// A sum does not depend on the order of its two ends.
void return_ring(FanoutCode& code, unsigned rings) {
    for (const std::uint32_t end : both_ends) {
        code.load(end);
        mix(code, first_factor, 15);
        mix(code, second_factor, 13);
        code.store(end);
    }
    code.load(Place::source);
    code.op(BPF_LDX | BPF_MEM, Place::destination);
    code.op(BPF_ALU | BPF_ADD | BPF_X);
    mix(code, third_factor, 16);
    code.op(BPF_ALU | BPF_MOD | BPF_K, std::max(rings, 1U));
    code.op(BPF_RET | BPF_A);
}

}  // namespace

BpfProgram pair_fanout(wire::LinkType link_type, unsigned rings) {
    FanoutCode code;
    const auto ipv4 = code.label();
    const auto ipv6 = code.label();
    const auto known = code.label();
    if (link_type == wire::LinkType::ethernet) {
        find_ether_type(code);
        step_over_tag(code);
        step_over_tag(code);
        code.go_if_equal(ether_type::ipv4, ipv4);
        code.go_if_equal(ether_type::ipv6, ipv6);
        load_macs(code);
        code.go(known);
    } else {
        code.op(BPF_LDX | BPF_IMM, 0);
        code.op(BPF_LD | BPF_B | BPF_ABS, 0);
        code.op(BPF_ALU | BPF_RSH | BPF_K, 4);
        code.go_if_equal(4, ipv4);
        code.go_if_equal(6, ipv6);
        code.op(BPF_RET | BPF_K, 0);
    }
    code.place(ipv4);
    load_ipv4(code);
    code.go(known);
    code.place(ipv6);
    load_ipv6(code);
    code.place(known);
    return_ring(code, rings);
    return std::move(code).finish();
}

}  // namespace capture::filter
