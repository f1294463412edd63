#include "base/text_format.h"
#include "dissect/icmp_error.h"
#include "dissect/output/text_parts.h"
#include "wire/bth_opcode.h"
#include "wire/icmp.h"
#include "wire/ip_protocol.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace dissect::output::text {

namespace {

/// A message of ICMP or ICMPv6, in tcpdump's words.
class IcmpWords {
public:
    IcmpWords(std::string& out, const Dissection& dissection, base::Bytes bytes, const LayerRef& layer,
              const TextOptions& options)
        : out_(out),
          dissection_(dissection),
          bytes_(bytes),
          message_(bytes.data() + layer.offset),
          options_(options),
          size_(layer.length) {}

    void version4();
    void version6();

private:
    std::uint8_t type() const { return base::load_u8(message_); }
    std::uint8_t code() const { return base::load_u8(message_ + 1); }
    void destination() {
        address(out_, dissection_.quoted_network, bytes_, dissection_.quoted_network.destination_offset, options_);
    }
    void quoted(std::string_view before, std::string_view after) {
        out_ += before;
        destination();
        out_ += after;
    }
    std::uint8_t quoted_protocol() const;
    void quoted_port();
    void unreachable();
    void redirect();
    void echo(std::string_view name);
    void unreachable6();
    void named(std::span<const wire::ValueName> names);

    std::string& out_;
    const Dissection& dissection_;
    base::Bytes bytes_;
    const std::byte* message_;
    const TextOptions& options_;
    std::uint32_t size_;
};

std::uint8_t IcmpWords::quoted_protocol() const {
    if (const LayerRef* layer = dissection_.find_quoted(LayerId::ipv4); layer != nullptr)
        return base::load_u8(bytes_.data() + layer->offset + 9);
    if (const LayerRef* layer = dissection_.find_quoted(LayerId::ipv6); layer != nullptr)
        return base::load_u8(bytes_.data() + layer->offset + 6);
    return 0;
}

/// `192.0.2.2 udp port 4791`
void IcmpWords::quoted_port() {
    destination();
    if (dissection_.quotes(LayerId::udp))
        word(out_, "udp port", dissection_.destination_port);
    else if (dissection_.quotes(LayerId::tcp))
        word(out_, "tcp port", dissection_.destination_port);
    else
        word(out_, "protocol", quoted_protocol());
}

void IcmpWords::unreachable() {
    switch (code()) {
        case 0: return quoted("net ", " unreachable");
        case 1: return quoted("host ", " unreachable");
        case 2:
            destination();
            word(out_, "protocol", quoted_protocol());
            out_ += " unreachable";
            return;
        case 3:
            quoted_port();
            out_ += " unreachable";
            return;
        case 4:
            quoted("", " unreachable - need to frag");
            if (const std::uint16_t mtu = base::load_be16(message_ + 6); mtu != 0) {
                out_ += " (mtu ";
                base::append_decimal(out_, mtu);
                out_ += ')';
            }
            return;
        case 5: return quoted("", " unreachable - source route failed");
        case 6: return quoted("net ", " unreachable - unknown");
        case 7: return quoted("host ", " unreachable - unknown");
        case 8: return quoted("", " unreachable - source host isolated");
        case 9: return quoted("net ", " unreachable - admin prohibited");
        case 10: return quoted("host ", " unreachable - admin prohibited");
        case 11: return quoted("net ", " unreachable - tos prohibited");
        case 12: return quoted("host ", " unreachable - tos prohibited");
        case 13: return quoted("host ", " unreachable - admin prohibited filter");
        case 14: return quoted("host ", " unreachable - host precedence violation");
        case 15: return quoted("host ", " unreachable - precedence cutoff");
        default: break;
    }
    quoted("", " unreachable - #");
    base::append_decimal(out_, code());
}

void IcmpWords::redirect() {
    quoted("redirect ", code() % 2 == 0 ? " to net " : " to host ");
    const Network gateway{Network::Family::ipv4};
    address(out_, gateway, bytes_, static_cast<std::uint32_t>(message_ + 4 - bytes_.data()), options_);
}

void IcmpWords::echo(std::string_view name) {
    out_ += name;
    if (size_ < wire::icmp_quote_offset) return;
    out_ += ',';
    word(out_, "id", base::load_be16(message_ + 4));
    out_ += ',';
    word(out_, "seq", base::load_be16(message_ + 6));
}

/// A type without words of its own: `router solicitation`, `type 42`.
void IcmpWords::named(std::span<const wire::ValueName> names) {
    const std::string_view name = wire::name_of(names, type());
    if (name.empty()) {
        out_ += "type ";
        base::append_decimal(out_, type());
        return;
    }
    out_ += static_cast<char>(name[0] - 'A' + 'a');
    out_ += name.substr(1);
}

void IcmpWords::version4() {
    const bool quotes = !dissection_.quoted.empty();
    switch (type()) {
        case wire::icmp_type::unreachable:
            if (quotes) return unreachable();
            break;
        case wire::icmp_type::redirect:
            if (quotes) return redirect();
            break;
        case wire::icmp_type::time_exceeded:
            out_ += code() == 1 ? "ip reassembly time exceeded" : "time exceeded in-transit";
            return;
        case wire::icmp_type::parameter_problem:
            out_ += "parameter problem -";
            return word(out_, "octet", base::load_u8(message_ + 4));
        case wire::icmp_type::echo_request: return echo("echo request");
        case wire::icmp_type::echo_reply: return echo("echo reply");
        default: break;
    }
    named(wire::icmp_types);
}

void IcmpWords::unreachable6() {
    out_ += "destination unreachable, ";
    switch (code()) {
        case 0: return quoted("unreachable route ", "");
        case 1: return quoted("unreachable prohibited ", "");
        case 2: return quoted("beyond scope ", "");
        case 3: return quoted("unreachable address ", "");
        case 4: out_ += "unreachable port, "; return quoted_port();
        case 5: return quoted("source address refused by policy, ", "");
        case 6: return quoted("reject route ", "");
        default: break;
    }
    out_ += "code ";
    base::append_decimal(out_, code());
}

void IcmpWords::version6() {
    const bool quotes = !dissection_.quoted.empty();
    switch (type()) {
        case wire::icmpv6_type::unreachable:
            if (quotes) return unreachable6();
            break;
        case wire::icmpv6_type::too_big:
            out_ += "packet too big";
            if (size_ >= wire::icmp_quote_offset) {
                out_ += ',';
                word(out_, "mtu", base::load_be32(message_ + 4));
            }
            return;
        case wire::icmpv6_type::time_exceeded:
            if (!quotes) break;
            return quoted(code() == 1 ? "time exceeded in reassembly for " : "time exceeded in-transit for ", "");
        case wire::icmpv6_type::parameter_problem:
            out_ += "parameter problem";
            if (size_ >= wire::icmp_quote_offset) {
                out_ += ',';
                word(out_, "octet", base::load_be32(message_ + 4));
            }
            return;
        case wire::icmpv6_type::echo_request: return echo("echo request");
        case wire::icmpv6_type::echo_reply: return echo("echo reply");
        default: break;
    }
    named(wire::icmpv6_types);
}

/// ` of 192.0.2.1 > 192.0.2.2 RoCEv2 RC SEND Only qp 0x001510 psn 7000`, as far as it is quoted.
void append_quoted_packet(std::string& out, const Dissection& dissection, base::Bytes bytes, bool tcp,
                          const TextOptions& options) {
    const Network& network = dissection.quoted_network;
    const auto end = [&](std::uint32_t offset, std::uint16_t port) {
        address(out, network, bytes, offset, options);
        if (tcp) {
            out += '.';
            base::append_decimal(out, port);
        }
    };
    out += " of ";
    end(network.source_offset, dissection.source_port);
    out += " > ";
    end(network.destination_offset, dissection.destination_port);
    if (tcp) {
        out += " iWARP";
        return word(out, "seq", dissection.tcp.sequence);
    }
    out += " RoCEv2";
    if (!dissection.quotes(LayerId::bth)) return;
    const wire::BthOpcode& opcode = wire::bth_opcode(dissection.bth.opcode);
    if (opcode.known()) {
        if (opcode.service != wire::BthService::cnp) (out += ' ') += wire::name_of(opcode.service);
        (out += ' ') += wire::bth_message_name(dissection.bth.opcode);
    }
    word_hex(out, "qp", dissection.bth.destination_qp, 6);
    word(out, "psn", dissection.bth.psn);
}

}  // namespace

bool icmp_words(std::string& out, const Dissection& dissection, base::Bytes bytes, const TextOptions& options) {
    const bool version6 = dissection.has(LayerId::icmpv6);
    const LayerRef* const layer = dissection.find(version6 ? LayerId::icmpv6 : LayerId::icmp);
    if (layer == nullptr || layer->offset + std::size_t{layer->length} > bytes.size()) return false;
    IcmpWords words(out, dissection, bytes, *layer, options);
    if (version6)
        words.version6();
    else
        words.version4();
    return true;
}

void icmp_error(std::string& out, const Dissection& dissection, base::Bytes bytes, const TextOptions& options) {
    const std::size_t begin = out.size();
    out += dissection.has(LayerId::icmpv6) ? "ICMPv6" : "ICMP";
    pad(out, begin, transport_width);
    out += ' ';
    const std::size_t words = out.size();
    icmp_words(out, dissection, bytes, options);
    pad(out, words, operation_width);
    append_quoted_packet(out, dissection, bytes, dissection.quotes(LayerId::tcp), options);
}

}  // namespace dissect::output::text
