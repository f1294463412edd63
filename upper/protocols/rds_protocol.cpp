#include "upper/protocols/rds_protocol.h"

#include <algorithm>
#include <bit>
#include <fmt/core.h>

#include "wire/rds.h"

namespace upper::protocols {

namespace {

/// The ports of Linux for IPv4 and for IPv6.
constexpr std::uint16_t rds_ports[] = {18634, 16385};

bool rds_read_private_data(base::Bytes data, ConnectionFacts&) { return wire::rds_version_at(data) != 0; }

Shape rds_shape(base::Bytes head, std::uint64_t length) {
    return wire::is_rds(head, length) ? Shape::either : Shape::none;
}

std::optional<std::uint64_t> rds_acknowledges(base::Bytes head, std::uint64_t length) {
    if (!wire::is_rds(head, length)) return std::nullopt;
    return wire::parse_rds(head.data()).acknowledged;
}

std::optional<Fragment> rds_fragment(base::Bytes head, std::uint64_t length) {
    if (!wire::is_rds(head, length)) return std::nullopt;
    const wire::RdsHeader header = wire::parse_rds(head.data());
    const std::uint64_t bytes = length - wire::rds_header_bytes;
    return Fragment{wire::rds_header_bytes, bytes, header.length - bytes, true, header.sequence};
}

/// The ports that the captured part of a congestion map calls congested.
std::uint32_t congested_ports(base::Bytes head) {
    std::uint32_t count = 0;
    for (const std::byte octet : head.subspan(std::min<std::size_t>(wire::rds_header_bytes, head.size())))
        count += static_cast<std::uint32_t>(std::popcount(std::to_integer<unsigned>(octet)));
    return count;
}

void rds_parse(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts& facts, Said& said) {
    // A message that was joined from fragments is longer than a SEND may be.
    constexpr std::uint32_t fixed = 26;
    if (head.size() < fixed || length < wire::rds_header_bytes) return;
    const wire::RdsHeader header = wire::parse_rds(head.data());
    if (length - wire::rds_header_bytes > header.length) return;
    said.type = Said::Type::other;
    if (header.is_map()) {
        said.event = "congestion map";
        facts.congested_ports = std::max(facts.congested_ports, congested_ports(head));
        return;
    }
    if (header.length == 0) {
        said.event = (header.flags & wire::rds_flag::ping) != 0   ? "sign of life"
                     : (header.flags & wire::rds_flag::pong) != 0 ? "sign of life answered"
                                                                  : "ack";
        return;
    }
    said.type = Said::Type::request;
    said.is_reverse = !from_initiator;
    said.id = header.sequence & (~std::uint64_t{0} >> 1);
    said.kind = header.destination_port == 0 ? "ping" : header.source_port == 0 ? "pong" : "datagram";
    said.kind_text = said.kind;
    said.target = std::uint64_t{header.source_port} << 16 | header.destination_port;
    said.bytes = header.length;
    said.inline_bytes = header.length;
}

void rds_add_target(std::uint64_t target, std::string& out) {
    out += fmt::format("{} > {}", target >> 16 & 0xffff, target & 0xffff);
}

void rds_add_words(const LineContext& line, std::string& out) {
    const base::Bytes head = line.head;
    constexpr std::uint32_t fixed = 26;
    if (head.size() < fixed) return;
    const wire::RdsHeader header = wire::parse_rds(head.data());
    if (!header.is_map()) {
        out += fmt::format(" {}", header.acknowledged);
        if (header.credits != 0) out += fmt::format(" credits {}", header.credits);
        return;
    }
    if (head.size() <= wire::rds_header_bytes) return;
    out += fmt::format(" congested {} of the first {} ports", congested_ports(head),
                       (head.size() - wire::rds_header_bytes) * 8);
}

StatusMeaning rds_status(std::uint32_t, std::uint32_t) { return {"acknowledged", ErrorClass::none}; }

}  // namespace

constinit const Protocol rds{
    .name = "rds",
    .heading = "RDS",
    .id_word = "seq",
    .id_digits = 0,
    .target_word = "",
    .ports = rds_ports,
    .is_symmetric = true,
    .grants_memory = false,
    .read_private_data = rds_read_private_data,
    .shape = rds_shape,
    .parse = rds_parse,
    .status = rds_status,
    .fragment = rds_fragment,
    .acknowledges = rds_acknowledges,
    .add_target = rds_add_target,
    .add_words = rds_add_words,
    .request_layer = dissect::LayerId::rds,
    .response_layer = dissect::LayerId::rds,
    .data_layer = dissect::LayerId::rds,
    .private_data_layers = {dissect::LayerId::rds_connect, dissect::LayerId::rds_connect,
                            dissect::LayerId::rds_connect},
};

}  // namespace upper::protocols
