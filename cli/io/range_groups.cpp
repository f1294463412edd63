#include "cli/io/range_groups.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "cli/io/words.h"

namespace cli::io {

namespace {

using metrics::CommandConnectionFigures;
using metrics::CommandKindFigures;
using metrics::CommandRecord;

constexpr unsigned range_bits = 30;
/// Commands of further ranges are added up in one group.
constexpr std::size_t most_ranges = 4096;

/// The first byte that the command addresses; no value if it is unknown. With a count of blocks the address counts
/// blocks, else bytes.
std::optional<std::uint64_t> address_of(const CommandRecord& record) {
    if (!record.first_block) return std::nullopt;
    if (!record.block_count) return record.first_block;
    if (*record.block_count == 0 || record.bytes.value_or(0) == 0) return std::nullopt;
    std::uint64_t address = 0;
    const std::uint64_t block_bytes = *record.bytes / *record.block_count;
    if (__builtin_mul_overflow(*record.first_block, block_bytes, &address)) return std::nullopt;
    return address;
}

CommandKindFigures& kind_of(CommandConnectionFigures& sum, const std::string& name) {
    const auto place = std::ranges::lower_bound(sum.kinds, name, {}, &CommandKindFigures::kind);
    if (place != sum.kinds.end() && place->kind == name) return *place;
    CommandKindFigures& kind = *sum.kinds.emplace(place);
    kind.kind = name;
    return kind;
}

void count_error(CommandKindFigures& kind, const CommandRecord& record) {
    ++kind.errors;
    const auto name = std::ranges::find(metrics::command_error_names, record.error);
    if (name != metrics::command_error_names.end())
        ++kind.error_classes[static_cast<std::size_t>(name - metrics::command_error_names.begin())];
    metrics::count_status(kind, record.status);
}

void add_answered(CommandKindFigures& kind, const CommandRecord& record) {
    ++kind.commands;
    if (!record.error.empty()) count_error(kind, record);
    kind.bytes += record.bytes.value_or(0);
    kind.inline_bytes += record.inline_bytes;
    kind.moved_in_bytes += record.moved_in_bytes;
    kind.moved_out_bytes += record.moved_out_bytes;
    kind.operations += record.operations;
    kind.request_ack_ns += record.request_ack_ns.value_or(0);
    kind.repair_own_ns += record.repair_own_ns;
    kind.repair_behind_ns += record.repair_behind_ns;
    kind.latency_ns.record(record.latency_ns.value_or(0));
    kind.size_bytes.record(record.bytes.value_or(0));
    for (std::size_t i = 0; i < metrics::command_part_count; ++i) kind.parts_ns[i].record(record.parts_ns[i]);
    metrics::keep_slowest(kind, record);
}

/// Operations of the commands, and those of the connections that belong to no command.
void count_operations(CommandConnectionFigures& sum, const std::set<std::uint64_t>& numbers,
                      const std::vector<CommandConnectionFigures>& connections) {
    for (const std::uint64_t number : numbers) {
        const auto found = std::ranges::lower_bound(connections, number, {}, &CommandConnectionFigures::number);
        if (found != connections.end() && found->number == number) sum.unbound_operations += found->unbound_operations;
    }
    sum.operations = sum.unbound_operations;
    for (const CommandKindFigures& kind : sum.kinds) sum.operations += kind.operations;
}

}  // namespace

RangeGroups::Range& RangeGroups::range_of(const CommandConnectionFigures& connection, const std::string& target,
                                          std::uint64_t number) {
    const bool is_full = ranges_.size() >= most_ranges;
    const auto known = ranges_.find({target, number});
    if (known != ranges_.end()) return known->second;
    Range& range = is_full ? ranges_[{}] : ranges_[{target, number}];
    if (range.group.name.empty()) {
        range.group.name = is_full ? "other ranges" : fmt::format("{}  {} to {} GiB", target, number, number + 1);
        range.group.sum.protocol = is_full ? "" : connection.protocol;
    }
    return range;
}

void RangeGroups::add(const CommandConnectionFigures& connection, const CommandRecord& record) {
    const std::optional<std::uint64_t> address = address_of(record);
    if (!address) return;
    const std::string& name = connection.target_name;
    const std::string host = name.empty() ? end_text(connection.target, 0, connection.transport, names_) : name;
    Range& range = range_of(connection, host + "  " + record.target, *address >> range_bits);
    range.connections.insert(connection.number);
    ++range.commands;
    CommandKindFigures& kind = kind_of(range.group.sum, record.kind);
    if (record.end == "answered") return add_answered(kind, record);
    if (record.end == "unanswered") ++kind.unanswered;
    if (record.end == "replaced") ++kind.replaced;
    if (record.end == "given_up") ++kind.given_up;
}

std::vector<Group> RangeGroups::take(const std::vector<CommandConnectionFigures>& connections) {
    std::vector<Range> ranges;
    ranges.reserve(ranges_.size());
    for (auto& entry : ranges_) ranges.push_back(std::move(entry.second));
    ranges_.clear();
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const Range& one, const Range& other) { return one.commands > other.commands; });
    std::vector<Group> groups;
    groups.reserve(ranges.size());
    for (Range& range : ranges) {
        range.group.connections = range.connections.size();
        count_operations(range.group.sum, range.connections, connections);
        groups.push_back(std::move(range.group));
    }
    return groups;
}

}  // namespace cli::io
