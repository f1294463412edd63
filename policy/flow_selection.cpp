#include "policy/flow_selection.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <fmt/format.h>
#include <fnmatch.h>
#include <optional>

#include "base/ascii.h"
#include "base/error.h"
#include "base/quantities.h"

namespace policy {
namespace {

using wire::AddressFamily;

std::optional<metrics::Address> address_of(const std::string& text) {
    metrics::Address address;
    if (::inet_pton(AF_INET, text.c_str(), address.octets.data()) == 1) {
        address.family = AddressFamily::ipv4;
        return address;
    }
    if (::inet_pton(AF_INET6, text.c_str(), address.octets.data()) != 1) return {};
    address.family = AddressFamily::ipv6;
    return address;
}

/// GIDs are written as IPv6 addresses.
AddressFamily plain_family(AddressFamily family) { return family == AddressFamily::gid ? AddressFamily::ipv6 : family; }

/// IPv6 addresses that stand for IPv4 addresses begin so. RFC 4291, 2.5.5.2.
constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned mapped_bits = 8 * mapped.size();

/// The IPv4 address of a GID of RoCE version 1, or of an address that was written as IPv6; else the address itself.
metrics::Address unmapped(const metrics::Address& address) {
    if (plain_family(address.family) != AddressFamily::ipv6 ||
        !std::equal(mapped.begin(), mapped.end(), address.octets.begin()))
        return address;
    metrics::Address plain;
    plain.family = AddressFamily::ipv4;
    std::copy_n(address.octets.begin() + mapped.size(), 4, plain.octets.begin());
    return plain;
}

bool holds_ports(const std::vector<PortRange>& ranges, const metrics::FlowSnapshot& flow) {
    // No range holds 0.
    return any_holds(ranges, flow.source.port.value_or(0)) || any_holds(ranges, flow.destination.port.value_or(0)) ||
           any_holds(ranges, service_port_of(flow));
}

bool holds_partition(const std::vector<std::uint16_t>& keys, const metrics::FlowSnapshot& flow) {
    const auto is_named = [&keys](metrics::PacketClass one) {
        const auto key = one.partition_key();
        return key && std::ranges::any_of(
                          keys, [key](std::uint16_t named) { return partition_of(named) == partition_of(*key); });
    };
    return is_named(flow.packet_class) ||
           std::ranges::any_of(flow.other_classes, is_named, &metrics::ClassFigures::packet_class);
}

bool holds_protocol(const std::vector<std::string>& words, const metrics::FlowSnapshot& flow) {
    return flow.commands && std::ranges::any_of(words, [&](const std::string& word) {
               return word == flow.commands->protocol || word == base::lowered(flow.commands->heading);
           });
}

/// The file's name of the program in a command line.
std::string program_of(const std::string& command) {
    const std::string path = command.substr(0, command.find(' '));
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string text_of(PortRange range) {
    return range.first == range.last ? fmt::to_string(range.first) : fmt::format("{}-{}", range.first, range.last);
}

bool AddressBlock::holds(const metrics::Address& one) const {
    const metrics::Address plain = unmapped(one);
    if (plain_family(plain.family) != address.family) return false;
    for (unsigned bit = 0; bit < bits; bit += 8) {
        const unsigned kept = std::min(8u, bits - bit);
        const auto differ = static_cast<unsigned>(plain.octets[bit / 8] ^ address.octets[bit / 8]);
        if (differ >> (8 - kept) != 0) return false;
    }
    return true;
}

bool AddressBlocks::holds(const metrics::Address& one) const {
    const auto any_of = [&one](const std::vector<AddressBlock>& blocks) {
        return std::ranges::any_of(blocks, [&one](const AddressBlock& block) { return block.holds(one); });
    };
    return any_of(own_) || std::ranges::any_of(labels_, [&](const Label& label) { return any_of(*label); });
}

base::Result<AddressBlock> parse_block(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto address = address_of(std::string(text.substr(0, slash)));
    if (!address) return base::failure("an address such as \"192.0.2.7\" or \"2001:db8::/32\"");
    const unsigned most = address->family == AddressFamily::ipv4 ? 32 : 128;
    unsigned bits = most;
    if (slash != std::string_view::npos) {
        const auto number = base::parse_number(text.substr(slash + 1), 0, most);
        if (!number) return base::failure("a number of bits after the /, as in \"192.0.2.0/24\"");
        bits = static_cast<unsigned>(*number);
    }
    // Addresses of flows are unmapped before they are compared.
    const metrics::Address plain = unmapped(*address);
    if (plain.family == address->family) return AddressBlock{*address, bits};
    if (bits < mapped_bits) return base::failure("a block of IPv4 addresses such as \"192.0.2.0/24\"");
    return AddressBlock{plain, bits - mapped_bits};
}

std::uint16_t service_port_of(const metrics::FlowSnapshot& flow) {
    // An IP service begins with five bytes, the last of them 1; IP protocol and port follow.
    const auto service = flow.connection->service_id;
    if (!service || *service >> 24 != 1) return 0;
    return static_cast<std::uint16_t>(*service);
}

std::vector<std::uint16_t> ports_of(const metrics::FlowSnapshot& flow) {
    std::vector<std::uint16_t> ports;
    for (const metrics::Endpoint* end : {&flow.source, &flow.destination})
        if (end->port) ports.push_back(*end->port);
    if (const std::uint16_t service = service_port_of(flow); ports.empty() && service != 0) ports.push_back(service);
    return ports;
}

bool Selection::holds(const metrics::FlowSnapshot& flow) const {
    const metrics::Address& source = flow.source.address;
    const metrics::Address& destination = flow.destination.address;
    if (!hosts.empty() && !hosts.holds(source) && !hosts.holds(destination)) return false;
    if (!from.empty() && !from.holds(source)) return false;
    if (!to.empty() && !to.holds(destination)) return false;
    if (!ports.empty() && !holds_ports(ports, flow)) return false;
    if (!service_ids.empty() && !(flow.connection->service_id && any_holds(service_ids, *flow.connection->service_id)))
        return false;
    if (!partitions.empty() && !holds_partition(partitions, flow)) return false;
    if (!protocols.empty() && !holds_protocol(protocols, flow)) return false;
    if (!processes.empty()) {
        if (!flow.verbs) return false;
        const std::string program = program_of(flow.verbs->process.command);
        if (std::ranges::none_of(processes, [&](const std::string& pattern) {
                return ::fnmatch(pattern.c_str(), program.c_str(), 0) == 0;
            }))
            return false;
    }
    return containers.empty() || (flow.verbs && std::ranges::any_of(containers, [&](const std::string& begin) {
                                      return flow.verbs->process.container.starts_with(begin);
                                  }));
}

}  // namespace policy
