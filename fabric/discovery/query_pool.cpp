#include "fabric/discovery/query_pool.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/clock.h"
#include "wire/attribute_field.h"
#include "wire/layout.h"
#include "wire/mad.h"
#include "wire/mad_class.h"
#include "wire/mad_performance.h"

namespace fabric::discovery {

namespace {

constexpr std::uint8_t get_method = 0x01;
constexpr std::uint8_t response_bit = 0x80;
/// The direction bit of a datagram on a directed route stands in its status.
constexpr std::uint16_t direction_bit = 0x8000;
constexpr std::uint16_t permissive_lid = 0xffff;

constexpr std::size_t initial_path_octet = wire::mad::directed_paths[0].bit_offset / 8;
constexpr wire::FieldInfo source_field = wire::field_named(wire::mad::directed_fields, "infiniband.smpdirected.drslid");
constexpr wire::FieldInfo destination_field =
    wire::field_named(wire::mad::directed_fields, "infiniband.smpdirected.drdlid");
constexpr wire::FieldInfo port_select_field =
    wire::field_named(wire::mad::port_counters, "infiniband.portcounters.portselect");

void write_field(std::byte* octets, const wire::FieldInfo& field, std::uint64_t value) {
    wire::write_bits(octets, field.bit_offset, field.bit_width, value);
}

std::uint8_t class_of(umad::Agent agent) {
    return agent == umad::Agent::directed_route ? wire::directed_subnet_management : wire::performance_management;
}

umad::MadBytes mad_of(const Query& query, std::uint32_t id) {
    umad::MadBytes mad{};
    wire::Mad header;
    header.management_class = class_of(query.agent);
    header.class_version = 1;
    header.method = get_method;
    header.transaction_id = id;
    header.attribute_id = query.attribute;
    header.attribute_modifier = query.modifier;
    // The hop pointer is 0, the hop count stands in the low byte.
    if (query.agent == umad::Agent::directed_route)
        header.class_specific = static_cast<std::uint16_t>(query.route.size());
    wire::emit<wire::Mad>(std::span(mad).first<wire::size_of<wire::Mad>>(), header);
    if (query.agent == umad::Agent::directed_route) {
        write_field(mad.data(), source_field, permissive_lid);
        write_field(mad.data(), destination_field, permissive_lid);
        for (std::size_t hop = 0; hop < query.route.size(); ++hop)
            mad[initial_path_octet + 1 + hop] = std::byte{query.route[hop]};
    } else {
        write_field(mad.data() + wire::mad::class_data_octet, port_select_field, query.port_select);
    }
    return mad;
}

std::string attribute_name(const Query& query) {
    const std::string_view name = wire::mad_attribute_name(class_of(query.agent), query.attribute);
    return name.empty() ? fmt::format("attribute {:#06x}", query.attribute) : std::string(name);
}

}  // namespace

std::string text_of(const Route& route) {
    std::string text = "0";
    for (const std::uint8_t port : route) text += fmt::format(",{}", port);
    return text;
}

std::string text_of(const Query& query) {
    if (query.agent == umad::Agent::directed_route)
        return fmt::format("{} at the route {}", attribute_name(query), text_of(query.route));
    return fmt::format("{} of port {} at LID {}", attribute_name(query), query.port_select, query.lid);
}

void QueryPool::ask(Query query, OnAnswer on_answer) { waiting_.push_back({std::move(query), std::move(on_answer)}); }

base::Result<void> QueryPool::run() {
    while (!waiting_.empty() || !sent_.empty()) {
        while (sent_.size() < parallel_ && !waiting_.empty())
            if (auto sent = send_next(); !sent) return sent;
        if (auto received = receive_next(); !received) return received;
        if (report_) report_(asked_, asked_ + waiting_.size());
    }
    return {};
}

base::Result<void> QueryPool::send_next() {
    Pending pending = std::move(waiting_.front());
    waiting_.pop_front();
    const std::uint32_t id = next_id_++;
    const umad::Destination to{pending.query.agent, pending.query.lid};
    if (auto sent = transport_.send(to, mad_of(pending.query, id)); !sent) return sent;
    ++asked_;
    const umad::Patience& patience = transport_.patience();
    constexpr unsigned spare_attempts = 2;
    const auto longest = patience.timeout * (patience.retries + spare_attempts);
    pending.deadline_ns =
        base::later(base::steady_ns(), static_cast<std::uint64_t>(std::chrono::nanoseconds(longest).count()));
    sent_.emplace(id, std::move(pending));
    return {};
}

base::Result<void> QueryPool::receive_next() {
    const auto received = transport_.receive(transport_.patience().timeout);
    if (!received) return base::Failure{received.error()};
    if (const std::optional<umad::Received>& mad = *received)
        finish(*mad);
    else
        expire(base::steady_ns());
    return {};
}

void QueryPool::finish(const umad::Received& received) {
    const auto header = wire::parse<wire::Mad>(std::span(received.mad).first(received.length));
    if (!header) return;
    // The kernel puts the agent's number into the high half of the identifier.
    const auto found = sent_.find(static_cast<std::uint32_t>(header->transaction_id));
    if (found == sent_.end()) return;
    const Pending pending = std::move(found->second);
    sent_.erase(found);
    Answer answer;
    const bool directed = pending.query.agent == umad::Agent::directed_route;
    const auto status = static_cast<std::uint16_t>(directed ? header->status & ~direction_bit : header->status);
    if (received.timed_out || (header->method & response_bit) == 0) {
        answer.reason = "no answer";
    } else if (status != 0) {
        answer.outcome = Outcome::refused;
        const std::string_view text = wire::mad_status_text(header->management_class, header->status);
        answer.reason = text.empty() ? fmt::format("status {:#06x}", status) : std::string(text);
    } else if (received.length < umad::mad_bytes) {
        answer.reason = fmt::format("an answer of {} bytes instead of {}", received.length, umad::mad_bytes);
    } else {
        answer.outcome = Outcome::answered;
        answer.attribute = directed ? std::span<const std::byte>(received.mad)
                                          .subspan(wire::mad::class_data_octet, wire::mad::subnet_data_octets)
                                    : std::span<const std::byte>(received.mad).subspan(wire::mad::class_data_octet);
    }
    pending.on_answer(answer);
}

void QueryPool::expire(std::int64_t now_ns) {
    std::vector<OnAnswer> expired;
    for (auto place = sent_.begin(); place != sent_.end();) {
        if (place->second.deadline_ns > now_ns) {
            ++place;
            continue;
        }
        expired.push_back(std::move(place->second.on_answer));
        place = sent_.erase(place);
    }
    for (const OnAnswer& on_answer : expired) on_answer({Outcome::silent, "no answer", {}});
}

}  // namespace fabric::discovery
