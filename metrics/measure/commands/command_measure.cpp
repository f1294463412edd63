#include "metrics/measure/commands/command_measure.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "upper/command_text.h"
#include "upper/message_flow.h"
#include "upper/upper_connection.h"

namespace metrics::inline measure::inline commands {

namespace {

Address address_of(const upper::Endpoint& end) {
    Address address;
    address.family = end.family;
    std::memcpy(address.octets.data(), end.address.data(), address.octets.size());
    return address;
}

/// A name from the wire that a terminal and JSON can show: control characters, and bytes that are not UTF-8, become
/// '?'.
std::string shown_name(std::string_view name) {
    constexpr std::size_t most_bytes = 255;
    std::string out;
    while (!name.empty() && out.size() < most_bytes) {
        const std::size_t length = base::utf8_length(name);
        const auto first = static_cast<unsigned char>(name.front());
        if (length == 0 || first < 0x20 || first == 0x7f)
            out += '?';
        else
            out += name.substr(0, length);
        name.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

/// What is known of a connection apart from its commands.
void describe_connection(const upper::Connection& connection, CommandConnectionFigures& out) {
    const upper::Flow* flow = connection.initiator_flow();
    if (flow == nullptr) flow = connection.flow(0);
    const upper::ConnectionFacts& facts = connection.facts();
    const upper::ConnectionCounts& counts = connection.counts();
    out.number = connection.number();
    if (connection.protocol() != nullptr) out.protocol = connection.protocol()->name;
    out.evidence = upper::name_of(connection.evidence());
    out.confidence = upper::confidence_of(connection.evidence());
    if (flow != nullptr) {
        out.transport = flow->transport();
        out.initiator = address_of(flow->source());
        out.target = address_of(flow->destination());
        out.initiator_number = flow->source().number;
        out.target_number = flow->destination().number;
    }
    out.queue = facts.queue;
    out.limit = facts.limit;
    out.target_name = shown_name(facts.target_name);
    out.initiator_name = shown_name(facts.initiator_name);
    out.operations = counts.operations;
    out.unbound_operations = counts.unbound_operations;
    out.late_operations = counts.late_operations;
    out.probes = counts.probes;
    out.events = counts.events;
    out.overtaken = counts.overtaken;
    out.at_limit_ns = counts.at_limit_ns;
    out.open_max = counts.open_max;
    out.first_ns = counts.first_ns.value_or(0);
    out.last_ns = counts.last_ns;
    out.states_ns.clear();
    for (std::size_t i = 0; i < counts.state_ns.size(); ++i)
        out.states_ns.emplace_back(upper::name_of(static_cast<upper::IoState>(i)), counts.state_ns[i]);
}

CommandRecord record_of(const upper::Connection& connection, const upper::FinishedCommand& finished) {
    const upper::Command& command = finished.command;
    const upper::Protocol& protocol = *connection.protocol();
    CommandRecord record;
    record.number = command.number;
    record.id = upper::id_text(protocol, command.id);
    record.kind = command.kind;
    record.target = upper::target_text(protocol, command);
    record.end = upper::name_of(finished.end);
    if (command.answered) {
        record.status = upper::status_text(finished.meaning, command.status);
        record.error = upper::name_of(finished.meaning.error);
    }
    record.bytes = command.bytes;
    record.advertised_bytes = command.advertised_bytes;
    record.inline_bytes = command.inline_bytes;
    record.moved_in_bytes = command.moved_in_bytes;
    record.moved_out_bytes = command.moved_out_bytes;
    record.first_block = command.first_block;
    record.block_count = command.block_count;
    record.operations = command.operations;
    record.open_with_it = command.open_with_it;
    record.housekeeping = command.housekeeping;
    record.waits_for_event = command.waits_for_event;
    record.request_first_frame = command.request_first_frame;
    record.request_last_frame = command.request_last_frame;
    record.data_first_frame = command.data_first_frame;
    record.data_last_frame = command.data_last_frame;
    record.response_frame = command.response_frame;
    record.begin_ns = command.is_orphan ? command.response_begin_ns : command.request_begin_ns;
    if (finished.end != upper::CommandEnd::answered) return record;
    record.latency_ns = finished.parts.latency_ns();
    record.parts_ns = finished.parts.ns;
    record.request_ack_ns = finished.request_ack_ns;
    record.repair_own_ns = finished.repair_own_ns;
    record.repair_behind_ns = finished.repair_behind_ns;
    return record;
}

void keep_slowest(std::vector<CommandRecord>& slowest, const CommandRecord& record) {
    const auto slower = [](const CommandRecord& one, const CommandRecord& two) {
        return one.latency_ns.value_or(0) > two.latency_ns.value_or(0);
    };
    if (slowest.size() == CommandKindFigures::most_exhibits && !slower(record, slowest.back())) return;
    slowest.insert(std::upper_bound(slowest.begin(), slowest.end(), record, slower), record);
    if (slowest.size() > CommandKindFigures::most_exhibits) slowest.pop_back();
}

}  // namespace

CommandConnectionFigures& CommandMeasure::figures_of(const upper::Connection& connection) {
    return connections_[connection.number()];
}

CommandKindFigures& CommandMeasure::kind_of(CommandConnectionFigures& figures, const std::string& kind) {
    const auto find = [&figures](std::string_view name) {
        return std::find_if(figures.kinds.begin(), figures.kinds.end(),
                            [name](const CommandKindFigures& one) { return one.kind == name; });
    };
    auto found = find(kind);
    if (found != figures.kinds.end()) return *found;
    const bool full = figures.kinds.size() >= CommandConnectionFigures::most_kinds - 1;
    const std::string name = full ? "other" : kind;
    found = find(name);
    if (found != figures.kinds.end()) return *found;
    figures.kinds.emplace_back().kind = name;
    return figures.kinds.back();
}

void CommandMeasure::add(CommandKindFigures& figures, const CommandRecord& record) {
    if (record.end == "orphan") ++figures.orphans;
    if (record.end == "replaced") ++figures.replaced;
    if (record.end == "unanswered" && !record.waits_for_event) ++figures.unanswered;
    if (record.end == "given_up") ++figures.given_up;
    if (!record.latency_ns) return;
    ++figures.commands;
    if (!record.error.empty()) {
        ++figures.errors;
        ++figures.error_classes[record.error];
        ++figures.statuses[record.status];
    }
    figures.bytes += record.bytes.value_or(0);
    figures.inline_bytes += record.inline_bytes;
    figures.moved_in_bytes += record.moved_in_bytes;
    figures.moved_out_bytes += record.moved_out_bytes;
    figures.operations += record.operations;
    figures.size_bytes.record(record.bytes.value_or(0));
    // An event answers when something happens: that is no latency.
    if (record.waits_for_event) return;
    figures.request_ack_ns += record.request_ack_ns.value_or(0);
    figures.repair_own_ns += record.repair_own_ns;
    figures.repair_behind_ns += record.repair_behind_ns;
    figures.latency_ns.record(*record.latency_ns);
    for (std::size_t i = 0; i < command_part_count; ++i) figures.parts_ns[i].record(record.parts_ns[i]);
    keep_slowest(figures.slowest, record);
}

void CommandMeasure::recognized(const upper::Connection& connection) {
    describe_connection(connection, figures_of(connection));
}

void CommandMeasure::command(const upper::Connection& connection, const upper::FinishedCommand& finished) {
    CommandConnectionFigures& figures = figures_of(connection);
    const CommandRecord record = record_of(connection, finished);
    add(kind_of(figures, record.kind), record);
    if (!sink_) return;
    describe_connection(connection, figures);
    sink_(figures, record);
}

void CommandMeasure::ended(const upper::Connection& connection) {
    CommandConnectionFigures& figures = figures_of(connection);
    describe_connection(connection, figures);
    std::sort(figures.kinds.begin(), figures.kinds.end(),
              [](const CommandKindFigures& one, const CommandKindFigures& two) { return one.kind < two.kind; });
}

std::vector<CommandConnectionFigures> CommandMeasure::figures() const {
    std::vector<CommandConnectionFigures> all;
    for (const auto& entry : connections_) all.push_back(entry.second);
    return all;
}

}  // namespace metrics::measure::commands
