#include "metrics/figures/snapshot.h"

#include <algorithm>

namespace metrics::inline figures {
namespace {
constexpr std::array<std::string_view, event_kind_count> event_kind_names{
    "retransmission",
    "gap",
    "duplicate",
    "reordered",
    "nak",
    "rnr_nak",
    "timeout",
    "ce_mark",
    "cnp",
    "pause",
    "zero_window",
    "icrc_bad",
    "crc_bad",
    "terminate",
    "credit_exhausted",
    "long_gap",
    "ack_unseen",
    "connect_request",
    "connect_reply",
    "established",
    "rejected",
    "disconnected",
    "reset",
    "go_back_wrong_start",
    "go_back_incomplete",
    "nak_wrong_psn",
    "nak_missing",
    "read_restart_wrong",
    "icmp_error",
};
static_assert(static_cast<std::size_t>(EventKind::icmp_error) + 1 == event_kind_count);

std::uint64_t sum_of(const OperationTable& operations, std::uint64_t OperationFigures::*member) {
    std::uint64_t sum = 0;
    for (const OperationFigures& figures : operations) sum += figures.*member;
    return sum;
}
}  // namespace

std::vector<Address> subnet_addresses(const Snapshot& snapshot) {
    std::vector<Address> addresses;
    const auto add = [&](const Address& address) {
        if (address.family == wire::AddressFamily::lid || address.family == wire::AddressFamily::gid)
            addresses.push_back(address);
    };
    for (const FlowSnapshot& flow : snapshot.flows) {
        add(flow.source.address);
        add(flow.destination.address);
    }
    for (const HostSnapshot& host : snapshot.hosts) add(host.address);
    for (const ConnectionAttempt& attempt : snapshot.attempts) {
        add(attempt.client.address);
        add(attempt.server.address);
    }
    std::ranges::sort(addresses);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    return addresses;
}

AttemptOutcome attempt_outcome_named(std::string_view name) {
    const auto found = std::ranges::find(attempt_outcome_names, name);
    if (found == attempt_outcome_names.end()) return AttemptOutcome::unknown;
    return static_cast<AttemptOutcome>(found - attempt_outcome_names.begin());
}

void IcmpFigures::add(wire::IcmpErrorKind kind, const Address& sender, const std::optional<std::uint32_t>& next_mtu) {
    Errors& errors = kinds[static_cast<std::size_t>(kind)];
    if (errors.count++ == 0) errors.sender = sender;
    if (next_mtu && (!mtu || *next_mtu < *mtu)) mtu = next_mtu;
}

std::string_view name_of(EventKind kind) { return event_kind_names[static_cast<std::size_t>(kind)]; }

const EventSummary* FlowSnapshot::find_event_summary(EventKind kind) const {
    const auto found = std::find_if(event_summaries.begin(), event_summaries.end(),
                                    [kind](const EventSummary& e) { return e.kind == kind; });
    return found == event_summaries.end() ? nullptr : &*found;
}

std::vector<ClassFigures> FlowSnapshot::classes() const {
    std::vector<ClassFigures> all;
    all.reserve(1 + other_classes.size());
    ClassFigures first{packet_class, packets, wire_bytes, first_frame_of(id), first_ns};
    for (const ClassFigures& other : other_classes) {
        first.packets -= std::min(first.packets, other.packets);
        first.wire_bytes -= std::min(first.wire_bytes, other.wire_bytes);
    }
    if (packet_class.known() && first.packets != 0) all.push_back(first);
    all.insert(all.end(), other_classes.begin(), other_classes.end());
    return all;
}

std::uint64_t FlowSnapshot::messages_total() const { return sum_of(operations, &OperationFigures::count); }

std::uint64_t FlowSnapshot::message_bytes_total() const { return sum_of(operations, &OperationFigures::bytes); }

std::optional<double> FlowSnapshot::goodput_bytes_per_sec() const {
    if (last_ns <= first_ns || partly_read(*this) || lacks_lengths(*this)) return std::nullopt;
    return static_cast<double>(message_bytes_total()) * 1e9 / static_cast<double>(wall_ns());
}

const FlowSnapshot* Snapshot::flow(std::uint64_t id) const {
    const auto found =
        std::lower_bound(flows.begin(), flows.end(), id,
                         [](const FlowSnapshot& flow, std::uint64_t sought) { return flow.id < sought; });
    return found == flows.end() || found->id != id ? nullptr : &*found;
}

}  // namespace metrics::figures
