#include "exporters/report/anonymous.h"

#include <algorithm>
#include <fmt/core.h>

namespace exporters::report {

namespace {

void put_be(std::uint8_t* at, std::uint32_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) at[i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
}

/// The n-th substitute of a family, from 1.
metrics::Address substitute(wire::AddressFamily family, std::uint32_t number) {
    metrics::Address out;
    out.family = family;
    switch (family) {
        case wire::AddressFamily::none: break;
        case wire::AddressFamily::lid: put_be(out.octets.data(), number, 2); break;
        case wire::AddressFamily::ipv4:
            // 198.18.0.0/15 is for benchmarks. RFC 2544, C.2.2.
            put_be(out.octets.data(), 0xc612'0000U + number, 4);
            break;
        case wire::AddressFamily::ipv6:
        case wire::AddressFamily::gid:
            // RFC 3849.
            put_be(out.octets.data(), 0x2001'0db8U, 4);
            put_be(out.octets.data() + 12, number, 4);
            break;
    }
    return out;
}

}  // namespace

metrics::Address Anonymous::address(const metrics::Address& address) {
    if (address.family == wire::AddressFamily::none) return address;
    if (const auto found = addresses_.find(address); found != addresses_.end()) return found->second;
    const metrics::Address other = substitute(address.family, ++counts_[address.family]);
    addresses_.emplace(address, other);
    return other;
}

std::array<std::uint8_t, 6> Anonymous::mac(const std::array<std::uint8_t, 6>& mac) {
    if (const auto found = macs_.find(mac); found != macs_.end()) return found->second;
    std::array<std::uint8_t, 6> other{0x02};
    put_be(other.data() + 2, static_cast<std::uint32_t>(macs_.size() + 1), 4);
    macs_.emplace(mac, other);
    return other;
}

std::string Anonymous::name(const std::string& name, std::string_view kind) {
    if (name.empty()) return name;
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    std::string other = fmt::format("{} {}", kind, names_.size() + 1);
    names_.emplace(name, other);
    return other;
}

metrics::CommandConnectionFigures Anonymous::anonymous(metrics::CommandConnectionFigures connection) {
    connection.initiator = address(connection.initiator);
    connection.target = address(connection.target);
    connection.target_name = name(connection.target_name, "target");
    connection.initiator_name = name(connection.initiator_name, "initiator");
    return connection;
}

metrics::Snapshot Anonymous::snapshot(metrics::Snapshot snapshot) {
    const auto replace = [this](metrics::Address& each) { each = address(each); };
    const auto replace_icmp = [&replace](base::CompactOptional<metrics::IcmpFigures>& icmp) {
        if (!icmp) return;
        for (metrics::IcmpFigures::Errors& errors : icmp->kinds) replace(errors.sender);
    };
    for (metrics::FlowSnapshot& flow : snapshot.flows) {
        replace(flow.source.address);
        replace(flow.destination.address);
        replace_icmp(flow.icmp);
        if (flow.commands) *flow.commands = anonymous(std::move(*flow.commands));
        // What a program was called, and what it posted, is about one host's software.
        flow.verbs = {};
    }
    for (metrics::HostSnapshot& host : snapshot.hosts) replace(host.address);
    // Snapshots have hosts in the order of their addresses.
    std::ranges::sort(snapshot.hosts, {}, &metrics::HostSnapshot::address);
    for (metrics::PauseSnapshot& pauses : snapshot.pauses) {
        for (metrics::PauseSender& sender : pauses.senders) {
            sender.mac = mac(sender.mac);
            replace(sender.host);
        }
        std::ranges::sort(pauses.senders, {}, &metrics::PauseSender::mac);
    }
    for (metrics::ConnectionAttempt& attempt : snapshot.attempts) {
        replace(attempt.client.address);
        replace(attempt.server.address);
        replace_icmp(attempt.icmp);
    }
    return snapshot;
}

std::vector<metrics::CommandConnectionFigures> Anonymous::connections(
    std::vector<metrics::CommandConnectionFigures> all) {
    for (metrics::CommandConnectionFigures& connection : all) connection = anonymous(std::move(connection));
    return all;
}

}  // namespace exporters::report
