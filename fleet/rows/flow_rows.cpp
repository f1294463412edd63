#include "fleet/rows/flow_rows.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cmath>

#include "base/clock.h"
#include "fleet/rows/amounts.h"
#include "metrics/figures/path_sums.h"
#include "metrics/figures/snapshot_fields.h"

namespace fleet::rows {
namespace {

using metrics::Endpoint;
using metrics::FlowSnapshot;

template <class Value>
std::uint64_t number(const std::optional<Value>& known) {
    return known ? static_cast<std::uint64_t>(*known) : 0;
}
std::uint64_t as_number(const Cell& cell) {
    const auto* value = std::get_if<std::uint64_t>(&cell);
    return value == nullptr ? 0 : *value;
}
std::int64_t as_signed(const Cell& cell) {
    if (const auto* value = std::get_if<std::int64_t>(&cell)) return *value;
    return static_cast<std::int64_t>(as_number(cell));
}
const std::string& as_text(const Cell& cell) {
    static const std::string none;
    const auto* value = std::get_if<std::string>(&cell);
    return value == nullptr ? none : *value;
}

template <class Enumeration, std::size_t Count>
void set_named(Enumeration& into, const Cell& cell) {
    using metrics::name_of;
    for (std::size_t i = 0; i < Count; ++i)
        if (name_of(static_cast<Enumeration>(i)) == as_text(cell)) into = static_cast<Enumeration>(i);
}

/// QPN 0 and port 0 exist in no flow between applications: 0 stands for an unknown one.
template <auto End, auto Member>
Cell get_end(const FlowSnapshot& flow) {
    return number(flow.*End.*Member);
}
template <auto End, auto Member>
void set_end(FlowSnapshot& flow, const Cell& cell) {
    if (as_number(cell) != 0) flow.*End.*Member = static_cast<std::uint32_t>(as_number(cell));
}
template <auto End>
Cell get_address(const FlowSnapshot& flow) {
    return metrics::to_text((flow.*End).address);
}
template <auto End>
void set_address(FlowSnapshot& flow, const Cell& cell) {
    (flow.*End).address = address_of(as_text(cell));
}

template <auto Member>
Cell get_counter(const FlowSnapshot& flow) {
    return flow.*Member;
}
template <auto Member>
void set_counter(FlowSnapshot& flow, const Cell& cell) {
    flow.*Member = as_number(cell);
}
template <auto Member>
Cell get_optional(const FlowSnapshot& flow) {
    return number(flow.*Member);
}
/// `known` stands before these columns.
template <auto Member>
void set_optional(FlowSnapshot& flow, const Cell& cell) {
    if (flow.*Member) flow.*Member = as_number(cell);
}
template <auto Member>
Cell get_time(const FlowSnapshot& flow) {
    return flow.*Member;
}
template <auto Member>
void set_time(FlowSnapshot& flow, const Cell& cell) {
    flow.*Member = as_signed(cell);
}

/// A mean over time adds up as mean times time.
template <auto Mean>
Cell get_mean(const FlowSnapshot& flow) {
    return static_cast<std::uint64_t>(
        std::llround(std::clamp(metrics::fields::total(flow.*Mean, flow.wall_ns()), 0.0, 0x1p62)));
}
template <auto Mean>
void set_mean(FlowSnapshot& flow, const Cell& cell) {
    if (flow.wall_ns() != 0) flow.*Mean = static_cast<double>(as_number(cell)) / static_cast<double>(flow.wall_ns());
}

Cell get_known(const FlowSnapshot& flow) {
    std::uint64_t bits = 0;
    if (flow.retransmitted_packets) bits |= known_retransmitted;
    if (flow.duplicate_packets) bits |= known_duplicate;
    if (flow.reordered_packets) bits |= known_reordered;
    if (flow.missing_packets) bits |= known_missing;
    return bits;
}
void set_known(FlowSnapshot& flow, const Cell& cell) {
    const std::uint64_t bits = as_number(cell);
    if ((bits & known_retransmitted) != 0) flow.retransmitted_packets = 0;
    if ((bits & known_duplicate) != 0) flow.duplicate_packets = 0;
    if ((bits & known_reordered) != 0) flow.reordered_packets = 0;
    if ((bits & known_missing) != 0) flow.missing_packets = 0;
}

using F = FlowSnapshot;
using N = Nature;
using T = Type;

constexpr auto source = &F::source;
constexpr auto destination = &F::destination;

template <auto Member>
constexpr FlowColumn counter(std::string_view name) {
    return {{name, T::u64, N::counter}, get_counter<Member>, set_counter<Member>};
}
template <auto Member>
constexpr FlowColumn estimate(std::string_view name) {
    return {{name, T::u64, N::estimate}, get_counter<Member>, set_counter<Member>};
}
template <auto Member>
constexpr FlowColumn optional_estimate(std::string_view name) {
    return {{name, T::u64, N::estimate}, get_optional<Member>, set_optional<Member>};
}

constexpr std::array columns{
    FlowColumn{{"flow", T::u64, N::place}, get_counter<&F::id>, set_counter<&F::id>},
    FlowColumn{{"transport", T::label, N::identity},
               [](const F& flow) -> Cell { return std::string(metrics::name_of(flow.transport)); },
               [](F& flow, const Cell& cell) { set_named<wire::Transport, 4>(flow.transport, cell); }},
    FlowColumn{{"service", T::label, N::identity},
               [](const F& flow) -> Cell { return std::string(name_of(flow.service)); },
               [](F& flow, const Cell& cell) { set_named<metrics::Service, 5>(flow.service, cell); }},
    FlowColumn{{"source_address", T::label, N::identity}, get_address<source>, set_address<source>},
    FlowColumn{{"source_qpn", T::u32, N::identity}, get_end<source, &Endpoint::qpn>, set_end<source, &Endpoint::qpn>},
    FlowColumn{{"source_port", T::u16, N::identity},
               get_end<source, &Endpoint::port>,
               [](F& flow, const Cell& cell) {
                   if (as_number(cell) != 0) flow.source.port = static_cast<std::uint16_t>(as_number(cell));
               }},
    FlowColumn{{"source_udp_port", T::u16, N::identity},
               get_optional<&F::udp_port>,
               [](F& flow, const Cell& cell) {
                   if (as_number(cell) != 0) flow.udp_port = static_cast<std::uint16_t>(as_number(cell));
               }},
    FlowColumn{{"source_udp_ports", T::u8, N::identity}, get_counter<&F::udp_ports>, set_counter<&F::udp_ports>},
    FlowColumn{{"destination_address", T::label, N::identity}, get_address<destination>, set_address<destination>},
    FlowColumn{{"destination_qpn", T::u32, N::identity},
               get_end<destination, &Endpoint::qpn>,
               set_end<destination, &Endpoint::qpn>},
    FlowColumn{{"destination_port", T::u16, N::identity},
               get_end<destination, &Endpoint::port>,
               [](F& flow, const Cell& cell) {
                   if (as_number(cell) != 0) flow.destination.port = static_cast<std::uint16_t>(as_number(cell));
               }},
    FlowColumn{{"traffic_class", T::u8, N::identity},
               [](const F& flow) -> Cell { return std::uint64_t{flow.traffic_class}; },
               [](F& flow, const Cell& cell) { flow.traffic_class = static_cast<std::uint8_t>(as_number(cell)); }},
    FlowColumn{{"reverse", T::u64, N::identity},
               get_optional<&F::reverse>,
               [](F& flow, const Cell& cell) {
                   if (as_number(cell) != 0) flow.reverse = as_number(cell);
               }},
    FlowColumn{{"known", T::u8, N::identity}, get_known, set_known},
    FlowColumn{{"vantage", T::label, N::state},
               [](const F& flow) -> Cell { return std::string(name_of(flow.vantage)); },
               [](F& flow, const Cell& cell) { set_named<metrics::Vantage, 4>(flow.vantage, cell); }},
    FlowColumn{{"finished", T::u8, N::identity},
               [](const F& flow) -> Cell { return std::uint64_t{flow.finished ? 1u : 0u}; },
               [](F& flow, const Cell& cell) { flow.finished = as_number(cell) != 0; }},
    FlowColumn{{"confidence", T::f64, N::state},
               [](const F& flow) -> Cell { return flow.confidence; },
               [](F& flow, const Cell& cell) {
                   if (const auto* value = std::get_if<double>(&cell)) flow.confidence = *value;
               }},
    FlowColumn{{"first_ns", T::i64, N::state}, get_time<&F::first_ns>, set_time<&F::first_ns>},
    FlowColumn{{"last_ns", T::i64, N::state}, get_time<&F::last_ns>, set_time<&F::last_ns>},
    counter<&F::packets>("packets"),
    counter<&F::wire_bytes>("wire_bytes"),
    counter<&F::payload_bytes>("payload_bytes"),
    counter<&F::acknowledgement_packets>("acknowledgement_packets"),
    optional_estimate<&F::retransmitted_packets>("retransmitted_packets"),
    optional_estimate<&F::duplicate_packets>("duplicate_packets"),
    optional_estimate<&F::reordered_packets>("reordered_packets"),
    optional_estimate<&F::missing_packets>("missing_packets"),
    estimate<&F::unseen_acknowledged_packets>("unseen_acknowledged_packets"),
    estimate<&F::timeouts>("timeouts"),
    counter<&F::rnr_naks>("rnr_naks"),
    counter<&F::credits_exhausted>("credits_exhausted"),
    counter<&F::ecn_ce_packets>("ecn_ce_packets"),
    counter<&F::ecn_capable_packets>("ecn_capable_packets"),
    counter<&F::cnp_packets>("cnp_packets"),
    counter<&F::icrc_bad>("icrc_bad"),
    estimate<&F::crc_bad>("crc_bad"),
    counter<&F::terminates>("terminates"),
    counter<&F::merged_messages>("merged_messages"),
    counter<&F::queueing_ns>("queueing_ns"),
    FlowColumn{{"messages", T::u64, N::counter}, [](const F& flow) -> Cell { return flow.messages_total(); }, nullptr},
    FlowColumn{{"message_bytes", T::u64, N::counter},
               [](const F& flow) -> Cell { return flow.message_bytes_total(); },
               nullptr},
    FlowColumn{
        {"outstanding_message_ns", T::u64, N::counter}, get_mean<&F::messages_mean>, set_mean<&F::messages_mean>},
    FlowColumn{{"outstanding_byte_ns", T::u64, N::counter}, get_mean<&F::bytes_mean>, set_mean<&F::bytes_mean>},
    FlowColumn{{"outstanding_messages_max", T::u64, N::identity},
               get_counter<&F::messages_max>,
               set_counter<&F::messages_max>},
    FlowColumn{{"outstanding_bytes_max", T::u64, N::identity}, get_counter<&F::bytes_max>, set_counter<&F::bytes_max>},
    FlowColumn{{"round_trip_min_ns", T::u64, N::state, 2},
               get_optional<&F::round_trip_min_ns>,
               [](F& flow, const Cell& cell) {
                   if (as_number(cell) != 0) flow.round_trip_min_ns = as_number(cell);
               }},
    FlowColumn{{"entropy", T::u64, N::state, 2},
               [](const F& flow) -> Cell { return flow.entropy.number(); },
               [](F& flow, const Cell& cell) { flow.entropy = metrics::Entropy(as_number(cell)); }},
    FlowColumn{{"entropies", T::u16, N::state, 2},
               [](const F& flow) -> Cell {
                   constexpr std::uint64_t most = 0xffff;
                   const std::uint64_t known = flow.entropy.known() ? 1 : 0;
                   return flow.path ? std::clamp(flow.path->entropies, known, most) : known;
               },
               nullptr},
    FlowColumn{{"dscp", T::u8, N::state, 2},
               [](const F& flow) -> Cell { return std::uint64_t{metrics::dscp_of(flow)}; },
               nullptr},
};

Table make_flows_table() {
    Table table{.name = "flows", .columns = place_columns(), .key = "hour,host,boot,flow,sequence", .rolls_up = true};
    for (const FlowColumn& each : columns) table.columns.push_back(each.column);
    for (const Column& column : std::initializer_list<Column>{{"amount_keys", T::u32_list, N::amounts},
                                                              {"amounts", T::u64_list, N::amounts},
                                                              {"own_end", T::label, N::state},
                                                              {"verdict", T::label, N::note},
                                                              {"cause", T::label, N::note},
                                                              {"grade", T::u8, N::note},
                                                              {"begins", T::u8, N::note}})
        table.columns.push_back(column);
    return table;
}

}  // namespace

metrics::Address address_of(const std::string& text) {
    constexpr std::string_view lid = "lid ";
    metrics::Address address;
    std::uint16_t number = 0;
    const char* const end = text.data() + text.size();
    if (::inet_pton(AF_INET, text.c_str(), address.octets.data()) == 1) {
        address.family = wire::AddressFamily::ipv4;
    } else if (::inet_pton(AF_INET6, text.c_str(), address.octets.data()) == 1) {
        address.family = wire::AddressFamily::ipv6;
    } else if (text.starts_with(lid)) {
        const auto [stop, code] = std::from_chars(text.data() + lid.size(), end, number);
        if (code != std::errc{} || stop != end) return address;
        address.family = wire::AddressFamily::lid;
        address.octets[0] = static_cast<std::uint8_t>(number >> 8);
        address.octets[1] = static_cast<std::uint8_t>(number & 0xff);
    }
    return address;
}

std::span<const FlowColumn> flow_columns() { return columns; }

const Table& flows_table() {
    static const Table table = make_flows_table();
    return table;
}

std::string own_end(const FlowSnapshot& flow, std::span<const metrics::Address> own) {
    const bool sends = std::ranges::find(own, flow.source.address) != own.end();
    const bool receives = std::ranges::find(own, flow.destination.address) != own.end();
    if (sends) return receives ? "both" : "source";
    return receives ? "destination" : "";
}

Row flow_row(const Place& place, const FlowSnapshot& flow, const FlowNotes& notes) {
    Row row;
    row.reserve(flows_table().columns.size());
    append_place(row, place);
    for (const FlowColumn& column : columns) row.push_back(column.get(flow));
    append_amounts(row, amounts_of(flow));
    row.emplace_back(notes.own_end);
    row.emplace_back(notes.verdict);
    row.emplace_back(notes.cause);
    row.emplace_back(std::uint64_t{notes.grade});
    row.emplace_back(std::uint64_t{notes.begins});
    return row;
}

/// A row's end belongs to the stretch of time that it ends, as in the schema's roll-ups.
std::uint8_t begins_of(std::int64_t last_end_ns, std::int64_t end_ns) {
    const std::int64_t last = (last_end_ns - 1) / base::ns_per_sec;
    const std::int64_t now = (end_ns - 1) / base::ns_per_sec;
    constexpr std::int64_t minute = 60;
    constexpr std::int64_t hour = 3600;
    std::uint8_t bits = 0;
    if (last / minute != now / minute) bits |= begins_minute;
    if (last / hour != now / hour) bits |= begins_hour;
    return bits;
}

FlowSnapshot before_its_first_frame(const FlowSnapshot& flow) {
    FlowSnapshot before;
    before.id = flow.id;
    before.transport = flow.transport;
    before.service = flow.service;
    before.source = flow.source;
    before.destination = flow.destination;
    before.reverse = flow.reverse;
    before.vantage = flow.vantage;
    before.confidence = flow.confidence;
    before.traffic_class = flow.traffic_class;
    before.udp_port = flow.udp_port;
    before.udp_ports = flow.udp_ports;
    before.first_ns = flow.first_ns;
    before.last_ns = flow.first_ns;
    const auto begin = [](const auto& known, auto& into) {
        if (known) into = 0;
    };
    begin(flow.retransmitted_packets, before.retransmitted_packets);
    begin(flow.duplicate_packets, before.duplicate_packets);
    begin(flow.reordered_packets, before.reordered_packets);
    begin(flow.missing_packets, before.missing_packets);
    return before;
}

}  // namespace fleet::rows
