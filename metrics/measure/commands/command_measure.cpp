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
    if (connection.protocol() != nullptr) {
        out.protocol = connection.protocol()->name;
        out.heading = connection.protocol()->heading;
    }
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
    // Where slots are fewer than credits, the credits that were asked for change nothing.
    if (facts.limit != facts.slots) out.limit_asked = facts.limit_asked;
    out.congested_ports = facts.congested_ports;
    out.target_name = shown_name(facts.target_name);
    out.initiator_name = shown_name(facts.initiator_name);
    out.operations = counts.operations;
    out.unbound_operations = counts.unbound_operations;
    out.late_operations = counts.late_operations;
    out.probes = counts.probes;
    out.events = counts.events;
    out.overtaken = counts.overtaken;
    out.at_limit_ns = connection.time().at_limit_ns();
    out.open_max = counts.open_max;
    out.first_ns = connection.time().first_ns().value_or(0);
    out.last_ns = connection.time().last_ns();
    out.open_now = counts.open_now;
    static_assert(command_state_count == upper::io_state_count);
    out.states_ns = connection.time().state_ns();
}

CommandRecord record_of(const upper::Connection& connection, const upper::FinishedCommand& finished) {
    const upper::Command& command = finished.command;
    const upper::Progress& progress = finished.progress;
    const upper::Protocol& protocol = *connection.protocol();
    CommandRecord record;
    record.number = command.number;
    record.id = upper::id_text(protocol, command.id);
    record.kind = command.kind();
    record.target = upper::target_text(protocol, command);
    record.end = upper::name_of(finished.end);
    if (command.answered) {
        record.status = upper::status_text(finished.meaning, progress.status);
        record.error = upper::name_of(finished.meaning.error);
    }
    record.bytes = command.bytes();
    record.advertised_bytes = command.advertised_bytes;
    record.inline_bytes = command.inline_bytes;
    record.moved_in_bytes = progress.moved_in_bytes;
    record.moved_out_bytes = progress.moved_out_bytes;
    record.first_block = command.first_block();
    record.block_count = command.block_count();
    record.operations = progress.operations;
    record.open_with_it = command.open_with_it;
    record.housekeeping = command.housekeeping;
    record.waits_for_event = command.waits_for_event;
    record.request_first_frame = command.request_first_frame;
    record.request_last_frame = command.request_last_frame;
    record.data_first_frame = progress.data_first_frame;
    record.data_last_frame = progress.data_last_frame;
    record.response_frame = progress.response_frame;
    record.begin_ns = command.is_orphan ? progress.response_begin_ns : command.request_begin_ns;
    record.request_ack_ns = finished.request_ack_ns;
    if (finished.end != upper::CommandEnd::answered) return record;
    record.latency_ns = finished.parts.latency_ns();
    record.parts_ns = finished.parts.ns;
    record.repair_own_ns = finished.repair_own_ns;
    record.repair_behind_ns = finished.repair_behind_ns;
    return record;
}

/// Keeps the command among the greatest by `weight`, the greatest first; its record is made only if it is kept.
template <class Weight>
void keep_greatest(std::vector<CommandRecord>& kept, std::uint64_t weight, Weight weight_of,
                   const upper::Connection& connection, const upper::FinishedCommand& finished) {
    const bool full = kept.size() == CommandKindFigures::most_exhibits;
    if (full && weight <= weight_of(kept.back())) return;
    const auto place =
        std::find_if(kept.begin(), kept.end(), [&](const CommandRecord& record) { return weight_of(record) < weight; });
    kept.insert(place, record_of(connection, finished));
    if (full) kept.pop_back();
}

void keep_first(std::vector<CommandRecord>& kept, const upper::Connection& connection,
                const upper::FinishedCommand& finished) {
    if (kept.size() < CommandKindFigures::most_exhibits) kept.push_back(record_of(connection, finished));
}

/// The number of commands, by the times of their requests, that had waited for more than long_wait_ns at `end_ns`.
std::uint64_t long_waits(const std::vector<std::int64_t>& begins_ns, std::int64_t end_ns) {
    const auto is_long = [end_ns](std::int64_t begin_ns) {
        return begin_ns<end_ns&& static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(begin_ns)>
            long_wait_ns;
    };
    return static_cast<std::uint64_t>(std::ranges::count_if(begins_ns, is_long));
}

}  // namespace

CommandConnectionFigures& CommandMeasure::figures_of(const upper::Connection& connection) {
    return connections_[connection.number()];
}

/// Kinds are few, and ascend by name.
CommandKindFigures& CommandMeasure::kind_of(CommandConnectionFigures& figures, std::string_view kind) {
    auto place = std::ranges::lower_bound(figures.kinds, kind, {}, &CommandKindFigures::kind);
    if (place != figures.kinds.end() && place->kind == kind) return *place;
    constexpr std::string_view rest = "other";
    const bool full = figures.kinds.size() >= CommandConnectionFigures::most_kinds - 1;
    if (full && kind != rest) return kind_of(figures, rest);
    place = figures.kinds.emplace(place);
    place->kind = kind;
    return *place;
}

void CommandMeasure::add_answered(CommandKindFigures& figures, const upper::Connection& connection,
                                  const upper::FinishedCommand& finished) {
    const upper::Command& command = finished.command;
    const upper::Progress& progress = finished.progress;
    ++figures.commands;
    if (finished.meaning.error != upper::ErrorClass::none) {
        ++figures.errors;
        static_assert(command_error_count + 1 == upper::error_class_count);
        ++figures.error_classes[static_cast<std::size_t>(finished.meaning.error) - 1];
        count_status(figures, upper::status_text(finished.meaning, progress.status));
        keep_first(figures.failed, connection, finished);
    }
    figures.bytes += command.bytes().value_or(0);
    figures.inline_bytes += command.inline_bytes;
    figures.moved_in_bytes += progress.moved_in_bytes;
    figures.moved_out_bytes += progress.moved_out_bytes;
    figures.operations += progress.operations;
    figures.size_bytes.record(command.bytes().value_or(0));
    // An event answers when something happens: that is no latency.
    if (command.waits_for_event) return;
    const upper::CommandParts& parts = finished.parts;
    const std::uint64_t latency_ns = parts.latency_ns();
    const std::uint64_t ack_ns = finished.request_ack_ns.value_or(0);
    figures.request_ack_ns += ack_ns;
    figures.repair_own_ns += finished.repair_own_ns;
    figures.repair_behind_ns += finished.repair_behind_ns;
    figures.latency_ns.record(latency_ns);
    for (std::size_t i = 0; i < command_part_count; ++i) figures.parts_ns[i].record(parts.ns[i]);
    const std::uint64_t think_ns =
        parts.ns[upper::CommandParts::target_before] - ack_ns + parts.ns[upper::CommandParts::target_after];
    figures.think_ns[command_depth_of(command.open_with_it)].record(think_ns);
    keep_greatest(
        figures.slowest, latency_ns, [](const CommandRecord& record) { return record.latency_ns.value_or(0); },
        connection, finished);
    const std::uint64_t repair_ns = finished.repair_own_ns + finished.repair_behind_ns;
    if (repair_ns == 0) return;
    keep_greatest(
        figures.hurt, repair_ns,
        [](const CommandRecord& record) { return record.repair_own_ns + record.repair_behind_ns; }, connection,
        finished);
}

void CommandMeasure::add(CommandKindFigures& figures, const upper::Connection& connection,
                         const upper::FinishedCommand& finished) {
    figures.housekeeping = figures.housekeeping || finished.command.housekeeping || finished.command.waits_for_event;
    switch (finished.end) {
        case upper::CommandEnd::answered: return add_answered(figures, connection, finished);
        case upper::CommandEnd::orphan: ++figures.orphans; return;
        case upper::CommandEnd::replaced: ++figures.replaced; return;
        case upper::CommandEnd::given_up: ++figures.given_up; return;
        case upper::CommandEnd::unanswered: break;
    }
    if (finished.command.waits_for_event) return;
    ++figures.unanswered;
    keep_first(figures.waiting, connection, finished);
}

void CommandMeasure::recognized(const upper::Connection& connection) {
    describe_connection(connection, figures_of(connection));
}

void CommandMeasure::command(const upper::Connection& connection, const upper::FinishedCommand& finished) {
    CommandConnectionFigures& figures = figures_of(connection);
    CommandKindFigures& kind = kind_of(figures, finished.command.kind());
    add(kind, connection, finished);
    if (finished.end == upper::CommandEnd::unanswered && !finished.command.waits_for_event)
        waits_[connection.number()].unanswered_ns[kind.kind].push_back(finished.command.request_begin_ns);
    if (!sink_) return;
    describe_connection(connection, figures);
    sink_(figures, record_of(connection, finished));
}

void CommandMeasure::asked_next(const upper::Connection& connection, std::uint64_t host_ns) {
    figures_of(connection).host_next_ns.record(host_ns);
}

void CommandMeasure::ended(const upper::Connection& connection) {
    describe_connection(connection, figures_of(connection));
}

void CommandMeasure::refresh(upper::Connection& connection) {
    CommandConnectionFigures& figures = figures_of(connection);
    describe_connection(connection, figures);
    std::vector<std::int64_t> open_ns;
    connection.visit_open([&open_ns](std::int64_t begin_ns) { open_ns.push_back(begin_ns); });
    figures.oldest_open_ns = open_ns.empty() ? std::nullopt : std::optional(open_ns.front());
    if (!open_ns.empty() || waits_.contains(connection.number()))
        waits_[connection.number()].open_ns = std::move(open_ns);
}

void CommandMeasure::count_long_waits(std::uint64_t number, std::int64_t end_ns,
                                      CommandConnectionFigures& figures) const {
    const auto found = waits_.find(number);
    if (found == waits_.end()) return;
    const Waits& waits = found->second;
    figures.open_long = static_cast<std::uint32_t>(long_waits(waits.open_ns, end_ns));
    for (CommandKindFigures& kind : figures.kinds) {
        const auto of_kind = waits.unanswered_ns.find(kind.kind);
        if (of_kind != waits.unanswered_ns.end()) kind.unanswered_long = long_waits(of_kind->second, end_ns);
    }
}

const CommandConnectionFigures* CommandMeasure::find(std::uint64_t number) const {
    const auto found = connections_.find(number);
    return found == connections_.end() ? nullptr : &found->second;
}

void CommandMeasure::forget_exhibits() {
    for (auto& entry : connections_)
        for (CommandKindFigures& kind : entry.second.kinds)
            for (std::vector<CommandRecord>* const kept : {&kind.slowest, &kind.failed, &kind.waiting, &kind.hurt})
                kept->clear();
}

std::vector<CommandConnectionFigures> CommandMeasure::figures() const {
    std::vector<CommandConnectionFigures> all;
    for (const auto& entry : connections_) all.push_back(entry.second);
    return all;
}

}  // namespace metrics::measure::commands
